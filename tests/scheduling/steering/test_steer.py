"""The tools that write hints: one atomic change each, hint and nudge together."""

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scheduling.endpoint_strategies import (
    NOTHING,
    future,
    interval_hints,
    one_shots,
    past,
    repeating,
    stored,
)
from tests.scheduling.scheduling_fixtures import CRON, HOUR, MINUTE, NOW, ORIGIN, a_lease, an_endpoint, at

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.scheduling.baseline import Once
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.governor import plan_next_run
from cadenza.domain.scheduling.hint import HintKind, HintMode, IntervalHint, OneShotHint
from cadenza.domain.scheduling.nudge import Nudge, nudge, relax
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import SkippedSlot
from cadenza.domain.scheduling.steer import (
    ChangedEndpoint,
    HintRecord,
    take_interval_hint,
    take_one_shot,
)
from cadenza.domain.validation import milliseconds

FRESH_INTERVAL = interval_hints(future()).map(lambda hint: replace(hint, origin=ORIGIN))
FRESH_ONE_SHOT = one_shots(future() | st.just(NOW), st.just(at(24 * HOUR))).map(
    lambda hint: replace(hint, origin=ORIGIN)
)


def with_interval(endpoint: Endpoint, hint: IntervalHint) -> ChangedEndpoint:
    return take_interval_hint(endpoint, hint, now=NOW, cron=CRON, origin=ORIGIN)


def with_one_shot(endpoint: Endpoint, hint: OneShotHint) -> ChangedEndpoint:
    return take_one_shot(endpoint, hint, now=NOW, cron=CRON, origin=ORIGIN)


def without(endpoint: Endpoint, *fields: str) -> Endpoint:
    """The endpoint with some fields as nobody set them, so that the others can be compared."""
    plain = an_endpoint()
    return evolve(endpoint, **{field: getattr(plain, field) for field in fields})


@given(stored(baseline=repeating()), FRESH_INTERVAL)
def test_an_interval_hint_is_written_and_changes_the_next_run_alone(
    endpoint: Endpoint, hint: IntervalHint
) -> None:
    amended = with_interval(endpoint, hint)
    touched = ("interval_hint", "next_run_at", "next_source")
    assert amended.endpoint.interval_hint == hint
    assert without(amended.endpoint, *touched) == without(endpoint, *touched)
    assert amended.skipped == ()


@given(stored(baseline=repeating(), hint_mode=st.just(HintMode.TIGHTEN)), FRESH_INTERVAL)
def test_in_mode_tighten_an_interval_hint_nudges_to_one_interval_from_now(
    endpoint: Endpoint, hint: IntervalHint
) -> None:
    hinted = evolve(endpoint, interval_hint=hint)
    expected, told = nudge(hinted, NOW, at(hint.interval_ms), Source.AI_INTERVAL)
    amended = with_interval(endpoint, hint)
    assert (amended.endpoint, amended.nudge) == (expected, told)


@given(stored(baseline=repeating(), hint_mode=st.just(HintMode.TIGHTEN)), FRESH_INTERVAL, FRESH_ONE_SHOT)
def test_in_mode_tighten_writing_a_hint_never_delays(
    endpoint: Endpoint, interval: IntervalHint, one_shot: OneShotHint
) -> None:
    before = endpoint.next_run_at
    for amended in (with_interval(endpoint, interval), with_one_shot(endpoint, one_shot)):
        after = amended.endpoint.next_run_at
        assert before is None or (after is not None and after <= before)


@given(stored(baseline=repeating(), hint_mode=st.just(HintMode.OVERRIDE)), FRESH_INTERVAL)
def test_in_override_a_later_plan_relaxes_the_stored_run(endpoint: Endpoint, hint: IntervalHint) -> None:
    nudged, _ = nudge(evolve(endpoint, interval_hint=hint), NOW, at(hint.interval_ms), Source.AI_INTERVAL)
    assert with_interval(endpoint, hint).endpoint == relax(nudged, NOW, CRON)


@given(
    stored(
        baseline=repeating(),
        hint_mode=st.just(HintMode.OVERRIDE),
        lease=NOTHING,
        open_slot=NOTHING,
        next_run_at=future(),
        quota_opens_at=NOTHING,
    ),
    FRESH_INTERVAL,
)
def test_in_override_the_stored_run_is_never_left_earlier_than_the_plan(
    endpoint: Endpoint, hint: IntervalHint
) -> None:
    amended = with_interval(endpoint, hint).endpoint
    plan = plan_next_run(NOW, amended, CRON)
    assert amended.next_run_at is not None
    assert plan.next_run_at is not None
    assert amended.next_run_at <= NOW or amended.next_run_at >= plan.next_run_at


@pytest.mark.parametrize("standing", [{"next_run_at": NOW}, {"lease": a_lease(NOW)}])
def test_relaxing_never_moves_what_is_due_or_leased(standing: dict[str, Any]) -> None:
    endpoint = an_endpoint(last_run_at=at(-MINUTE), **{"next_run_at": at(1), **standing})
    amended = with_interval(endpoint, IntervalHint(HOUR, at(24 * HOUR))).endpoint
    assert amended.next_run_at == endpoint.next_run_at


