"""How often something changes now."""

from math import exp, isclose
from operator import mul
from random import Random

from hypothesis import given
from hypothesis import strategies as some

from cadenza.domain.planning.learning.recent_rate import RUNGS, STAYS_BEATS, SUREST, Climb, Usual, looked

LOOKS = some.lists(some.tuples(some.floats(0.05, 10.0), some.booleans()), max_size=30)


def after(looks: list[tuple[float, bool]]) -> tuple[Climb, Usual]:
    climb, usual = Climb(), Usual()
    for beats, changed in looks:
        climb, usual = looked(climb.waited(beats), usual, beats=beats, spent=beats, changed=changed)
    return climb, usual


def rate(climb: Climb, usual: Usual) -> float:
    return climb.mean(usual.shares, usual.weights)


def played(rates: list[list[float]], seed: int = 1) -> tuple[list[Climb], Usual]:
    """A look a beat at endpoints whose rates go through lists."""
    chance, climbs, usual = Random(seed), [Climb()] * len(rates), Usual()
    for turn in range(len(rates[0])):
        for number, course in enumerate(rates):
            changed = chance.random() > exp(-course[turn])
            waited = climbs[number].waited(1.0)
            climbs[number], usual = looked(waited, usual, beats=1.0, spent=1.0, changed=changed)
    return climbs, usual


@given(LOOKS)
def test_supports_stay_finite_and_shares_are_shares(looks: list[tuple[float, bool]]) -> None:
    climb, usual = after(looks)
    assert isclose(sum(usual.shares), 1.0)
    assert isclose(sum(usual.weights), 1.0)
    assert all(0 <= one < 1e12 for support in climb.supports for one in support)


@given(LOOKS, some.floats(0.1, 5.0))
def test_a_change_raises_the_rate_and_quiet_lowers_it(looks: list[tuple[float, bool]], beats: float) -> None:
    climb, usual = after(looks)
    found = rate(climb, usual)
    for changed in (True, False):
        moved, _ = looked(climb, usual, beats=beats, spent=beats, changed=changed)
        assert (rate(moved, usual) >= found * (1 - 1e-9)) == changed or isclose(rate(moved, usual), found)


@given(LOOKS)
def test_without_looks_an_endpoint_becomes_any_other(looks: list[tuple[float, bool]]) -> None:
    climb, usual = after(looks)
    assert isclose(rate(climb.waited(1e6), usual), rate(Climb(), usual), rel_tol=1e-6)


def test_a_staying_falls_behind_no_further_than_it_can_come_back_from() -> None:
    slow, fast = ((1.0, *[0.0] * (RUNGS - 1)), (*[0.0] * (RUNGS - 1), 1.0))
    usual, climb = Usual(), Climb((slow, fast, fast))
    for _ in range(100):
        _, usual = looked(climb, usual, beats=1.0, spent=1.0, changed=True)
    assert usual.evidence == (-SUREST, 0.0, 0.0)
    _, closer = looked(Climb((fast, slow, slow)), usual, beats=1.0, spent=1.0, changed=True)
    assert closer.evidence[0] > -SUREST


def test_rates_are_found_and_told_apart() -> None:
    climbs, usual = played([[0.2] * 600, [0.02] * 600])
    busy, calm = (rate(climb, usual) for climb in climbs)
    assert 0.13 < busy < 0.3
    assert 0.008 < calm < 0.04


def test_how_long_a_rate_lasts_is_learned() -> None:
    steady = played([[0.01] * 800, [0.5] * 800, [0.05] * 800])[1]
    fickle = played([([0.5] * 40 + [0.002] * 40) * 10, ([0.002] * 40 + [0.5] * 40) * 10])[1]
    expected = [sum(map(mul, usual.weights, STAYS_BEATS)) for usual in (steady, fickle)]
    assert expected[0] > 1_500
    assert expected[1] < 100
