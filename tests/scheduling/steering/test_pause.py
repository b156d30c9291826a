"""Pause and resume, clearing hints, running now: changes that outrank the plan."""

from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scheduling.endpoint_strategies import NOTHING, future, past, stored
from tests.scheduling.scheduling_fixtures import (
    CRON,
    HOUR,
    MINUTE,
    NOW,
    ORIGIN,
    SECOND,
    a_lease,
    an_endpoint,
    at,
)

from cadenza.domain.errors import Conflict, InvalidRequest
from cadenza.domain.scheduling.baseline import Cron, Every, Once
from cadenza.domain.scheduling.endpoint import Endpoint, OpenSlot, evolve
from cadenza.domain.scheduling.governor import plan_next_run
from cadenza.domain.scheduling.hint import HintKind, IntervalHint, OneShotHint
from cadenza.domain.scheduling.nudge import earliest_run
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.policy import Guard
from cadenza.domain.scheduling.run import SkippedSlot
from cadenza.domain.scheduling.steer import (
    ChangedEndpoint,
    HintRecord,
    clear_hints,
    pause,
    resume,
    run_now,
)


def paused(endpoint: Endpoint, until: datetime) -> ChangedEndpoint:
    return pause(endpoint, until, "maintenance", now=NOW, cron=CRON, origin=ORIGIN)


def resumed(endpoint: Endpoint) -> ChangedEndpoint:
    return resume(endpoint, "done", now=NOW, cron=CRON, origin=ORIGIN)


def cleared(endpoint: Endpoint) -> ChangedEndpoint:
    return clear_hints(endpoint, now=NOW, cron=CRON, origin=ORIGIN)


@given(stored(), future())
def test_a_pause_moves_the_next_run_to_its_end_and_nothing_else(endpoint: Endpoint, until: datetime) -> None:
    amended = paused(endpoint, until)
    expected = evolve(endpoint, paused_until=until, pause_reason="maintenance", pause_origin=ORIGIN)
    if endpoint.next_run_at is not None:
        expected = evolve(expected, next_run_at=until, next_source=Source.PAUSED)
    if amended.skipped:
        expected = evolve(expected, one_shot_hint=amended.endpoint.one_shot_hint)
    assert amended.endpoint == expected
    assert amended.record == HintRecord(HintKind.PAUSE, NOW, ORIGIN, "maintenance", until)


@given(stored(), past())
def test_a_pause_must_end_in_the_future(endpoint: Endpoint, until: datetime) -> None:
    with pytest.raises(InvalidRequest, match=r"A pause must end in the future, not at .*Z\.") as refusal:
        paused(endpoint, until)
    assert refusal.value.field == "untilIso"


def test_a_pause_skips_the_slot_that_was_due_and_unclaimed() -> None:
    endpoint = an_endpoint(next_run_at=NOW, next_source=Source.MANUAL)
    reason = "paused before it could start"
    assert paused(endpoint, at(HOUR)).skipped == (SkippedSlot(NOW, Source.MANUAL, reason, NOW),)


@pytest.mark.parametrize(
    "standing",
    [
        {"next_run_at": at(1)},
        {"next_run_at": None},
        {"next_run_at": NOW, "lease": a_lease(NOW)},
        {"next_run_at": NOW, "open_slot": OpenSlot(at(-MINUTE), 1)},
        {"next_run_at": NOW, "enabled": False},
        {"next_run_at": NOW, "paused_until": at(1)},
    ],
)
def test_a_pause_skips_nothing_that_was_not_due_or_is_somebody_s_already(standing: dict[str, Any]) -> None:
    assert paused(an_endpoint(**standing), at(HOUR)).skipped == ()


def test_what_has_no_next_run_has_none_when_paused() -> None:
    finished = an_endpoint(baseline=Once(at(-1)), last_run_at=NOW, next_source=Source.FINISHED)
    amended = paused(finished, at(HOUR)).endpoint
    assert (amended.next_run_at, amended.next_source) == (None, Source.FINISHED)


