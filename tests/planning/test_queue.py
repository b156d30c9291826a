"""Who waits to be thought about: each once, tenants in turns, never too many."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from cadenza.domain.planning.analysis import Trigger
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.engine.planning.queue import STRENGTH, Look, WaitingRoom

KEYS = st.builds(EndpointKey, st.sampled_from("abc"), st.sampled_from("123456"))
LOOKS = st.builds(
    Look, KEYS, st.sampled_from(Trigger), st.integers(0, 9), st.frozensets(st.sampled_from("xy"), max_size=2)
)


def a_look(name: str = "1", tenant: str = "a", trigger: Trigger = Trigger.RUN, page: int = 0) -> Look:
    return Look(EndpointKey(tenant, name), trigger, page)


@given(st.lists(LOOKS, max_size=60), st.integers(1, 20), st.frozensets(KEYS, max_size=3))
def test_an_endpoint_waits_once_and_nothing_is_lost_that_was_not_turned_away(
    looks: list[Look], size: int, busy: frozenset[EndpointKey]
) -> None:
    room = WaitingRoom(size)
    for look in looks:
        room.put(look)
        assert len(room) <= size
    distinct = len({look.key for look in looks})
    taken = room.take(1_000, busy)
    assert len(taken) == len({look.key for look in taken})
    assert not {look.key for look in taken} & busy
    rest = room.take(1_000)
    assert {look.key for look in rest} <= busy
    assert len(room) == 0
    assert len(taken) + len(rest) <= distinct
    if not room.turned_away:
        assert len(taken) + len(rest) == distinct


@given(st.lists(LOOKS, min_size=1, max_size=20))
def test_one_look_speaks_for_all_reasons(looks: list[Look]) -> None:
    room = WaitingRoom(10)
    same = [look._replace(key=EndpointKey("a", "1")) for look in looks]
    for look in same:
        room.put(look)
    (taken,) = room.take(10)
    assert STRENGTH[taken.trigger] == max(STRENGTH[look.trigger] for look in same)
    assert taken.page == min(look.page for look in same)
    assert taken.due == frozenset().union(*(look.due for look in same))
    assert room.oldest_page() is None


@given(st.lists(LOOKS, max_size=60), st.integers(1, 12))
def test_tenants_take_turns(looks: list[Look], limit: int) -> None:
    room = WaitingRoom(1_000)
    for look in looks:
        room.put(look._replace(trigger=Trigger.RUN))
    waiting = Counter(key.tenant_id for key in {look.key for look in looks})
    served = Counter(look.key.tenant_id for look in room.take(limit))
    for one in waiting:
        for other in waiting:
            assert served[one] >= min(waiting[one], served[other] - 1)


def test_siblings_come_after_all_others() -> None:
    room = WaitingRoom(10)
    room.put(a_look("1", trigger=Trigger.SIBLING))
    room.put(a_look("2", trigger=Trigger.DUE))
    room.put(a_look("3"))
    assert [look.key.id for look in room.take(2)] == ["2", "3"]
    assert [look.key.id for look in room.take(2)] == ["1"]


def test_who_waits_already_keeps_its_place() -> None:
    room = WaitingRoom(10)
    for name in "121":
        room.put(a_look(name))
    assert [look.key.id for look in room.take(1)] == ["1"]


def test_when_room_is_scarce_siblings_go_first_and_then_the_tenant_with_most() -> None:
    room = WaitingRoom(3)
    room.put(a_look("1", trigger=Trigger.SIBLING))
    for name in "234":
        room.put(a_look(name))
    assert len(room) == 3
    room.put(a_look("1", "b"))
    assert {look.key for look in room.take(9)} == {
        EndpointKey("a", "2"),
        EndpointKey("a", "3"),
        EndpointKey("b", "1"),
    }
    assert room.turned_away == 2


def test_the_oldest_page_is_that_of_whoever_waits_longest() -> None:
    room = WaitingRoom(10)
    room.put(a_look("1", page=7))
    room.put(a_look("2", page=3, trigger=Trigger.SIBLING))
    assert room.oldest_page() == 3
    room.put(a_look("2", page=9))
    assert room.oldest_page() == 3


def test_a_due_look_is_for_who_wanted_it_and_any_other_for_everyone() -> None:
    due = a_look(trigger=Trigger.DUE)._replace(due=frozenset({"rules"}))
    assert (due.is_for("rules"), due.is_for("llm")) == (True, False)
    both = due.and_(a_look(trigger=Trigger.SIBLING))
    assert (both.is_for("rules"), both.is_for("llm"), both.can_wait) == (True, True, False)
    assert both.why("rules", Trigger.SIBLING) is Trigger.DUE
    assert both.why("llm", Trigger.SIBLING) is Trigger.SIBLING
