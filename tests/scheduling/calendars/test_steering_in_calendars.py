"""What steering, requests and heartbeats may do while calendars are closed, and how it is said."""

from datetime import timedelta
from typing import Any

import pytest
from tests.scheduling.scheduling_fixtures import (
    CRON,
    HOUR,
    MINUTE,
    NOW,
    ORIGIN,
    a_calendar,
    an_endpoint,
    at,
    claimed,
    settled,
)

from cadenza.domain.errors import Conflict, InvalidRequest
from cadenza.domain.monitoring.forecast import forecast_runs
from cadenza.domain.monitoring.heartbeat import Signal, SignalKind, outcome_of, receive
from cadenza.domain.scheduling.baseline import Cron, Every, Once
from cadenza.domain.scheduling.calendars.calendar import Calendar
from cadenza.domain.scheduling.calendars.rules import CalendarRules, WhenClosed
from cadenza.domain.scheduling.due import claimable_at, due
from cadenza.domain.scheduling.endpoint import Endpoint, OpenSlot, evolve
from cadenza.domain.scheduling.explain import explain
from cadenza.domain.scheduling.hint import IntervalHint, OneShotHint
from cadenza.domain.scheduling.nudge import plan_from_now
from cadenza.domain.scheduling.plan import SOURCE_REASONS, Source
from cadenza.domain.scheduling.requested_runs.asking import missed_slots, take_requests
from cadenza.domain.scheduling.requested_runs.queue import RunRequest
from cadenza.domain.scheduling.run import RunStatus
from cadenza.domain.scheduling.steer import (
    pause,
    plan_first_run,
    redefine,
    run_now,
    take_interval_hint,
    take_one_shot,
)
from cadenza.domain.scheduling.target import HeartbeatTarget
from cadenza.engine.steering_commands import ProposeNextTime, SteeringContext

DAY = 24 * HOUR
TWELVE_YEARS = 12 * 366 * DAY
NIGHT = a_calendar(-DAY, 0, 10 * HOUR, DAY)
"""Closed from now on for ten hours."""
SKIP = CalendarRules(only_during=NIGHT)
AT_END = CalendarRules(only_during=NIGHT, when_closed=WhenClosed.RUN_AT_END)
CLOSED_NOW = "outside of the calendar work until 2025-03-30T10:55:00Z"
FIRST_OPEN = at(10 * HOUR)
BY: dict[str, Any] = {"now": NOW, "cron": CRON, "origin": ORIGIN}


def planned(rules: CalendarRules = SKIP, **parts: Any) -> Endpoint:
    usual: dict[str, Any] = {
        "next_run_at": at(11 * HOUR),
        "last_run_at": at(-MINUTE),
        "next_source": "baseline-interval",
    }
    source = Source(parts.pop("next_source", usual["next_source"]))
    return an_endpoint(calendar_rules=rules, **(usual | parts | {"next_source": source}))


def test_a_run_at_once_is_refused_with_the_reason() -> None:
    with pytest.raises(Conflict, match=r"Traffic cannot run now \(outside of the calendar work until 2025-"):
        run_now(planned(), now=NOW)
    assert run_now(planned(), now=FIRST_OPEN).endpoint.next_source is Source.MANUAL


def test_a_nudge_into_a_closed_moment_is_ignored_and_the_answer_says_so() -> None:
    hint = OneShotHint(at(HOUR), at(2 * HOUR))
    changed = take_one_shot(planned(), hint, **BY)
    assert changed.nudge is not None
    assert (changed.nudge.applied, changed.endpoint.next_run_at) == (False, at(11 * HOUR))
    assert changed.note == (
        "The next run stays as it is: nothing runs at 2025-03-30T01:55:00Z"
        " (outside of the calendar work until 2025-03-30T10:55:00Z)."
    )


def test_a_nudge_of_what_runs_at_the_end_moves_it_to_the_opening() -> None:
    changed = take_one_shot(planned(AT_END), OneShotHint(at(HOUR), at(2 * HOUR)), **BY)
    assert (changed.endpoint.next_run_at, changed.endpoint.next_source) == (FIRST_OPEN, Source.CALENDAR)
    assert changed.note is None


def test_a_moment_that_has_passed_and_is_closed_is_told_as_both() -> None:
    by = SteeringContext(now=NOW, cron=CRON, origin=ORIGIN)
    changed = ProposeNextTime(at=at(-HOUR)).apply(planned(), by)
    assert (changed.note or "").startswith("2025-03-29T23:55:00Z has passed, so it counts as now. The next")


