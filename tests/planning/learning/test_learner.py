"""What one look teaches, and what it is charged as."""

from math import exp
from random import Random

import pytest

from cadenza.domain.planning.learning.caution import Caution
from cadenza.domain.planning.learning.learner import Period, learn
from cadenza.domain.planning.learning.long_term_rate import GammaRate, RatePrior
from cadenza.domain.planning.learning.proposal import Bounds, decide
from cadenza.domain.planning.learning.recent_rate import PopulationRates, RecentRate, updated_rates
from cadenza.domain.planning.learning.state import EndpointModel, Observation, SharedModel
from cadenza.domain.planning.learning.weekly_pattern import DAY_H, HOUR_S, WeeklyPattern

MINUTE_S = 60.0
SEEN = EndpointModel(at_s=0.0, proposed_periods=2.5)
CHANGED = Observation(MINUTE_S, changed=True)


@pytest.mark.parametrize(("shadow", "gap"), [(True, 2.5), (False, 1.0)])
def test_in_the_shadow_a_change_is_as_late_as_it_would_have_been_seen(*, shadow: bool, gap: float) -> None:
    _, shared = learn(SEEN, CHANGED, shared=SharedModel(), period=Period(MINUTE_S, shadow=shadow))
    assert shared.caution.log_limit == Caution().after_change(gap).log_limit


def test_changes_that_one_run_showed_as_one_count_as_many_as_there_probably_were() -> None:
    model = SEEN._replace(
        recent_rate=updated_rates(RecentRate(), PopulationRates(), periods=0.1, spent=0.1, changed=True)[0]
    )
    late = {
        failing: learn(
            model,
            Observation(3 * MINUTE_S, changed=True, failing=failing),
            shared=SharedModel(),
            period=Period(MINUTE_S),
        )[1]
        for failing in (False, True)
    }
    once = Caution().after_change(3.0).log_cost
    assert once < late[False].caution.log_cost < late[True].caution.log_cost, (
        "a failure may also have come and gone"
    )


def test_a_busy_hour_may_spend_more_and_a_quiet_one_less() -> None:
    weekly_pattern = WeeklyPattern()
    for hour in range(DAY_H):
        weekly_pattern = weekly_pattern.updated(
            hour * HOUR_S, changes=400.0 if hour == 9 else 100.0, expected=100.0
        )
    shared = SharedModel(weekly_pattern=weekly_pattern, caution=Caution(changes=1.0))
    period = Period(MINUTE_S)
    for hour, more in ((9, True), (3, False)):
        at_s = float(hour * HOUR_S)
        _, after, proposal = decide(SEEN, shared, period=period, at_s=at_s, bounds=Bounds())
        evenly = shared.run_price.after_proposal(proposal.periods, period.allowance)
        assert (after.run_price.price < evenly.price) is more


def test_changes_that_hide_behind_one_another_are_counted() -> None:
    chance, prior, estimate = Random(7), RatePrior.initial(0.05), GammaRate(50.0, 50.0)
    for _ in range(5_000):
        prior = prior.updated(estimate, 3.0, changed=chance.random() > exp(-3.0))
    assert prior.rate == pytest.approx(1.0, rel=0.05)
