"""The rules of limits and priorities: what may run now, and what is said about the rest."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadenza.domain.access.run_limit import (
    WINDOW,
    LimitKind,
    LimitUse,
    RunLimit,
    StartedRuns,
    WaitingEndpoint,
    admit,
    allows_again_at,
    held_back_by,
    limit_keys,
    room,
    why_waiting,
)
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.scheduling.abandon import all_requirements, is_limited, requirement_of
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey, evolve
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.requested_runs.queue import RequestQueue, RunRequest
from cadenza.domain.scheduling.target import CallableTarget, HeartbeatTarget, HttpTarget
from cadenza.testing.builders import an_endpoint
from cadenza.testing.clock import NEW_YEAR

NAMES = ("job:a", "job:b", "host:c", "key:d")
SECOND = timedelta(seconds=1)


def a_limit(**numbers: Any) -> RunLimit:
    return RunLimit(tenant_id="default", kind=LimitKind.JOB, name="a", **(numbers or {"max_in_flight": 2}))


@st.composite
def waiting_endpoints(draw: st.DrawFn) -> list[WaitingEndpoint]:
    shapes = draw(
        st.lists(
            st.tuples(st.sets(st.sampled_from(NAMES)), st.integers(-2, 2), st.integers(0, 5)), max_size=25
        )
    )
    return [
        WaitingEndpoint(
            EndpointKey("default", f"{rank}"), tuple(sorted(keys)), priority, NEW_YEAR + SECOND * due, rank
        )
        for rank, (keys, priority, due) in enumerate(shapes)
    ]


ROOMS = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 4))


@given(waiting_endpoints(), ROOMS, st.integers(0, 30))
def test_no_limit_is_given_more_than_it_has_room_for(
    waiting: list[WaitingEndpoint], rooms: dict[str, int], most: int
) -> None:
    taken = admit(waiting, rooms, most).taken
    assert len(taken) <= most
    for name in NAMES:
        assert sum(name in one.limited_by for one in taken) <= rooms.get(name, 0)


@given(waiting_endpoints(), ROOMS)
def test_whoever_waits_does_so_for_a_limit_that_those_before_have_used_up(
    waiting: list[WaitingEndpoint], rooms: dict[str, int]
) -> None:
    taken = admit(waiting, rooms, len(waiting)).taken
    ordered = sorted(waiting, key=lambda one: (-one.priority, one.due_at, one.rank))
    assert taken == [one for one in ordered if one in taken]
    for place, one in enumerate(ordered):
        if one not in taken:
            before = [other for other in ordered[:place] if other in taken]
            used_up = [
                name
                for name in one.limited_by
                if sum(name in other.limited_by for other in before) >= rooms.get(name, 0)
            ]
            assert used_up


@given(waiting_endpoints(), ROOMS)
def test_a_limit_is_said_to_hold_back_if_it_is_known_and_full_for_one_that_waits(
    waiting: list[WaitingEndpoint], rooms: dict[str, int]
) -> None:
    admitted = admit(waiting, rooms, len(waiting))
    left = {name: rooms[name] - sum(name in one.limited_by for one in admitted.taken) for name in rooms}
    others = [one for one in waiting if one not in admitted.taken]
    expected = {
        name
        for one in others
        if all(key in rooms for key in one.limited_by)
        for name in one.limited_by
        if left[name] == 0
    }
    assert admitted.held_by <= expected
    assert bool(admitted.held_by) is bool(expected)


STARTS = st.lists(st.tuples(st.integers(0, 120), st.integers(1, 5)), max_size=12)


@given(STARTS, st.integers(1, 20), st.integers(0, 200))
def test_starts_of_a_minute_allow_more_when_it_is_said(
    starts: list[tuple[int, int]], most: int, second: int
) -> None:
    started = tuple(StartedRuns(NEW_YEAR + SECOND * at, runs) for at, runs in sorted(starts))
    now = NEW_YEAR + SECOND * max([second, *(at for at, _ in starts)])
    use = LimitUse(a_limit(max_per_minute=most), started=started)
    again_at = allows_again_at(use, now)
    assert (again_at is None) is (room(use, now) > 0)
    if again_at is not None:
        assert room(use, again_at) > 0
        assert room(use, again_at - SECOND / 10) == 0


@given(st.lists(st.floats(0, 200), min_size=1, max_size=40), st.integers(1, 6))
def test_in_any_minute_no_more_begin_than_the_limit_allows(moments: list[float], most: int) -> None:
    began: list[StartedRuns] = []
    for moment in sorted(moments):
        now = NEW_YEAR + SECOND * moment
        if room(LimitUse(a_limit(max_per_minute=most), started=tuple(began)), now):
            began.append(StartedRuns(now, 1))
    for first in began:
        within = [one for one in began if first.at <= one.at < first.at + timedelta(minutes=1)]
        assert len(within) <= most


def test_there_is_no_room_below_zero_and_the_smaller_number_counts() -> None:
    limit = a_limit(max_in_flight=5, max_per_minute=3)
    started = (StartedRuns(NEW_YEAR, 2),)
    assert room(LimitUse(limit, 0, started), NEW_YEAR) == 1
    assert room(LimitUse(limit, 5, started), NEW_YEAR) == 0
    assert room(LimitUse(limit, 9, started), NEW_YEAR) == 0
    assert room(LimitUse(limit, 0, started), NEW_YEAR + WINDOW) == 3


@pytest.mark.parametrize(
    "numbers", [{}, {"max_in_flight": 0}, {"max_per_minute": -1}, {"max_in_flight": True}]
)
def test_a_limit_needs_a_number_of_at_least_one(numbers: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        RunLimit(tenant_id="default", kind=LimitKind.JOB, name="a", **numbers)


@pytest.mark.parametrize(
    "name", ["", "http://a.example", "a.example:80", "a.example/x", "user@a.example", "a b/"]
)
def test_the_name_of_a_host_is_a_host_alone(name: str) -> None:
    with pytest.raises(InvalidRequest):
        RunLimit(tenant_id="default", kind=LimitKind.HOST, name=name, max_in_flight=1)


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("Api.Example.com", "https://api.example.COM:8443/x"),
        ("::1", "http://[::1]:80/"),
        ("127.0.0.1", "http://127.0.0.1/"),
    ],
)
def test_a_host_is_found_in_the_address_of_a_target(name: str, url: str) -> None:
    limit = RunLimit(tenant_id="default", kind=LimitKind.HOST, name=name, max_in_flight=1)
    assert limit.key in limit_keys(an_endpoint(target=HttpTarget(url)))


def test_an_endpoint_could_be_under_the_limits_of_its_job_its_host_and_its_key() -> None:
    endpoint = an_endpoint(job_id="shop", limit_key="billing", target=HttpTarget("http://a.example/"))
    assert limit_keys(endpoint) == ("host:a.example", "job:shop", "key:billing")
    assert limit_keys(an_endpoint(job_id="shop")) == ("job:shop",)
    assert limit_keys(evolve(endpoint, target=HeartbeatTarget())) == ()


@pytest.mark.parametrize("fields", [{"priority": 101}, {"priority": 0.5}, {"limit_key": "two words"}])
def test_an_endpoint_has_a_priority_within_bounds_and_a_key_that_is_an_id(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        an_endpoint(**fields)


def test_what_is_claimed_in_order_has_a_requirement_of_its_own() -> None:
    for endpoint, limited in (
        (an_endpoint(), False),
        (an_endpoint(priority=1), True),
        (an_endpoint(limited_by=("job:a",)), True),
        (an_endpoint(limited_by=("job:a",), abandoned_count=1), True),
        (an_endpoint(target=CallableTarget("limited:x")), False),
        (an_endpoint(target=HeartbeatTarget(), priority=1), False),
    ):
        assert is_limited(requirement_of(endpoint)) is limited
    assert requirement_of(an_endpoint(priority=1, abandoned_count=1)) in all_requirements(["callable:noop"])


def test_only_a_limit_that_held_something_back_is_blamed_for_a_late_run() -> None:
    one = WaitingEndpoint(EndpointKey("default", "a"), ("job:a",), 0, NEW_YEAR, 0)
    held = RunLimit(tenant_id="default", kind=LimitKind.JOB, name="a", max_in_flight=1, held_since=NEW_YEAR)
    free = a_limit()
    assert held_back_by(one, {"job:a": held}, NEW_YEAR + 2 * SECOND) == "job:a"
    assert held_back_by(one, {"job:a": held}, NEW_YEAR + SECOND / 2) is None
    assert held_back_by(one, {"job:a": free}, NEW_YEAR + 2 * SECOND) is None


def due(**fields: Any) -> Endpoint:
    return an_endpoint(limited_by=("job:a",), **fields)


def test_what_is_held_back_is_told_by_which_limit_since_when_and_until_when() -> None:
    now = NEW_YEAR + 20 * SECOND
    paced = LimitUse(a_limit(max_per_minute=1), started=(StartedRuns(NEW_YEAR + SECOND, 1),))
    since = "since 2025-01-01T00:00:00Z; it"
    expected = "is expected to go on at 2025-01-01T00:01:02Z, in 42 seconds."
    sentence = f"Held back by the limit for job a (at most 1 a minute) {since} {expected}"
    assert why_waiting(due(), [paced], now) == [sentence]
    full = LimitUse(a_limit(max_in_flight=2), 2)
    goes_on = "goes on when one of the 2 runs in flight ends."
    sentence = f"Held back by the limit for job a (at most 2 in flight) {since} {goes_on}"
    assert why_waiting(due(), [full], now) == [sentence]


def test_a_requested_run_is_held_back_like_one_of_the_schedule() -> None:
    full, hour = LimitUse(a_limit(max_in_flight=1), 1), timedelta(hours=1)
    asked = RunRequest(NEW_YEAR - hour, 2, Source.RERUN, "key:person")
    waiting = due(next_run_at=NEW_YEAR + hour, requested=RequestQueue((asked,), NEW_YEAR))
    (sentence,) = why_waiting(waiting, [full], NEW_YEAR + SECOND)
    assert sentence.startswith(
        "Held back by the limit for job a (at most 1 in flight) since 2025-01-01T00:00:00Z"
    )


def test_what_is_paused_is_not_held_back_by_a_limit() -> None:
    full = LimitUse(a_limit(max_in_flight=1), 1)
    paused = due(paused_until=NEW_YEAR + timedelta(hours=1))
    assert why_waiting(paused, [full], NEW_YEAR + SECOND) == ["Limited by job a (at most 1 in flight)."]


def test_what_is_not_due_is_told_its_limits_and_its_priority_alone() -> None:
    full = LimitUse(a_limit(max_in_flight=2), 2)
    later = due(next_run_at=NEW_YEAR + SECOND, priority=3)
    limited = "Limited by job a (at most 2 in flight)."
    assert why_waiting(later, [full], NEW_YEAR) == [limited, "Its priority is 3."]
    assert why_waiting(due(), [LimitUse(a_limit(max_in_flight=2), 1)], NEW_YEAR) == [limited]
    assert why_waiting(an_endpoint(), [full], NEW_YEAR) == []
