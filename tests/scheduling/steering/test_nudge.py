"""Bring forward, never back; and relax where a hint may."""

from datetime import datetime

import pytest
from hypothesis import given
from tests.scheduling.endpoint_strategies import NOTHING, future, moments, onces, past, repeating, stored
from tests.scheduling.scheduling_fixtures import CRON, HOUR, MINUTE, NOW, SECOND, a_lease, an_endpoint, at

from cadenza.domain.scheduling.baseline import Every, Once
from cadenza.domain.scheduling.endpoint import Endpoint, OpenSlot, evolve
from cadenza.domain.scheduling.governor import plan_next_run
from cadenza.domain.scheduling.hint import IntervalHint
from cadenza.domain.scheduling.nudge import Nudge, nudge, relax
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.policy import Guard
from cadenza.domain.validation import milliseconds

SOURCE = Source.AI_ONESHOT
UNPAUSED = NOTHING | past()


def bounded(endpoint: Endpoint, when: datetime) -> datetime:
    """The moment, within the guard as it counts from now, and not before now."""
    low, high = endpoint.guard.min_interval_ms, endpoint.guard.max_interval_ms
    if low is not None:
        when = max(when, at(low))
    if high is not None:
        when = min(when, at(high))
    return max(when, NOW)


@given(stored(), moments())
def test_a_nudge_never_delays(endpoint: Endpoint, when: datetime) -> None:
    moved, told = nudge(endpoint, NOW, when, SOURCE)
    before = endpoint.next_run_at
    if before is not None:
        assert moved.next_run_at is not None
        assert moved.next_run_at <= before
        assert told.applied == (moved.next_run_at < before)


@given(stored(), moments())
def test_a_nudge_changes_the_next_run_and_nothing_else(endpoint: Endpoint, when: datetime) -> None:
    moved, told = nudge(endpoint, NOW, when, SOURCE)
    back = evolve(moved, next_run_at=endpoint.next_run_at, next_source=endpoint.next_source)
    assert back == endpoint
    assert told.before == endpoint.next_run_at
    if told.applied:
        assert moved.next_run_at == told.candidate
    else:
        assert moved == endpoint


@given(stored(paused_until=future()), moments())
def test_a_nudge_while_paused_is_ignored(endpoint: Endpoint, when: datetime) -> None:
    assert nudge(endpoint, NOW, when, SOURCE) == (endpoint, Nudge(endpoint.next_run_at, when, applied=False))


@given(
    stored(paused_until=UNPAUSED, next_run_at=NOTHING, quota_opens_at=NOTHING, baseline=repeating()),
    moments(),
)
def test_a_nudge_is_clamped_to_the_guard_from_now(endpoint: Endpoint, when: datetime) -> None:
    moved, told = nudge(endpoint, NOW, when, SOURCE)
    assert told == Nudge(None, bounded(endpoint, when), applied=True)
    if when < at(endpoint.guard.min_interval_ms or -HOUR * 24):
        assert moved.next_source is Source.CLAMPED_MIN
    elif when > at(endpoint.guard.max_interval_ms or HOUR * 24):
        assert moved.next_source is Source.CLAMPED_MAX
    else:
        assert moved.next_source is SOURCE


@given(
    stored(paused_until=UNPAUSED, next_run_at=NOTHING, quota_opens_at=NOTHING, baseline=onces()), moments()
)
def test_a_nudge_of_what_runs_once_is_not_clamped(endpoint: Endpoint, when: datetime) -> None:
    moved, _ = nudge(endpoint, NOW, when, SOURCE)
    assert (moved.next_run_at, moved.next_source) == (max(when, NOW), SOURCE)


@given(stored(paused_until=UNPAUSED, quota_opens_at=future(), next_run_at=NOTHING), moments())
def test_a_closed_quota_holds_a_nudge_until_it_opens(endpoint: Endpoint, when: datetime) -> None:
    opens = endpoint.quota_opens_at
    assert opens is not None
    moved, told = nudge(endpoint, NOW, when, SOURCE)
    free, _ = nudge(evolve(endpoint, quota_opens_at=None), NOW, when, SOURCE)
    assert free.next_run_at is not None
    assert told.candidate == moved.next_run_at == max(free.next_run_at, opens)
    assert moved.next_source is (Source.QUOTA if free.next_run_at < opens else free.next_source)


@given(stored(paused_until=UNPAUSED), moments())
def test_a_nudge_never_asks_for_a_moment_before_now(endpoint: Endpoint, when: datetime) -> None:
    _, told = nudge(endpoint, NOW, when, SOURCE)
    assert told.candidate >= NOW


