"""The three tools as they are called: names, defaults and refusals."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scheduling.endpoint_strategies import stored
from tests.scheduling.scheduling_fixtures import CRON, HOUR, MINUTE, NOW, ORIGIN, an_endpoint, at

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.hint import IntervalHint, OneShotHint
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.engine.steering_commands import (
    PauseUntil,
    ProposeInterval,
    ProposeNextTime,
    SteeringCommand,
    SteeringContext,
)

BY = SteeringContext(now=NOW, cron=CRON, origin=ORIGIN)


def called(
    tool: type[SteeringCommand], endpoint: Endpoint | None = None, **arguments: Any
) -> ChangedEndpoint:
    return tool.parse(arguments).apply(endpoint or an_endpoint(next_run_at=at(HOUR)), BY)


def test_an_interval_lasts_an_hour_unless_told_otherwise() -> None:
    amended = called(ProposeInterval, intervalMs=MINUTE, reason="a surge")
    assert amended.endpoint.interval_hint == IntervalHint(MINUTE, at(HOUR), "a surge", ORIGIN)
    shorter = called(ProposeInterval, intervalMs=MINUTE, ttlMinutes=5)
    assert shorter.endpoint.interval_hint == IntervalHint(MINUTE, at(5 * MINUTE), origin=ORIGIN)


@given(st.integers(0, 10 * HOUR))
def test_a_default_ttl_is_stretched_to_half_an_hour_after_the_moment(in_ms: int) -> None:
    expected = OneShotHint(at(in_ms), at(in_ms + 30 * MINUTE), origin=ORIGIN)
    assert called(ProposeNextTime, nextRunInMs=in_ms).endpoint.one_shot_hint == expected
    iso = at(in_ms).isoformat()
    assert called(ProposeNextTime, nextRunAtIso=iso).endpoint.one_shot_hint == expected


@given(st.integers(0, 2 * HOUR), st.integers(1, 120))
def test_an_explicit_ttl_must_outlast_the_moment(in_ms: int, ttl: int) -> None:
    if ttl * MINUTE > in_ms:
        hint = called(ProposeNextTime, nextRunInMs=in_ms, ttlMinutes=ttl).endpoint.one_shot_hint
        assert hint == OneShotHint(at(in_ms), at(ttl * MINUTE), origin=ORIGIN)
        return
    with pytest.raises(InvalidRequest, match="expire before its moment") as refusal:
        called(ProposeNextTime, nextRunInMs=in_ms, ttlMinutes=ttl)
    assert refusal.value.field == "ttlMinutes"


def test_a_pause_is_set_and_lifted_by_the_same_tool() -> None:
    paused = called(PauseUntil, untilIso="2025-03-30T03:00:00+02:00", reason="deploy").endpoint
    assert (paused.paused_until, paused.pause_reason) == (at(5 * MINUTE), "deploy")
    assert paused.paused_until is not None
    assert paused.paused_until.tzinfo is UTC
    assert called(PauseUntil, paused, untilIso=None).endpoint.paused_until is None


@pytest.mark.parametrize(
    ("tool", "arguments", "field"),
    [
        (ProposeInterval, {}, "intervalMs"),
        (ProposeInterval, {"intervalMs": 0}, "intervalMs"),
        (ProposeInterval, {"intervalMs": True}, "intervalMs"),
        (ProposeInterval, {"intervalMs": "60000"}, "intervalMs"),
        (ProposeInterval, {"intervalMs": MINUTE, "ttlMinutes": 0}, "ttlMinutes"),
        (ProposeInterval, {"intervalMs": MINUTE, "ttlMinutes": float("nan")}, "ttlMinutes"),
        (ProposeInterval, {"intervalMs": MINUTE, "ttlMinutes": True}, "ttlMinutes"),
        (ProposeInterval, {"intervalMs": MINUTE, "reason": "x" * 10_000_000}, "reason"),
        (ProposeInterval, {"intervalMs": MINUTE, "colour": "red"}, "colour"),
        (ProposeNextTime, {}, "nextRunInMs"),
        (ProposeNextTime, {"nextRunInMs": 0, "nextRunAtIso": "2030-01-01T00:00:00Z"}, "nextRunInMs"),
        (ProposeNextTime, {"nextRunInMs": -1}, "nextRunInMs"),
        (ProposeNextTime, {"nextRunAtIso": "2030-01-01T00:00:00"}, "nextRunAtIso"),
        (ProposeNextTime, {"nextRunAtIso": "tomorrow"}, "nextRunAtIso"),
        (PauseUntil, {}, "untilIso"),
        (PauseUntil, {"untilIso": "2025-03-30T00:55:00Z"}, "untilIso"),
        (PauseUntil, {"untilIso": "2030-01-01T00:00:00"}, "untilIso"),
        (PauseUntil, {"untilIso": 5}, "untilIso"),
        (PauseUntil, {"untilIso": None, "reason": "x" * 10_000_000}, "reason"),
    ],
    ids=str,
)
def test_what_cannot_be_done_is_refused_with_a_sentence_and_its_field(
    tool: type[SteeringCommand], arguments: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        called(tool, **arguments)
    assert refusal.value.field == field
    assert len(refusal.value.message) < 300


def test_a_moment_that_is_now_has_not_passed() -> None:
    assert called(ProposeNextTime, nextRunAtIso=NOW.isoformat()).endpoint.next_run_at == NOW


@given(stored(), st.sampled_from((ProposeInterval, ProposeNextTime, PauseUntil)))
def test_a_tool_call_is_all_or_nothing(endpoint: Endpoint, tool: type[SteeringCommand]) -> None:
    before = vars(endpoint).copy()
    arguments: dict[Any, dict[str, Any]] = {
        ProposeInterval: {"intervalMs": MINUTE, "ttlMinutes": 10**9},
        ProposeNextTime: {"nextRunInMs": HOUR, "ttlMinutes": 1},
        PauseUntil: {"untilIso": (NOW - timedelta(seconds=1)).isoformat()},
    }
    with pytest.raises(InvalidRequest):
        called(tool, endpoint, **arguments[tool])
    assert vars(endpoint) == before


def test_moments_beyond_the_calendar_are_refused() -> None:
    with pytest.raises(InvalidRequest):
        called(PauseUntil, untilIso=datetime.max.replace(tzinfo=UTC).isoformat())
    with pytest.raises(InvalidRequest):
        called(PauseUntil, untilIso="9999-12-31T23:59:59-12:00")


@pytest.mark.parametrize("moment", ["2025-03-30T00:54:59Z", "0001-01-01T00:00:00Z"])
def test_a_moment_that_has_passed_means_now_and_the_answer_says_so(moment: str) -> None:
    changed = called(ProposeNextTime, nextRunAtIso=moment)
    assert (changed.endpoint.next_run_at, changed.note) == (NOW, f"{moment} has passed, so it counts as now.")
    assert changed.endpoint.one_shot_hint == OneShotHint(NOW, at(30 * MINUTE), origin=ORIGIN)


@pytest.mark.parametrize("word", ["now", "NOW ", " Now"])
def test_the_word_now_is_a_moment_of_the_next_run(word: str) -> None:
    assert called(ProposeNextTime, nextRunAtIso=word) == called(ProposeNextTime, nextRunInMs=0)
