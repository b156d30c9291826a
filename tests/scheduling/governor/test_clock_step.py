"""What is planned anew when the clock was set back, and what stays."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.scheduling.scheduling_fixtures import HOUR, MINUTE, NOW, SECOND, a_calendar, an_endpoint, at

from cadenza.adapters.cron import CronsimCron
from cadenza.domain.scheduling.baseline import Baseline, Cron, Every, Once
from cadenza.domain.scheduling.calendars.rules import CalendarRules
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.governor import plan_next_run
from cadenza.domain.scheduling.hint import IntervalHint, OneShotHint
from cadenza.domain.scheduling.nudge import FROM_THE_CLOCK, after_clock_step
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.policy import Guard
from cadenza.domain.scheduling.steer import clear_hints, resume

CRON = CronsimCron()
BEFORE = at(HOUR)
"""What the clock showed when it was set back by an hour, to NOW."""
STEP = timedelta(hours=1)


def planned_before(baseline: Baseline, *, ran_ms: int = -SECOND, **fields: Any) -> Endpoint:
    """An endpoint as it was planned before the step, after a run so long before it."""
    endpoint = an_endpoint(baseline=baseline, last_run_at=at(HOUR + ran_ms), **fields)
    plan = plan_next_run(BEFORE, endpoint, CRON)
    return evolve(endpoint, next_run_at=plan.next_run_at, next_source=plan.source)


def anew(endpoint: Endpoint, step: timedelta = STEP) -> tuple[datetime | None, Source]:
    after = after_clock_step(endpoint, now=NOW, step=step, cron=CRON)
    assert evolve(after, next_run_at=endpoint.next_run_at, next_source=endpoint.next_source) == endpoint
    return after.next_run_at, after.next_source


def test_an_interval_goes_on_as_if_nothing_had_happened() -> None:
    assert anew(planned_before(Every(5 * SECOND))) == (at(4 * SECOND), Source.BASELINE_INTERVAL)


def test_an_interval_longer_than_the_step_goes_on_too() -> None:
    assert anew(planned_before(Every(24 * HOUR))) == (at(24 * HOUR - SECOND), Source.BASELINE_INTERVAL)


def test_a_fresh_hint_and_the_guard_count_as_before() -> None:
    hint = IntervalHint(2 * SECOND, expires_at=at(3 * HOUR), reason=None, origin="x")
    assert anew(planned_before(Every(MINUTE), interval_hint=hint)) == (at(SECOND), Source.AI_INTERVAL)
    guard = Guard(min_interval_ms=30 * SECOND)
    assert anew(planned_before(Every(SECOND), guard=guard)) == (at(29 * SECOND), Source.CLAMPED_MIN)


def test_what_ran_once_stays_over_whatever_moved_its_next_run() -> None:
    hint = OneShotHint(at(2 * HOUR), expires_at=at(3 * HOUR))
    ran = an_endpoint(baseline=Once(at(HOUR)), last_run_at=at(HOUR), one_shot_hint=hint)
    resumed = evolve(ran, next_run_at=hint.at, next_source=Source.RESUME)
    assert anew(resumed) == (hint.at, Source.RESUME)


def test_a_line_of_every_minute_follows_elapsed_time() -> None:
    assert anew(planned_before(Cron("* * * * *")))[0] == at(MINUTE)


@pytest.mark.parametrize("off_ms", [-10_000, -200, 200, 10_000])
def test_a_step_need_not_be_of_whole_minutes(off_ms: int) -> None:
    step = STEP + timedelta(milliseconds=off_ms)
    assert anew(planned_before(Cron("* * * * *")), step)[0] == at(MINUTE)


def test_a_line_of_once_an_hour_follows_a_step_of_an_hour_and_no_shorter_one() -> None:
    hourly = planned_before(Cron("0 * * * *"))
    assert hourly.next_run_at == at(HOUR + 5 * MINUTE)
    assert anew(hourly, STEP - timedelta(milliseconds=200))[0] == at(5 * MINUTE)
    assert anew(hourly, STEP / 2)[0] == hourly.next_run_at


def test_a_line_of_once_a_day_that_was_served_is_not_served_again() -> None:
    served = NOW + timedelta(minutes=30)
    daily = planned_before(Cron(f"{served.minute} {served.hour} * * *"), ran_ms=-30 * MINUTE)
    assert daily.next_run_at == served + timedelta(days=1)
    assert anew(daily) == (daily.next_run_at, Source.BASELINE_CRON)


def test_a_retry_waits_as_long_as_it_was_meant_to() -> None:
    retried = evolve(planned_before(Every(MINUTE)), next_run_at=at(HOUR + 5_000), next_source=Source.RETRY)
    assert anew(retried) == (at(5_000), Source.RETRY)


@pytest.mark.parametrize("source", sorted(set(Source) - FROM_THE_CLOCK))
def test_a_moment_that_somebody_named_stays(source: Source) -> None:
    named = evolve(planned_before(Every(SECOND)), next_run_at=at(HOUR + 1), next_source=source)
    assert anew(named) == (at(HOUR + 1), source)


def test_what_runs_once_and_one_shots_stay() -> None:
    moment = at(HOUR + 1)
    once = an_endpoint(baseline=Once(moment), next_run_at=moment, next_source=Source.BASELINE_ONCE)
    assert anew(once) == (moment, Source.BASELINE_ONCE)
    hint = OneShotHint(at(HOUR - 2 * SECOND), expires_at=at(2 * HOUR), reason=None, origin="x")
    served = planned_before(Every(5 * SECOND), one_shot_hint=hint)
    assert anew(served) == (at(4 * SECOND), Source.BASELINE_INTERVAL)


def test_what_was_planned_after_the_step_stays() -> None:
    endpoint = an_endpoint(baseline=Every(MINUTE), next_run_at=at(MINUTE))
    assert anew(endpoint)[0] == at(MINUTE)


def test_a_first_run_that_lies_ahead_is_one_interval_away() -> None:
    endpoint = an_endpoint(baseline=Every(MINUTE), next_run_at=at(HOUR + 30 * SECOND))
    assert anew(endpoint)[0] == at(MINUTE)


def test_planning_anew_twice_changes_nothing_more() -> None:
    once = after_clock_step(planned_before(Every(5 * SECOND)), now=NOW, step=STEP, cron=CRON)
    assert after_clock_step(once, now=NOW, step=STEP, cron=CRON) == once


def ran_ahead(ran_at: datetime, **fields: Any) -> Endpoint:
    """An endpoint that a worker ran, and planned anew, whose clock is ahead."""
    moment = CRON.next("* * * * *", ran_at)
    return an_endpoint(
        baseline=Cron("* * * * *"),
        last_run_at=ran_at,
        next_run_at=moment,
        next_source=Source.BASELINE_CRON,
        **fields,
    )


def test_a_fire_that_a_clock_ahead_has_served_is_not_planned_again_by_a_right_one() -> None:
    served = at(MINUTE + 10 * SECOND)
    cleared = clear_hints(ran_ahead(served), now=NOW, cron=CRON, origin="person")
    assert cleared.endpoint.next_run_at == at(2 * MINUTE)
    paused = ran_ahead(served, paused_until=at(HOUR))
    assert resume(paused, None, now=NOW, cron=CRON, origin="person").endpoint.next_run_at == at(2 * MINUTE)


def test_a_run_by_a_clock_that_is_far_ahead_does_not_keep_a_line_from_its_next_fire() -> None:
    cleared = clear_hints(ran_ahead(at(24 * HOUR)), now=NOW, cron=CRON, origin="person")
    assert cleared.endpoint.next_run_at == at(MINUTE)


def test_a_closure_that_comes_again_is_not_skipped_twice() -> None:
    rules = CalendarRules(only_during=a_calendar(-24 * HOUR, 30 * MINUTE, 10 * HOUR, 24 * HOUR))
    before = planned_before(Cron("*/5 * * * *"), skipped_at=at(55 * MINUTE), calendar_rules=rules)
    ran_again = evolve(before, last_run_at=at(29 * MINUTE))
    plan = plan_next_run(at(29 * MINUTE), ran_again, CRON)
    assert (plan.next_run_at, plan.source) == (at(10 * HOUR), Source.BASELINE_CRON)
