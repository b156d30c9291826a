"""Whatever turns and users ask of a schedule, it stays within its guard, and what a person decided holds."""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cadenza.adapters.cron import CronsimCron
from cadenza.domain.agents.pacing import Finish, Pacing, SelfPause, finished, pace
from cadenza.domain.agents.schedule import NO_PLANNER, POLICY, next_fires
from cadenza.domain.agents.schedule_change import due_now, paused, resumed, snoozed
from cadenza.domain.errors import CadenzaError
from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.governor import plan_next_run
from cadenza.domain.scheduling.hint import IntervalHint, OneShotHint
from cadenza.domain.scheduling.policy import Guard
from cadenza.domain.scheduling.target import PromptTarget
from cadenza.domain.validation import milliseconds

CRON = CronsimCron()
NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
MINUTE = 60_000
AGENT, PERSON = "agent:helper", "key:ada"
moments = st.integers(1, 3_000).map(lambda minutes: NOW + timedelta(minutes=minutes))
reasons = st.none() | st.just("why")
intervals = st.builds(IntervalHint, st.integers(1, 3_000 * MINUTE), moments, reasons)
one_shots = moments.map(lambda at: OneShotHint(at, at + timedelta(minutes=30)))
pauses = st.builds(SelfPause, moments, reasons)
pacings = st.builds(
    Pacing,
    origin=st.just(AGENT),
    interval=st.none() | intervals,
    next_time=st.none() | one_shots,
    pause=st.none() | pauses,
    finish=st.none() | st.builds(Finish, reasons),
)


@st.composite
def schedules(draw: st.DrawFn, /, **fields: Any) -> Endpoint:
    """A schedule that has just fired."""
    least, interval, most = sorted(draw(st.lists(st.integers(1, 1_000), min_size=3, max_size=3)))
    target = PromptTarget("helper", "ada", "Look.", may_pace=True)
    return Endpoint(
        **{
            "id": "sched-a",
            "name": "a",
            "target": target,
            "baseline": Every(interval * MINUTE),
            "guard": Guard(least * MINUTE, most * MINUTE),
            "policy": POLICY,
            "planning": NO_PLANNER,
            "last_run_at": NOW,
            "next_run_at": NOW + timedelta(minutes=interval),
            **fields,
        }
    )


@given(schedules(), pacings)
def test_a_turn_stays_within_the_guard_or_pauses_or_finishes(schedule: Endpoint, pacing: Pacing) -> None:
    after = pace(schedule, pacing, now=NOW, cron=CRON)
    assert len(after.records) == sum(
        one is not None for one in (pacing.interval, pacing.next_time, pacing.pause, pacing.finish)
    )
    assert after.is_finished == (pacing.finish is not None)
    plan = plan_next_run(NOW, after.endpoint, CRON)
    assert plan.next_run_at is not None
    if pacing.pause is not None:
        assert plan.next_run_at == pacing.pause.until
        return
    least, most = schedule.guard.min_interval_ms, schedule.guard.max_interval_ms
    assert milliseconds(least or 0) <= plan.next_run_at - NOW <= milliseconds(most or 0)


@given(schedules(), pacings)
def test_a_turn_changes_nothing_but_hints_and_the_pause(schedule: Endpoint, pacing: Pacing) -> None:
    after = pace(schedule, pacing, now=NOW, cron=CRON).endpoint
    kept = {"interval_hint", "one_shot_hint", "paused_until", "pause_reason", "pause_origin"}
    assert {name for name, value in vars(after).items() if value != vars(schedule)[name]} <= kept
    assert finished(after).next_run_at is None


@given(schedules(), pacings)
def test_the_same_calls_twice_are_the_same_as_once(schedule: Endpoint, pacing: Pacing) -> None:
    once = pace(schedule, pacing, now=NOW, cron=CRON).endpoint
    assert pace(once, pacing, now=NOW, cron=CRON).endpoint == once


@given(schedules(), pacings)
def test_without_leave_a_turn_changes_nothing(schedule: Endpoint, pacing: Pacing) -> None:
    private = evolve(schedule, target=PromptTarget("helper", "ada", "Look."))
    after = pace(private, pacing, now=NOW, cron=CRON)
    assert after.endpoint == private
    assert all(one.not_applied for one in after.records)
    assert not after.is_finished


@given(schedules(), pacings, moments)
def test_a_persons_pause_and_snooze_win(schedule: Endpoint, pacing: Pacing, until: Any) -> None:
    by: dict[str, Any] = {"now": NOW, "cron": CRON, "origin": PERSON}
    for held in (paused(schedule, until, None, **by), snoozed(schedule, until, **by)):
        after = pace(held.endpoint, pacing, now=NOW, cron=CRON)
        assert after.endpoint == held.endpoint
        assert plan_next_run(NOW, after.endpoint, CRON).next_run_at == until


@given(schedules(), moments)
def test_a_snoozed_schedule_fires_then_and_goes_on_as_before(schedule: Endpoint, until: Any) -> None:
    by: dict[str, Any] = {"cron": CRON, "origin": PERSON}
    put_off = snoozed(schedule, until, now=NOW, **by).endpoint
    assert put_off.next_run_at == put_off.paused_until == until
    fired = evolve(put_off, last_run_at=until, paused_until=None, one_shot_hint=None)
    assert isinstance(schedule.baseline, Every)
    plan = plan_next_run(until, fired, CRON)
    assert plan.next_run_at == until + milliseconds(schedule.baseline.interval_ms)
    awake = resumed(put_off, now=NOW, **by).endpoint
    assert (awake.next_run_at, awake.one_shot_hint, awake.paused_until) == (schedule.next_run_at, None, None)


@given(schedules(), st.lists(st.sampled_from(["pause", "resume", "snooze", "run"]), max_size=6), moments)
def test_whatever_its_user_does_it_ends_up_planned(
    schedule: Endpoint, actions: list[str], until: Any
) -> None:
    by: dict[str, Any] = {"now": NOW, "cron": CRON, "origin": PERSON}
    rules: dict[str, Any] = {
        "pause": lambda one: paused(one, None, None, **by),
        "resume": lambda one: resumed(one, **by),
        "snooze": lambda one: snoozed(one, until, **by),
        "run": lambda one: due_now(one, now=NOW),
    }
    for action in actions:
        with suppress(CadenzaError):
            schedule = rules[action](schedule).endpoint
    assert schedule.next_run_at is not None
    assert schedule.next_run_at >= NOW


@given(schedules())
def test_the_fires_that_are_told_are_an_interval_apart(schedule: Endpoint) -> None:
    first, second, third = next_fires(schedule, CRON)
    assert isinstance(schedule.baseline, Every)
    assert second - first == third - second == milliseconds(schedule.baseline.interval_ms)