def test_a_nudge_to_the_moment_at_which_the_quota_opens_is_not_held() -> None:
    moved, _ = nudge(an_endpoint(quota_opens_at=at(MINUTE)), NOW, at(MINUTE), SOURCE)
    assert (moved.next_run_at, moved.next_source) == (at(MINUTE), SOURCE)


def test_a_quota_that_has_opened_holds_nothing() -> None:
    endpoint = an_endpoint(quota_opens_at=at(-SECOND))
    moved, _ = nudge(endpoint, NOW, at(-MINUTE), SOURCE)
    assert (moved.next_run_at, moved.next_source) == (NOW, SOURCE)


def test_a_nudge_to_the_stored_moment_is_not_applied() -> None:
    endpoint = an_endpoint(next_run_at=at(SECOND), next_source=Source.MANUAL)
    moved, told = nudge(endpoint, NOW, at(SECOND), SOURCE)
    assert (moved, told.applied) == (endpoint, False)


@given(stored())
def test_relaxing_never_brings_forward(endpoint: Endpoint) -> None:
    relaxed = relax(endpoint, NOW, CRON)
    if endpoint.next_run_at is None:
        assert relaxed == endpoint
    else:
        assert relaxed.next_run_at is not None
        assert relaxed.next_run_at >= endpoint.next_run_at


@given(stored(lease=NOTHING, open_slot=NOTHING, next_run_at=future(), quota_opens_at=NOTHING))
def test_relaxing_follows_a_later_plan_and_no_other(endpoint: Endpoint) -> None:
    stored_moment, plan = endpoint.next_run_at, plan_next_run(NOW, endpoint, CRON)
    assert stored_moment is not None
    later = plan.next_run_at is not None and plan.next_run_at > stored_moment
    expected = evolve(endpoint, next_run_at=plan.next_run_at, next_source=plan.source) if later else endpoint
    assert relax(endpoint, NOW, CRON) == expected


@pytest.mark.parametrize(
    "standing",
    [
        {"next_run_at": NOW},
        {"next_run_at": at(-1)},
        {"next_run_at": None},
        {"next_run_at": at(MINUTE)},
        {"lease": a_lease(NOW)},
        {"lease": a_lease(at(-HOUR))},
        {"open_slot": OpenSlot(at(-MINUTE), 1)},
    ],
)
def test_what_is_due_claimed_or_waiting_for_a_retry_is_not_relaxed(standing: dict[str, object]) -> None:
    planned_late = an_endpoint(last_run_at=NOW, baseline=Every(MINUTE), next_run_at=at(SECOND))
    assert relax(planned_late, NOW, CRON).next_run_at == at(MINUTE)
    endpoint = evolve(planned_late, **standing)
    assert relax(endpoint, NOW, CRON) == endpoint


def test_what_is_finished_is_not_relaxed() -> None:
    endpoint = an_endpoint(baseline=Once(at(-HOUR)), last_run_at=at(-HOUR), next_run_at=at(MINUTE))
    assert relax(endpoint, NOW, CRON) == endpoint


@pytest.mark.parametrize(
    ("guard", "when", "expected"),
    [
        (Guard(MINUTE), at(MINUTE - 1), (at(MINUTE), Source.CLAMPED_MIN)),
        (Guard(MINUTE), at(MINUTE), (at(MINUTE), SOURCE)),
        (Guard(None, MINUTE), at(MINUTE + 1), (at(MINUTE), Source.CLAMPED_MAX)),
        (Guard(None, MINUTE), at(MINUTE), (at(MINUTE), SOURCE)),
        (Guard(), at(-HOUR), (NOW, SOURCE)),
    ],
)
def test_the_guard_s_borders_belong_to_it(
    guard: Guard, when: datetime, expected: tuple[datetime, Source]
) -> None:
    moved, _ = nudge(an_endpoint(guard=guard, last_run_at=at(-HOUR)), NOW, when, SOURCE)
    assert (moved.next_run_at, moved.next_source) == expected


def test_a_relaxed_endpoint_waits_for_its_hint() -> None:
    hint = IntervalHint(10 * MINUTE, at(HOUR))
    endpoint = an_endpoint(last_run_at=NOW, next_run_at=at(MINUTE), interval_hint=hint)
    relaxed = relax(endpoint, NOW, CRON)
    assert (relaxed.next_run_at, relaxed.next_source) == (NOW + milliseconds(10 * MINUTE), Source.AI_INTERVAL)
