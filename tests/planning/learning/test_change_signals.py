"""Figures that announce changes, signs that were right, hours that differ, and lateness that is rare."""

from datetime import datetime
from itertools import count
from math import exp
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as some

from cadenza.domain.planning.learning import change_signals as signs
from cadenza.domain.planning.learning import stress as figures
from cadenza.domain.planning.learning.change_signals import NO_RECORD, Knot
from cadenza.domain.planning.learning.long_term_rate import Belief
from cadenza.domain.planning.learning.next_look import LATE_BEATS, RARE, STEP, Patience
from cadenza.domain.planning.learning.proposal import Forecast
from cadenza.domain.planning.learning.stress import Level, Levels
from cadenza.domain.planning.learning.weekly_pattern import DAY_H, HOUR_S, Profile, hour_of_week

CALM = 50.0


def latency(chance: Random, middle: float = CALM) -> dict[str, float]:
    return {"latency": figures.damped(middle * exp(chance.gauss(0, 0.2)))}


def calm_levels(looks: int = 200) -> Levels:
    chance, levels = Random(1), dict[str, figures.Level]()
    for _ in range(looks):
        levels = dict(figures.settled(levels, latency(chance), beats=1.0, stress=0.1))
    return levels


def test_a_few_high_figures_make_an_endpoint_stressed_and_calm_ones_end_it() -> None:
    chance, levels, stress = Random(2), calm_levels(), figures.USUAL
    for _ in range(3):
        stress = figures.heard(figures.calmed(stress, 1.0), levels, latency(chance, 120.0))
    assert stress > 0.9
    for _ in range(6):
        stress = figures.heard(figures.calmed(stress, 1.0), levels, latency(chance))
    assert stress < 0.2


@given(some.floats(-1e300, 1e300), some.floats(0.01, 0.99))
def test_no_single_figure_decides(value: float, stress: float) -> None:
    after = figures.heard(stress, calm_levels(20), {"latency": figures.damped(value)})
    assert figures.SURE <= after <= 1 - figures.SURE
    assert after / (1 - after) <= 1.01 / figures.STRAY * stress / (1 - stress)


def test_what_stress_does_does_not_become_usual() -> None:
    chance, levels = Random(3), calm_levels()
    before = levels["latency"].middle
    for _ in range(30):
        levels = dict(figures.settled(levels, latency(chance, 120.0), beats=0.3, stress=0.99))
    assert levels["latency"].middle - before < levels["latency"].scale


@given(some.floats(0.0001, 0.9999), some.floats(0.0, 500.0))
def test_stress_fades_towards_the_usual(stress: float, beats: float) -> None:
    low, high = sorted([stress, figures.USUAL])
    assert low <= figures.calmed(stress, beats) <= high


def test_figures_are_bounded() -> None:
    numbers = count()
    levels: Levels = {}
    for _ in range(10):
        fresh = {f"figure {next(numbers)}": 1.0 for _ in range(15)}
        levels = figures.settled(levels, fresh, beats=1.0, stress=0.1)
    assert len(levels) <= figures.MOST_FIGURES


@given(some.floats(0.0, 1.0), some.floats(1e-4, 1.0))
def test_an_unproven_sign_means_nothing(strength: float, rate: float) -> None:
    assert signs.meant(NO_RECORD, strength, long_run=rate) == 0.0


def test_a_sign_that_was_right_means_the_rate_that_it_was_right_about() -> None:
    record = NO_RECORD
    for _ in range(100):
        record = signs.recorded(record, 1.0, seen=Knot(came=0.3, due=0.03, beats=1.0))
        record = signs.recorded(record, 0.0, seen=Knot(came=0.01, due=0.03, beats=1.0))
    assert 0.15 < signs.meant(record, 1.0, long_run=0.03) < 0.3
    assert signs.meant(record, 0.0, long_run=0.03) == 0.0


def test_a_sign_that_cries_wolf_is_not_believed() -> None:
    record = NO_RECORD
    for _ in range(100):
        record = signs.recorded(record, 1.0, seen=Knot(came=0.03, due=0.03, beats=1.0))
    assert signs.meant(record, 1.0, long_run=0.03) == 0.0


