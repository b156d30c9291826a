"""The analysis queue: each endpoint once, fair between tenants, and bounded."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from cadenza.domain.planning.analysis import Trigger
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.engine.planning.queue import PRIORITY, AnalysisQueue, AnalysisRequest

KEYS = st.builds(EndpointKey, st.sampled_from("abc"), st.sampled_from("123456"))
REQUESTS = st.builds(
    AnalysisRequest,
    KEYS,
    st.sampled_from(Trigger),
    st.integers(0, 9),
    st.frozensets(st.sampled_from("xy"), max_size=2),
)


def a_request(
    name: str = "1", tenant: str = "a", trigger: Trigger = Trigger.RUN, page: int = 0
) -> AnalysisRequest:
    return AnalysisRequest(EndpointKey(tenant, name), trigger, page)


@given(st.lists(REQUESTS, max_size=60), st.integers(1, 20), st.frozensets(KEYS, max_size=3))
def test_an_endpoint_is_queued_once_and_only_dropped_requests_are_lost(
    requests: list[AnalysisRequest], size: int, busy: frozenset[EndpointKey]
) -> None:
    room = AnalysisQueue(size)
    for request in requests:
        room.put(request)
        assert len(room) <= size
    distinct = len({request.key for request in requests})
    taken = room.take(1_000, busy)
    assert len(taken) == len({request.key for request in taken})
    assert not {request.key for request in taken} & busy
    rest = room.take(1_000)
    assert {request.key for request in rest} <= busy
    assert len(room) == 0
    assert len(taken) + len(rest) <= distinct
    if not room.dropped:
        assert len(taken) + len(rest) == distinct


@given(st.lists(REQUESTS, min_size=1, max_size=20))
def test_one_request_has_all_reasons(requests: list[AnalysisRequest]) -> None:
    room = AnalysisQueue(10)
    same = [request._replace(key=EndpointKey("a", "1")) for request in requests]
    for request in same:
        room.put(request)
    (taken,) = room.take(10)
    assert PRIORITY[taken.trigger] == max(PRIORITY[request.trigger] for request in same)
    assert taken.page == min(request.page for request in same)
    assert taken.due_planners == frozenset().union(*(request.due_planners for request in same))
    assert room.oldest_page() is None


@given(st.lists(REQUESTS, max_size=60), st.integers(1, 12))
def test_tenants_take_turns(requests: list[AnalysisRequest], limit: int) -> None:
    room = AnalysisQueue(1_000)
    for request in requests:
        room.put(request._replace(trigger=Trigger.RUN))
    waiting = Counter(key.tenant_id for key in {request.key for request in requests})
    served = Counter(request.key.tenant_id for request in room.take(limit))
    for one in waiting:
        for other in waiting:
            assert served[one] >= min(waiting[one], served[other] - 1)


def test_siblings_come_after_all_others() -> None:
    room = AnalysisQueue(10)
    room.put(a_request("1", trigger=Trigger.SIBLING))
    room.put(a_request("2", trigger=Trigger.DUE))
    room.put(a_request("3"))
    assert [request.key.id for request in room.take(2)] == ["2", "3"]
    assert [request.key.id for request in room.take(2)] == ["1"]


def test_an_endpoint_that_is_queued_keeps_its_place() -> None:
    room = AnalysisQueue(10)
    for name in "121":
        room.put(a_request(name))
    assert [request.key.id for request in room.take(1)] == ["1"]


def test_when_the_queue_is_full_siblings_are_dropped_first_and_then_of_the_tenant_with_most() -> None:
    room = AnalysisQueue(3)
    room.put(a_request("1", trigger=Trigger.SIBLING))
    for name in "234":
        room.put(a_request(name))
    assert len(room) == 3
    room.put(a_request("1", "b"))
    assert {request.key for request in room.take(9)} == {
        EndpointKey("a", "2"),
        EndpointKey("a", "3"),
        EndpointKey("b", "1"),
    }
    assert room.dropped == 2


def test_the_oldest_page_is_that_of_the_oldest_request() -> None:
    room = AnalysisQueue(10)
    room.put(a_request("1", page=7))
    room.put(a_request("2", page=3, trigger=Trigger.SIBLING))
    assert room.oldest_page() == 3
    room.put(a_request("2", page=9))
    assert room.oldest_page() == 3


def test_a_due_request_is_for_the_planner_that_asked_and_any_other_for_all() -> None:
    due_planners = a_request(trigger=Trigger.DUE)._replace(due_planners=frozenset({"rules"}))
    assert (due_planners.is_for("rules"), due_planners.is_for("llm")) == (True, False)
    both = due_planners.merged_with(a_request(trigger=Trigger.SIBLING))
    assert (both.is_for("rules"), both.is_for("llm"), both.is_low_priority) == (True, True, False)
    assert both.trigger_for("rules", Trigger.SIBLING) is Trigger.DUE
    assert both.trigger_for("llm", Trigger.SIBLING) is Trigger.SIBLING
