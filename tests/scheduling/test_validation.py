"""Bad input is refused with a sentence and the field at fault."""

from collections.abc import Callable
from datetime import date
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.scheduling.scheduling_fixtures import HOUR, MINUTE, NOW, an_endpoint, at

from cadenza.domain.errors import CadenzaError, InvalidRequest
from cadenza.domain.scheduling.baseline import Cron, Every, Once
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.hint import HintMode, IntervalHint, OneShotHint
from cadenza.domain.scheduling.policy import Backoff, Guard, Misfire, Policy
from cadenza.domain.validation import (
    LONGEST_SPAN_MS,
    LONGEST_TEXT,
    check_count,
    check_duration_ms,
    check_moment,
    check_text,
    iso,
)

NAIVE = NOW.replace(tzinfo=None)
TEN_MEGABYTES = "x" * 10_000_000
NO_SPANS = (True, False, 1.0, 1.5, float("nan"), "60000", None, [1], b"1")
OUT_OF_RANGE = (0, -1, LONGEST_SPAN_MS + 1, 10**30)
NO_MOMENTS = ("2025-03-30T00:55:00Z", 1743296100, date(2025, 3, 30))


def refused(make: Callable[..., object], field: str, value: Any) -> str:
    with pytest.raises(InvalidRequest) as refusal:
        make(**{field: value})
    assert refusal.value.field == field
    assert refusal.value.message == str(refusal.value)
    assert refusal.value.message.endswith(".")
    assert len(refusal.value.message) < 200
    return refusal.value.message


SPAN_FIELDS = [
    (Every, "interval_ms"),
    (partial(IntervalHint, expires_at=NOW), "interval_ms"),
    (Guard, "min_interval_ms"),
    (Guard, "max_interval_ms"),
    (Policy, "timeout_ms"),
    (Policy, "retry_delay_ms"),
    (Policy, "misfire_grace_ms"),
    (Policy, "max_attempts"),
]


@pytest.mark.parametrize(("make", "field"), SPAN_FIELDS)
@pytest.mark.parametrize("value", NO_SPANS, ids=repr)
def test_a_span_is_a_whole_number(make: Callable[..., object], field: str, value: Any) -> None:
    if value is None and make is Guard:
        make(**{field: value})
        return
    assert refused(make, field, value).startswith(f"{field} must be a whole number ")


@pytest.mark.parametrize(("make", "field"), SPAN_FIELDS)
@pytest.mark.parametrize("value", OUT_OF_RANGE)
def test_a_span_is_positive_and_has_an_end(make: Callable[..., object], field: str, value: int) -> None:
    if value == 0 and field in {"retry_delay_ms", "misfire_grace_ms"}:
        make(**{field: value})
        return
    assert f"{field} must be a whole number " in refused(make, field, value)


def test_a_span_may_be_as_short_and_as_long_as_it_says() -> None:
    assert (
        check_duration_ms("x", 1),
        check_duration_ms("x", LONGEST_SPAN_MS),
        check_duration_ms("x", 0, least=0),
    ) == (1, LONGEST_SPAN_MS, 0)
    assert (check_count("x", 1, least=1, most=100), check_count("x", 100, least=1, most=100)) == (1, 100)
    with pytest.raises(InvalidRequest, match="x must be a whole number from 1 to 100"):
        check_count("x", 101, least=1, most=100)


@given(st.integers(1, HOUR), st.integers(1, HOUR))
def test_the_least_interval_cannot_exceed_the_most(low: int, high: int) -> None:
    if low <= high:
        assert Guard(low, high) == Guard(min_interval_ms=low, max_interval_ms=high)
        return
    with pytest.raises(InvalidRequest, match="min_interval_ms must not exceed max_interval_ms") as refusal:
        Guard(low, high)
    assert refusal.value.field == "min_interval_ms"


MOMENT_FIELDS = [
    (Once, "at"),
    (partial(IntervalHint, MINUTE), "expires_at"),
    (partial(OneShotHint, NOW), "expires_at"),
    (partial(OneShotHint, expires_at=NOW), "at"),
    *[
        (an_endpoint, field)
        for field in ("paused_until", "last_run_at", "next_run_at", "skipped_at", "quota_opens_at")
    ],
]