def test_what_ended_is_not_nudged_back() -> None:
    over = planned(CalendarRules(ends_at=NOW), next_run_at=None, next_source="finished")
    changed = take_one_shot(over, OneShotHint(at(MINUTE), at(HOUR)), **BY)
    assert changed.endpoint.next_run_at is None


def test_what_runs_once_outside_of_its_calendars_is_refused_when_it_is_written() -> None:
    once = an_endpoint(baseline=Once(at(HOUR)), calendar_rules=SKIP)
    with pytest.raises(InvalidRequest, match="It would not run at 2025-03-30T01:55:00Z: outside of"):
        plan_first_run(once, now=NOW, cron=CRON)
    assert plan_first_run(evolve(once, calendar_rules=AT_END), now=NOW, cron=CRON).next_run_at == FIRST_OPEN
    late = evolve(once, calendar_rules=CalendarRules(ends_at=at(MINUTE)))
    with pytest.raises(InvalidRequest, match="its schedule ended"):
        redefine(an_endpoint(), late, now=NOW, cron=CRON)


@pytest.mark.parametrize("only", [None, a_calendar(-DAY, DAY, TWELVE_YEARS, TWELVE_YEARS + DAY)])
def test_never_during_what_is_always_open_is_refused(only: Calendar | None) -> None:
    """What lies behind the last moment for which a calendar is compiled is not open."""
    always = a_calendar(-DAY, TWELVE_YEARS, id="always")
    never = CalendarRules(only_during=only, never_during=always)
    with pytest.raises(InvalidRequest, match=r"always leaves? no open time ahead"):
        plan_first_run(an_endpoint(calendar_rules=never), now=NOW, cron=CRON)
    later = CalendarRules(never_during=always, starts_at=at(TWELVE_YEARS))
    assert plan_first_run(an_endpoint(calendar_rules=later), now=NOW, cron=CRON).next_run_at is not None


def test_calendars_that_are_never_open_together_are_refused() -> None:
    never = CalendarRules(only_during=NIGHT, never_during=a_calendar(-DAY, 2 * DAY, id="maintenance"))
    with pytest.raises(InvalidRequest, match="work and maintenance leave no open time ahead"):
        plan_first_run(an_endpoint(calendar_rules=never), now=NOW, cron=CRON)


def test_what_is_to_start_at_once_starts_when_it_may() -> None:
    first = plan_first_run(an_endpoint(calendar_rules=SKIP), now=NOW, cron=CRON, start_now=True)
    assert (first.next_run_at, first.next_source) == (FIRST_OPEN, Source.FIRST)


def test_new_calendars_are_planned_at_once() -> None:
    before = planned(CalendarRules(), next_run_at=at(30_000), baseline=Every(90_000))
    after = redefine(before, evolve(before, calendar_rules=AT_END), now=NOW, cron=CRON).endpoint
    assert (after.next_run_at, after.next_source) == (FIRST_OPEN, Source.CALENDAR)


def test_what_waits_beside_the_schedule_is_due_when_calendars_open() -> None:
    retry = planned(next_run_at=at(MINUTE), next_source="retry", open_slot=OpenSlot(at(-MINUTE), 1))
    assert claimable_at(retry) == FIRST_OPEN
    resumed = planned(next_run_at=at(MINUTE), next_source="paused", paused_until=at(MINUTE))
    assert claimable_at(resumed) == FIRST_OPEN
    skipped = planned(next_run_at=at(MINUTE), next_source="closed")
    assert claimable_at(skipped) == at(MINUTE)
    assert claimable_at(evolve(retry, calendar_rules=CalendarRules(starts_at=at(DAY)))) == at(DAY)


def test_what_is_resumed_into_a_closed_moment_is_skipped_all_the_same() -> None:
    opened = plan_from_now(planned(baseline=Every(HOUR)), NOW, CRON)
    assert (opened.next_run_at, opened.next_source) == (at(HOUR - MINUTE), Source.CLOSED)


def test_a_pause_that_begins_while_closed_ends_as_asked() -> None:
    waits = planned(next_run_at=at(MINUTE), next_source="resume")
    assert not due(waits, at(HOUR))
    changed = pause(waits, at(DAY), None, now=at(HOUR), cron=CRON, origin=ORIGIN)
    assert (changed.skipped, changed.endpoint.next_run_at) == ((), at(DAY))


def test_requested_runs_wait_for_the_opening_and_are_refused_after_the_end() -> None:
    wanted = [RunRequest(at(-HOUR), 2, Source.RERUN, ORIGIN)]
    waiting = take_requests(planned(), wanted, now=NOW).endpoint
    assert waiting.requested is not None
    assert claimable_at(waiting) == FIRST_OPEN
    with pytest.raises(Conflict, match="runs no more: its schedule ended"):
        take_requests(planned(CalendarRules(ends_at=NOW)), wanted, now=NOW)