def test_an_interval_hint_relaxes_what_is_still_ahead() -> None:
    endpoint = an_endpoint(last_run_at=at(-1), next_run_at=at(MINUTE - 1))
    amended = with_interval(endpoint, IntervalHint(10 * MINUTE, at(HOUR))).endpoint
    assert (amended.next_run_at, amended.next_source) == (at(10 * MINUTE - 1), Source.AI_INTERVAL)


@given(stored(baseline=st.builds(Once, past() | future())), FRESH_INTERVAL)
def test_what_runs_once_takes_no_interval_hint_and_stays_as_it_is(
    endpoint: Endpoint, hint: IntervalHint
) -> None:
    before = replace(endpoint)
    with pytest.raises(
        InvalidRequest, match=r"^An endpoint that runs once cannot have an interval hint\.$"
    ) as refusal:
        with_interval(endpoint, hint)
    assert refusal.value.field == "intervalMs"
    assert endpoint == before


@given(stored(interval_hint=NOTHING | FRESH_INTERVAL, one_shot_hint=NOTHING), FRESH_ONE_SHOT)
def test_a_one_shot_is_written_and_nudged_to(endpoint: Endpoint, hint: OneShotHint) -> None:
    expected, told = nudge(evolve(endpoint, one_shot_hint=hint), NOW, hint.at, Source.AI_ONESHOT)
    amended = with_one_shot(endpoint, hint)
    assert (amended.endpoint, amended.skipped, amended.nudge) == (expected, (), told)


@given(stored(interval_hint=FRESH_INTERVAL, baseline=repeating()), FRESH_ONE_SHOT)
def test_writing_a_one_shot_leaves_the_interval_hint_alone(endpoint: Endpoint, hint: OneShotHint) -> None:
    amended = with_one_shot(endpoint, hint).endpoint
    assert (amended.interval_hint, amended.one_shot_hint) == (endpoint.interval_hint, hint)


@given(stored(one_shot_hint=FRESH_ONE_SHOT, baseline=repeating()), FRESH_INTERVAL)
def test_writing_an_interval_hint_leaves_the_one_shot_alone(endpoint: Endpoint, hint: IntervalHint) -> None:
    amended = with_interval(endpoint, hint).endpoint
    assert (amended.interval_hint, amended.one_shot_hint) == (hint, endpoint.one_shot_hint)


def test_a_tool_call_writes_hint_nudge_and_record_together() -> None:
    hint = IntervalHint(MINUTE, at(HOUR), "a surge", ORIGIN)
    amended = with_interval(an_endpoint(next_run_at=at(HOUR), last_run_at=NOW), hint)
    assert amended.endpoint.interval_hint == hint
    assert (amended.endpoint.next_run_at, amended.endpoint.next_source) == (at(MINUTE), Source.AI_INTERVAL)
    assert amended.nudge is not None
    assert amended.nudge == Nudge(at(HOUR), at(MINUTE), applied=True)
    assert amended.record == HintRecord(
        HintKind.INTERVAL, NOW, ORIGIN, reason="a surge", expires_at=at(HOUR), interval_ms=MINUTE
    )


def test_a_one_shot_call_writes_hint_nudge_and_record_together() -> None:
    hint = OneShotHint(at(MINUTE), at(HOUR), "a launch", ORIGIN)
    amended = with_one_shot(an_endpoint(next_run_at=at(HOUR), last_run_at=NOW), hint)
    assert amended.endpoint.one_shot_hint == hint
    assert (amended.endpoint.next_run_at, amended.endpoint.next_source) == (at(MINUTE), Source.AI_ONESHOT)
    assert amended.nudge == Nudge(at(HOUR), at(MINUTE), applied=True)
    assert amended.record == HintRecord(
        HintKind.ONE_SHOT, NOW, ORIGIN, reason="a launch", expires_at=at(HOUR), at=at(MINUTE)
    )


@pytest.mark.parametrize("ago_ms", [0, 1])
def test_a_one_shot_that_replaces_an_expired_one_leaves_its_slot_as_skipped(ago_ms: int) -> None:
    expired = OneShotHint(at(-HOUR), at(-ago_ms))
    endpoint = an_endpoint(one_shot_hint=expired, last_run_at=at(-HOUR - 1), next_run_at=at(HOUR))
    amended = with_one_shot(endpoint, OneShotHint(at(MINUTE), at(HOUR)))
    reason = "the one-shot hint expired unserved"
    assert amended.skipped == (SkippedSlot(at(-HOUR), Source.AI_ONESHOT, reason, NOW),)


def moment_of(amended: ChangedEndpoint) -> datetime:
    assert amended.endpoint.next_run_at is not None
    return amended.endpoint.next_run_at


def test_a_replaced_one_shot_still_has_moved_the_next_run_which_nothing_takes_back() -> None:
    first = with_one_shot(an_endpoint(next_run_at=at(HOUR)), OneShotHint(at(MINUTE), at(HOUR)))
    second = with_one_shot(first.endpoint, OneShotHint(at(2 * MINUTE), at(HOUR)))
    assert moment_of(second) == moment_of(first) == NOW + milliseconds(MINUTE)
    assert second.endpoint.one_shot_hint == OneShotHint(at(2 * MINUTE), at(HOUR), origin=ORIGIN)