@pytest.mark.parametrize(("make", "field"), MOMENT_FIELDS)
def test_a_moment_carries_a_time_zone(make: Callable[..., object], field: str) -> None:
    assert refused(make, field, NAIVE) == f"{field} must carry a time zone."


@pytest.mark.parametrize(("make", "field"), MOMENT_FIELDS)
@pytest.mark.parametrize("value", NO_MOMENTS, ids=repr)
def test_a_moment_is_a_datetime(make: Callable[..., object], field: str, value: Any) -> None:
    assert refused(make, field, value) == f"{field} must be a moment."


@pytest.mark.parametrize(
    "make", [partial(IntervalHint, MINUTE, at(HOUR)), partial(OneShotHint, NOW, at(HOUR))]
)
def test_a_reason_is_a_text_that_people_read(make: Callable[..., object]) -> None:
    told = refused(make, "reason", TEN_MEGABYTES)
    assert told == f"reason has 10,000,000 characters; the maximum is {LONGEST_TEXT:,}."
    assert refused(make, "reason", 7) == "reason must be a text."
    make(reason="x" * LONGEST_TEXT)
    make(reason=None)


@pytest.mark.parametrize(("field", "value"), [("expression", ""), ("expression", " \t"), ("expression", 5)])
def test_a_cron_line_is_a_text_that_says_something(field: str, value: Any) -> None:
    refused(Cron, field, value)


def test_a_time_zone_is_named_by_a_text() -> None:
    assert refused(partial(Cron, "* * * * *"), "timezone", None) == "timezone must be a text."
    assert "characters" in refused(partial(Cron, "* * * * *"), "timezone", TEN_MEGABYTES)
    assert "characters" in refused(Cron, "expression", TEN_MEGABYTES)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", 5),
        ("name", None),
        ("baseline", MINUTE),
        ("baseline", "*/5 * * * *"),
        ("guard", (1, 2)),
        ("policy", {"max_attempts": 3}),
        ("interval_hint", MINUTE),
        ("one_shot_hint", NOW),
        ("failure_count", "3"),
        ("failure_count", -1),
        ("hint_mode", "sideways"),
        ("hint_mode", None),
    ],
)
def test_the_parts_of_an_endpoint_are_of_their_kind(field: str, value: Any) -> None:
    refused(an_endpoint, field, value)


def test_what_runs_once_cannot_be_made_with_an_interval_hint() -> None:
    once = partial(an_endpoint, baseline=Once(NOW))
    assert "runs once" in refused(once, "interval_hint", IntervalHint(MINUTE, at(HOUR)))


@pytest.mark.parametrize(("field", "value"), [("misfire", "later"), ("backoff", None), ("misfire", ["skip"])])
def test_a_policy_knows_its_choices(field: str, value: Any) -> None:
    assert f"{field} must be one of " in refused(Policy, field, value)


def test_choices_are_also_taken_by_their_names() -> None:
    named: Any = {"misfire": "skip", "backoff": "exponential"}
    assert Policy(**named) == Policy(misfire=Misfire.SKIP, backoff=Backoff.EXPONENTIAL)
    assert type(Policy(**named).misfire) is Misfire
    assert an_endpoint(hint_mode="tighten").hint_mode is HintMode.TIGHTEN


def test_an_endpoint_needs_an_id_and_a_name_and_nothing_else() -> None:
    endpoint = Endpoint(id="ep-1", name="Traffic")
    assert endpoint.baseline == Every(60_000)
    assert (endpoint.hint_mode, endpoint.failure_count, endpoint.guard) == (HintMode.OVERRIDE, 0, Guard())
    assert endpoint.policy == Policy(max_attempts=1, misfire=Misfire.RUN, misfire_grace_ms=60_000)


def test_an_endpoint_has_no_fields_but_its_own() -> None:
    with pytest.raises(AssertionError, match="no such fields"):
        evolve(an_endpoint(), colour="red")


def test_every_refusal_is_an_error_that_a_caller_can_act_on() -> None:
    with pytest.raises(CadenzaError):
        check_text("x", TEN_MEGABYTES)
    assert check_text("x", "abc", longest=3) == "abc"
    assert iso(check_moment("x", NOW)) == "2025-03-30T00:55:00Z"