def test_slots_while_closed_are_not_backfilled() -> None:
    endpoint = planned(baseline=Cron("*/60 * * * *"))
    missed = list(missed_slots(endpoint, at(-2 * HOUR), at(12 * HOUR), (), CRON))
    assert missed == [at(hours * HOUR + 5 * MINUTE) for hours in (-2, -1, 10, 11)]


BEATS = HeartbeatTarget(grace_ms=5 * MINUTE)


def test_a_heartbeat_is_not_missing_while_closed_and_a_signal_counts_at_once() -> None:
    beats = planned(target=BEATS, next_run_at=at(3 * MINUTE), baseline=Every(HOUR))
    held = claimed(beats, at(3 * MINUTE))
    silent = outcome_of([], held)
    assert (silent.status, silent.reason) == (RunStatus.SKIPPED, CLOSED_NOW)
    after = settled(held.endpoint, held, silent, now=at(3 * MINUTE)).endpoint
    expected = at(11 * HOUR + 5 * MINUTE) - timedelta(microseconds=1)
    assert (after.failure_count, after.next_run_at) == (0, expected)
    sent = receive(beats, Signal("signal", SignalKind.SUCCESS, at(MINUTE)))
    assert sent is not None
    assert claimable_at(sent.endpoint) == at(MINUTE)
    missing = outcome_of([], claimed(evolve(beats, calendar_rules=CalendarRules()), at(3 * MINUTE)))
    assert missing.status is RunStatus.FAILURE


def test_a_run_that_began_while_open_is_late_although_its_grace_reaches_before_the_opening() -> None:
    limited = HeartbeatTarget(grace_ms=5 * MINUTE, max_run_ms=2 * MINUTE)
    beats = planned(target=limited, next_run_at=at(12 * HOUR), baseline=Every(HOUR))
    start = Signal("signal", SignalKind.START, FIRST_OPEN + timedelta(minutes=1))
    began = receive(beats, start)
    assert began is not None
    late = outcome_of([start], claimed(began.endpoint, FIRST_OPEN + timedelta(minutes=3)))
    assert late.status is RunStatus.TIMEOUT


def test_it_is_explained_like_any_other_candidate() -> None:
    skipped = planned(next_run_at=at(HOUR), next_source="closed", baseline=Every(61 * MINUTE))
    why = explain(skipped, now=NOW, cron=CRON)
    assert why.sentences[:4] == (
        f"Traffic skips its slot at 2025-03-30T01:55:00Z, in 1 hour: {SOURCE_REASONS[Source.CLOSED]}.",
        f"No runs start: {CLOSED_NOW}.",
        "Baseline: every 1 hour 1 minute.",
        "Calendars: only during work; a slot while they are closed is skipped.",
    )
    assert [one.source for one in why.plan.candidates] == ["baseline-interval", "closed"]
    waits = explain(planned(AT_END, next_run_at=at(MINUTE), next_source="retry"), now=NOW, cron=CRON)
    assert "It waits until 2025-03-30T10:55:00Z, when they let it run." in waits.sentences
    assert waits.opens_at == FIRST_OPEN


def test_the_forecast_tells_skipped_slots_and_openings() -> None:
    endpoint = planned(next_run_at=at(-HOUR), baseline=Every(4 * HOUR))
    runs = forecast_runs(endpoint, now=at(-HOUR), cron=CRON, most=4)
    assert [(run.at, str(run.source)) for run in runs] == [
        (at(-HOUR), "baseline-interval"),
        (at(3 * HOUR), "closed"),
        (at(11 * HOUR), "baseline-interval"),
        (at(15 * HOUR), "baseline-interval"),
    ]
    at_end = forecast_runs(evolve(endpoint, calendar_rules=AT_END), now=at(-HOUR), cron=CRON, most=3)
    assert [(run.at, str(run.source)) for run in at_end][1:] == [
        (FIRST_OPEN, "calendar"),
        (at(14 * HOUR), "baseline-interval"),
    ]
    ended = evolve(endpoint, calendar_rules=CalendarRules(ends_at=at(2 * HOUR)))
    assert len(forecast_runs(ended, now=at(-HOUR), cron=CRON, most=4)) == 1


def test_an_interval_hint_written_while_closed_counts_when_they_open() -> None:
    hint = IntervalHint(MINUTE, at(11 * HOUR))
    changed = take_interval_hint(planned(skipped_at=NOW, next_run_at=FIRST_OPEN), hint, **BY)
    assert changed.endpoint.next_run_at == FIRST_OPEN
