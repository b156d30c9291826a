"""What can be gained without foresight: measured by one who knows the law of a world."""

import pytest
from benchmarks.informed import Informed, Outlook, Prices
from benchmarks.planners import compare
from benchmarks.policies import Seen
from benchmarks.worlds import Size, world


def seen(at: float, *, changed: bool = False) -> Seen:
    return Seen(at, changed=changed, failing=False, latency_ms=50.0)


def test_with_a_rate_that_stays_intervals_follow_the_square_root() -> None:
    prices = Prices(look=2.0)
    seldom, often = (Outlook(rate, rate, 0.0).interval(prices, 1.0, 1e4) for rate in (1e-4, 4e-4))
    assert seldom == pytest.approx(200.0, rel=0.01)
    assert often == pytest.approx(100.0, rel=0.01)


def test_a_change_makes_the_next_look_sooner_and_calm_puts_it_off() -> None:
    one = world("bursts", Size(2, 0.5), seed=1)
    policy = Informed(one, [Prices(20.0)] * 2)
    calm = policy.look(0, seen(300.0))
    after_change = policy.look(0, seen(600.0, changed=True))
    later = [policy.look(0, seen(600.0 + 600 * number)) for number in range(1, 20)]
    assert after_change < calm
    assert after_change < later[-1]


def test_without_foresight_less_is_gained_than_by_the_clairvoyant_and_more_than_at_a_fixed_pace() -> None:
    policies = compare("bursts", Size(20, 1.0), seed=3)["policies"]
    fixed, informed, clairvoyant = (policies[name] for name in ("fixed", "informed", "clairvoyant"))
    assert clairvoyant["mean_s"] < informed["mean_s"] < fixed["mean_s"]
    assert informed["runs"] == pytest.approx(fixed["runs"], rel=0.02)
    assert policies["in_time"]["p95_s"] <= fixed["p95_s"]