@given(stored(paused_until=future(), open_slot=NOTHING, quota_opens_at=NOTHING))
def test_pause_then_resume_plans_anew_even_when_later(endpoint: Endpoint) -> None:
    amended = resumed(endpoint)
    opened = evolve(endpoint, paused_until=None, pause_reason=None)
    plan = plan_next_run(NOW, opened, CRON)
    assert amended.endpoint == evolve(opened, next_run_at=plan.next_run_at, next_source=Source.RESUME)
    assert amended.record == HintRecord(HintKind.RESUME, NOW, ORIGIN, "done")


def test_resuming_can_be_later_than_the_end_of_the_pause() -> None:
    endpoint = an_endpoint(
        baseline=Every(HOUR), last_run_at=NOW, paused_until=at(MINUTE), next_run_at=at(MINUTE)
    )
    assert resumed(endpoint).endpoint.next_run_at == at(HOUR)


def test_clearing_hints_brings_the_baseline_back_at_once() -> None:
    hint = IntervalHint(10 * MINUTE, at(HOUR))
    relaxed = an_endpoint(last_run_at=NOW, next_run_at=at(10 * MINUTE), interval_hint=hint)
    amended = cleared(relaxed).endpoint
    assert (amended.next_run_at, amended.next_source) == (at(MINUTE), Source.BASELINE_INTERVAL)


@given(stored(paused_until=NOTHING | past()))
def test_resuming_what_is_not_paused_moves_nothing(endpoint: Endpoint) -> None:
    amended = resumed(evolve(endpoint, pause_reason="an old one"))
    assert amended.endpoint == evolve(endpoint, paused_until=None, pause_reason=None)
    assert amended.record == HintRecord(HintKind.RESUME, NOW, ORIGIN, "done")


@given(stored(paused_until=future(), open_slot=NOTHING, quota_opens_at=future()))
def test_resuming_waits_for_the_quota(endpoint: Endpoint) -> None:
    moment, opens = resumed(endpoint).endpoint.next_run_at, endpoint.quota_opens_at
    plan = plan_next_run(NOW, evolve(endpoint, paused_until=None), CRON)
    assert opens is not None
    assert moment == (plan.next_run_at and max(plan.next_run_at, opens))


def test_resuming_makes_a_waiting_retry_due_as_soon_as_the_guard_allows() -> None:
    waiting = an_endpoint(
        baseline=Every(HOUR),
        guard=Guard(MINUTE),
        last_run_at=at(-SECOND),
        paused_until=at(HOUR),
        next_run_at=at(HOUR),
        open_slot=OpenSlot(at(-SECOND), 1),
    )
    amended = resumed(waiting).endpoint
    assert (amended.next_run_at, amended.next_source) == (at(MINUTE - SECOND), Source.RESUME)
    assert amended.open_slot == waiting.open_slot
    assert resumed(waiting).record == HintRecord(HintKind.RESUME, NOW, ORIGIN, "done")


@given(stored(lease=NOTHING, open_slot=NOTHING, next_run_at=NOTHING | future()))
def test_clearing_hints_removes_both_and_plans_anew(endpoint: Endpoint) -> None:
    amended = cleared(endpoint)
    bare = evolve(endpoint, interval_hint=None, one_shot_hint=None)
    plan = plan_next_run(NOW, bare, CRON)
    moment = plan.next_run_at
    if moment is not None and endpoint.quota_opens_at is not None:
        moment = max(moment, endpoint.quota_opens_at)
    assert amended.endpoint == evolve(bare, next_run_at=moment, next_source=plan.source)
    assert amended.record == HintRecord(HintKind.CLEAR, NOW, ORIGIN)