@given(some.floats(-1e9, 1e9), some.integers(1, 100))
def test_no_value_moves_a_level_far(value: float, seen: int) -> None:
    level = Level(10.0, 2.0, seen)
    moved = level.moved(value, 1.0)
    assert abs(moved.middle - level.middle) <= figures.CLIPPED * level.scale / 2
    assert moved.scale < 3.1 * level.scale


@pytest.mark.parametrize(
    ("moment", "hour"),
    [
        ("2024-01-01T00:00:00Z", 0),
        ("2024-01-01T00:59:59Z", 0),
        ("2024-01-03T12:30:00Z", 60),
        ("2024-01-07T23:59:59Z", 167),
        ("1970-01-01T00:00:00Z", 72),
    ],
)
def test_the_week_begins_on_monday(moment: str, hour: int) -> None:
    assert hour_of_week(datetime.fromisoformat(moment).timestamp()) == hour


def test_an_hour_is_believed_slowly_and_its_share_follows_the_square_root() -> None:
    profile = Profile()
    noon = 12 * HOUR_S
    once = profile.counted(noon, came=1.0, due=0.1)
    assert once.times(noon) < 1.25
    for day in range(60):
        for hour in range(DAY_H):
            came = 4.0 if hour == 12 else 1.0
            profile = profile.counted((day * DAY_H + hour) * HOUR_S, came=came, due=1.0)
    assert 2.5 < profile.times(noon) < 4.0
    shares = [profile.share(hour * HOUR_S) for hour in range(DAY_H)]
    assert 0.95 < sum(shares) / DAY_H < 1.05
    assert 1.4 < shares[12] < 2.0


def test_hours_that_were_looked_at_while_more_was_expected_leave_no_more_to_spend_in_the_others() -> None:
    """Nothing ever changes, so that ever less is due: most of it in the first hour of all."""
    profile, shares = Profile(), []
    for look in range(1, 3 * DAY_H * 100):
        at_s = look * HOUR_S / 100
        profile = profile.counted(at_s, came=0.0, due=1 / look)
        shares.append(profile.share(at_s))
    assert profile.day[0].due > 10 * profile.day[12].due
    assert abs(sum(shares) / len(shares) - 1) < 0.01


def test_impatience_grows_until_late_discoveries_are_rare() -> None:
    chance, patience = Random(4), Patience()
    late = []
    for turn in range(4_000):
        gap = chance.expovariate(1.0) * 1.5 / (1 + patience.impatience)
        patience = patience.seen(gap)
        late += [max(1 - 1 / gap, 0.0)] if turn > 1_000 else []
    assert abs(sum(late) / len(late) - RARE) < 0.01


@pytest.mark.parametrize("beats", [1.5, 2.0, 6.0])
def test_a_change_that_was_announced_came_after_the_announcement(beats: float) -> None:
    steps = 20_000
    announced = [beats * (step + 0.5) / steps for step in range(steps)]
    late = sum(max(beats - LATE_BEATS - at, 0.0) / (beats - at) for at in announced) / steps
    before = Patience(0.0)
    assert before.seen(beats, announced=True).logarithm == pytest.approx(STEP * (late - RARE), abs=1e-4)
    assert before.seen(beats).logarithm > before.seen(beats, announced=True).logarithm


def test_the_absence_of_a_sign_is_no_sign() -> None:
    record = NO_RECORD
    for _ in range(100):
        record = signs.recorded(record, 0.0, seen=Knot(came=0.3, due=0.1, beats=1.0))
        record = signs.recorded(record, 1.0, seen=Knot(came=0.01, due=0.1, beats=1.0))
    assert [signs.meant(record, strength / 4, long_run=0.1) for strength in range(5)] == [0.0] * 5


@pytest.mark.parametrize(("now", "sign", "rate"), [(0.1, 0.0, 0.2), (0.1, 0.3, 0.6), (0.4, 0.3, 0.8)])
def test_what_is_louder_counts_the_latest_looks_or_a_sign(now: float, sign: float, rate: float) -> None:
    expected = Forecast(Belief(1.0, 10.0), now=now, sign=sign, hour=2.0)
    assert expected.rate == pytest.approx(rate)
