"""Limits, months, labels and scopes."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from cadenza.domain.access.key import ApiKey, Caller, Scope
from cadenza.domain.access.tenant import Limits, month_of, next_month
from cadenza.domain.errors import InvalidRequest, NotAllowed
from cadenza.domain.scheduling.baseline import Cron, Every
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.policy import Guard
from cadenza.domain.validation import check_labels, has_labels

LIMITS = Limits(min_interval_ms=60_000)


def endpoint(interval_ms: int = 60_000, guard: Guard = Guard()) -> Endpoint:  # noqa: B008
    return Endpoint(id="a", name="a", baseline=Every(interval_ms), guard=guard)


def test_without_limits_an_endpoint_is_taken_as_it_is() -> None:
    assert Limits().apply_to(endpoint(1)) == endpoint(1)


def test_the_least_interval_becomes_the_guard_so_that_no_hint_goes_below_it() -> None:
    assert LIMITS.apply_to(endpoint()).guard == Guard(60_000)
    assert LIMITS.apply_to(endpoint(guard=Guard(None, 90_000))).guard == Guard(60_000, 90_000)
    assert LIMITS.apply_to(endpoint(guard=Guard(60_000))).guard == Guard(60_000)
    cron = Endpoint(id="a", name="a", baseline=Cron("* * * * *"))
    assert LIMITS.apply_to(cron).guard == Guard(60_000)


@pytest.mark.parametrize(
    "asked", [endpoint(59_999), endpoint(guard=Guard(59_999)), endpoint(guard=Guard(None, 59_999))]
)
def test_less_than_the_least_interval_is_refused(asked: Endpoint) -> None:
    with pytest.raises(InvalidRequest):
        LIMITS.apply_to(asked)


@pytest.mark.parametrize("wrong", [{"endpoints": -1}, {"runs_per_month": 1.5}, {"min_interval_ms": 0}])
def test_limits_are_whole_numbers(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidRequest):
        Limits(**wrong)


def test_months_are_counted_in_utc() -> None:
    late = datetime(2030, 1, 31, 23, 30, tzinfo=timezone(timedelta(hours=-1)))
    assert month_of(late) == "2030-02"
    assert next_month(late) == datetime(2030, 3, 1, tzinfo=UTC)
    assert next_month(datetime(2030, 12, 31, tzinfo=UTC)) == datetime(2031, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize("held", Scope)
@pytest.mark.parametrize("asked", Scope)
def test_each_scope_includes_those_before_it(held: Scope, asked: Scope) -> None:
    caller = Caller("default", frozenset({held}), "test")
    order = list(Scope)
    assert caller.may(asked) == (order.index(held) >= order.index(asked))


def test_a_caller_without_the_scope_is_refused_by_its_name() -> None:
    with pytest.raises(NotAllowed, match="scope write"):
        Caller("default", frozenset(), "test").must(Scope.WRITE)


def test_a_key_runs_out_at_its_moment() -> None:
    end = datetime(2030, 1, 1, tzinfo=UTC)
    key = ApiKey(id="a", tenant_id="default", name="a", created_at=end, expires_at=end)
    assert key.valid(end - timedelta(microseconds=1))
    assert not key.valid(end)


@pytest.mark.parametrize("labels", [{"team": "web"}, {"a/b.c-d": "x:y@z"}, {"empty": ""}])
def test_labels_are_short_words(labels: dict[str, str]) -> None:
    assert check_labels(labels) == labels


@pytest.mark.parametrize(
    "labels", [{"": "a"}, {"a b": "c"}, {"a": "b c"}, {"-a": "b"}, {"a": 1}, {"a" * 64: "b"}, ["a"], {1: "a"}]
)
def test_what_is_no_label_is_refused(labels: object) -> None:
    with pytest.raises(InvalidRequest):
        check_labels(labels)


def test_more_than_32_labels_are_refused() -> None:
    with pytest.raises(InvalidRequest):
        check_labels({f"label{number}": "" for number in range(33)})


def test_endpoints_are_found_by_all_of_the_labels() -> None:
    assert has_labels({"team": "web", "tier": "1"}, {"team": "web"})
    assert not has_labels({"team": "web"}, {"team": "web", "tier": "1"})
    assert not has_labels({"team": "web"}, {"team": "ops"})