@pytest.mark.parametrize(
    "standing",
    [
        {"next_run_at": NOW},
        {"next_run_at": at(1), "lease": a_lease(NOW)},
        {"next_run_at": at(1), "open_slot": OpenSlot(at(-1), 1)},
    ],
)
def test_clearing_hints_keeps_the_moment_of_what_is_due_claimed_or_retried(standing: dict[str, Any]) -> None:
    hints = {"interval_hint": IntervalHint(HOUR, at(HOUR)), "one_shot_hint": OneShotHint(at(1), at(HOUR))}
    endpoint = an_endpoint(last_run_at=at(-1), **hints, **standing)
    assert cleared(endpoint).endpoint == evolve(endpoint, interval_hint=None, one_shot_hint=None)


def test_clearing_hints_leaves_the_slot_of_an_expired_one_shot_as_skipped() -> None:
    endpoint = an_endpoint(one_shot_hint=OneShotHint(at(-HOUR), at(-1)), next_run_at=at(MINUTE))
    assert [passed.slot for passed in cleared(endpoint).skipped] == [at(-HOUR)]
    fresh = an_endpoint(one_shot_hint=OneShotHint(at(HOUR), at(2 * HOUR)), next_run_at=at(MINUTE))
    assert cleared(fresh).skipped == ()


@given(stored(paused_until=NOTHING | past(), quota_opens_at=NOTHING | past(), lease=NOTHING))
def test_run_now_is_due_at_once_or_when_the_guard_allows(endpoint: Endpoint) -> None:
    amended = run_now(endpoint, now=NOW)
    first = earliest_run(endpoint, NOW)
    if endpoint.next_run_at is not None and endpoint.next_run_at <= first:
        assert amended.endpoint == endpoint
    else:
        assert amended.endpoint == evolve(endpoint, next_run_at=first, next_source=Source.MANUAL)
    assert amended.record is None


@pytest.mark.parametrize(
    ("standing", "reason"),
    [
        ({"lease": a_lease(NOW)}, "running"),
        ({"lease": a_lease(at(-HOUR))}, "running"),
        ({"enabled": False}, "disabled"),
        ({"archived": True}, "archived"),
        ({"paused_until": at(1)}, "paused until"),
        ({"quota_opens_at": at(1)}, "quota used up until"),
        ({"job_active": False}, "its job is paused"),
    ],
)
def test_run_now_is_refused_with_the_gate_that_is_closed(standing: dict[str, Any], reason: str) -> None:
    with pytest.raises(Conflict, match=rf"Traffic cannot run now \(.*{reason}.*\)\."):
        run_now(an_endpoint(**standing), now=NOW)


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ({"guard": Guard(MINUTE)}, NOW),
        ({"guard": Guard(MINUTE), "last_run_at": at(-SECOND)}, at(MINUTE - SECOND)),
        ({"guard": Guard(MINUTE), "last_run_at": at(-HOUR)}, NOW),
        ({"guard": Guard(None, MINUTE), "last_run_at": at(-SECOND)}, NOW),
        ({"guard": Guard(MINUTE), "last_run_at": at(-SECOND), "baseline": Once(at(1))}, NOW),
        (
            {"guard": Guard(MINUTE), "last_run_at": at(-SECOND), "baseline": Cron("*/5 * * * *")},
            at(MINUTE - SECOND),
        ),
    ],
)
def test_the_soonest_moment_is_the_guard_s_least_interval_after_the_last_run(
    parts: dict[str, Any], expected: datetime
) -> None:
    assert earliest_run(an_endpoint(**parts), NOW) == expected


@given(stored(), st.sampled_from((paused, resumed, cleared)))
def test_steering_never_touches_what_happened(endpoint: Endpoint, change: Any) -> None:
    amended = (change(endpoint, at(HOUR)) if change is paused else change(endpoint)).endpoint
    for field in ("last_run_at", "skipped_at", "failure_count", "lease", "open_slot", "abandoned_count"):
        assert getattr(amended, field) == getattr(endpoint, field)
