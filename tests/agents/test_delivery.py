"""The postman replays what is owed, in order, and wakes every socket when there is more."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadenza.adapters.stores.memory import MemoryStore
from cadenza.domain.agents.delivery import Delivery, Subtitle
from cadenza.domain.agents.users import User, UserKey
from cadenza.domain.errors import NotFound, Unavailable
from cadenza.engine.agents.delivery import EVERY_MS, Postman
from cadenza.engine.agents.delivery_stream import PAGE, Visit
from cadenza.testing import FakeClock, FakeIds, FakeLog
from cadenza.testing.contracts.agents.conversation_fixtures import ANNA, BERT, COMMAND, Talk
from cadenza.testing.contracts.harness import Bench


class Round:
    """A postman, and users who are owed something."""

    def __init__(self, store: MemoryStore | None = None) -> None:
        self.bench = Bench(store or MemoryStore(FakeIds()))
        self.store = self.bench.store
        self.talk = Talk(self.bench)
        self.log = FakeLog()
        self.postman = Postman(store=self.store, clock=self.bench.clock, log=self.log)

    async def owe(self, *texts: str, **fields: Any) -> None:
        for text in texts:
            await self.talk.say(text, firing=f"run-{text}", **fields)


@pytest.fixture
async def way() -> Round:
    way = Round()
    await way.talk.people()
    return way


class Socket:
    """Reads what it is sent, as far as it is told."""

    def __init__(self, visit: Visit) -> None:
        self.visit = visit
        self.got: list[int] = []
        self._pages = visit.pages()

    async def page(self) -> list[Delivery]:
        page = await asyncio.wait_for(anext(self._pages), timeout=60)
        self.got += [one.seq for one in page]
        return page

    async def is_quiet(self) -> bool:
        """Nothing more comes for now; the socket is of no use after that."""
        try:
            await asyncio.wait_for(anext(self._pages), timeout=0.02)
        except TimeoutError:
            return True
        return False


@asynccontextmanager
async def a_socket(way: Round, user: UserKey = ANNA, last_seq: int = 0) -> AsyncIterator[Socket]:
    async with way.postman.visit(user, last_seq=last_seq) as visit:
        yield Socket(visit)


def texts(page: Sequence[Delivery]) -> list[str]:
    return [one.message.text for one in page if isinstance(one.message, Subtitle)]


async def test_who_comes_back_is_told_how_many_tasks_ran_and_what_they_said_in_order(way: Round) -> None:
    await way.owe("a", "b", owed=(Subtitle("1"), COMMAND, Subtitle("2")))
    await way.talk.say("chat")
    async with a_socket(way) as socket:
        assert (socket.visit.count, socket.visit.last_seq) == (2, 7)
        assert socket.visit.notice == "2 scheduled tasks ran while you were away"
        page = await socket.page()
        assert texts(page) == ["1", "2", "1", "2", "chat"]
        assert socket.got == [1, 2, 3, 4, 5, 6, 7]
        assert await socket.is_quiet()


async def test_one_task_is_one_task_and_none_is_not_mentioned(way: Round) -> None:
    async with a_socket(way) as socket:
        assert (socket.visit.count, socket.visit.notice) == (0, None)
    await way.talk.say("chat")
    async with a_socket(way) as socket:
        assert (socket.visit.count, socket.visit.notice) == (0, None)
    await way.owe("a")
    async with a_socket(way) as socket:
        assert socket.visit.notice == "1 scheduled task ran while you were away"


async def test_what_is_acknowledged_does_not_come_again_and_what_is_not_does_with_the_same_id(
    way: Round,
) -> None:
    await way.owe("a", "b", "c")
    async with a_socket(way) as socket:
        first = await socket.page()
        await socket.visit.acknowledge(1)
    async with a_socket(way) as socket:
        assert socket.visit.count == 2
        assert await socket.page() == first[1:]
        await socket.visit.acknowledge(3)
    async with a_socket(way) as socket:
        assert (socket.visit.count, await socket.is_quiet()) == (0, True)


async def test_a_socket_cannot_acknowledge_what_it_was_never_sent(way: Round) -> None:
    await way.owe("a")
    async with a_socket(way) as socket:
        await socket.visit.acknowledge(1_000)
        assert len(await way.talk.owed()) == 1
        await socket.page()
        await way.owe("b")
        await socket.visit.acknowledge(1_000)
        assert [one.seq for one in await way.talk.owed()] == [2]
        await socket.visit.acknowledge(-1)


async def test_what_was_sent_to_a_socket_that_does_not_acknowledge_is_delivered(way: Round) -> None:
    await way.owe("a", "b")
    async with a_socket(way) as socket:
        page = await socket.page()
        assert len(await way.talk.owed()) == 2
        await socket.visit.handed_over(page)
        assert await way.talk.owed() == []


async def test_a_client_that_says_what_it_has_gets_the_rest(way: Round) -> None:
    await way.owe("a", "b", "c")
    async with a_socket(way, last_seq=2) as socket:
        assert socket.visit.count == 1
        assert texts(await socket.page()) == ["c"]
    async with a_socket(way, last_seq=3) as socket:
        await way.owe("d")
        assert texts(await socket.page()) == ["d"]


@pytest.mark.parametrize("last_seq", [99, 0, -5])
async def test_a_number_that_no_message_has_says_nothing(way: Round, last_seq: int) -> None:
    await way.owe("a", "b")
    await way.store.acknowledge(ANNA, 1)
    async with a_socket(way, last_seq=last_seq) as socket:
        assert texts(await socket.page()) == ["b"]


async def test_a_socket_that_says_how_far_it_is_also_gets_what_another_has_acknowledged(way: Round) -> None:
    await way.owe("a", "b", "c")
    await way.store.acknowledge(ANNA, 2)
    async with a_socket(way, last_seq=1) as socket:
        assert texts(await socket.page()) == ["b", "c"]


async def test_new_messages_reach_every_socket_of_their_user_at_once_and_no_other(way: Round) -> None:
    async with a_socket(way) as one, a_socket(way) as two, a_socket(way, BERT) as other:
        reading = [asyncio.create_task(socket.page()) for socket in (one, two)]
        await asyncio.sleep(0.01)
        await way.owe("a")
        assert [texts(page) for page in await asyncio.gather(*reading)] == [["a"], ["a"]]
        assert await other.is_quiet()


async def test_what_one_socket_acknowledged_still_reaches_the_others(way: Round) -> None:
    async with a_socket(way) as quick, a_socket(way) as slow:
        await way.owe("a", "b")
        await quick.page()
        await quick.visit.acknowledge(2)
        assert texts(await slow.page()) == ["a", "b"]


async def test_a_slow_socket_holds_a_page_at_most_and_loses_nothing(way: Round) -> None:
    await way.owe(*(f"{number}" for number in range(PAGE + 5)))
    async with a_socket(way) as socket:
        assert len(await socket.page()) == PAGE
        await way.owe("late")
        assert len(await socket.page()) == 5
        assert texts(await socket.page()) == ["late"]
        assert socket.got == list(range(1, PAGE + 7))


async def test_a_message_that_comes_while_somebody_is_let_in_is_not_lost(way: Round) -> None:
    """Between the look at what is owed and the first wait, all the rest of a visit happens."""
    async with a_socket(way) as socket:
        await way.owe("early")
        assert texts(await socket.page()) == ["early"]


async def test_a_call_that_is_lost_is_found_by_looking(way: Round, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(way.store, "on_owed", lambda *_: lambda: None)
    async with a_socket(way) as socket, a_socket(way, BERT) as other:
        reading = asyncio.create_task(socket.page())
        await asyncio.sleep(0.01)
        await way.owe("a")
        await asyncio.sleep(0.01)
        assert not reading.done()
        await way.postman.look()
        assert texts(await reading) == ["a"]
        assert await other.is_quiet()


async def test_the_postman_looks_now_and_then_and_survives_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    way = Round(Shaky(FakeIds()))
    await way.talk.people()
    monkeypatch.setattr(way.store, "on_owed", lambda *_: lambda: None)
    async with a_socket(way) as socket:
        reading = asyncio.create_task(socket.page())
        await asyncio.sleep(0.01)
        await way.owe("a")
        assert isinstance(way.store, Shaky)
        way.store.away = 2
        clock = FakeClock(manual=True)
        way.postman._clock = clock
        rounds = asyncio.create_task(way.postman.run())
        await clock.advance(2 * EVERY_MS)
        assert not reading.done()
        await clock.advance(EVERY_MS)
        assert texts(await asyncio.wait_for(reading, timeout=60)) == ["a"]
        rounds.cancel()


async def test_a_socket_outlives_an_outage_of_the_store() -> None:
    way = Round(Shaky(FakeIds()))
    await way.talk.people()
    await way.owe("a")
    assert isinstance(way.store, Shaky)
    async with a_socket(way) as socket:
        way.store.away = 3
        assert texts(await socket.page()) == ["a"]


async def test_who_is_not_there_gets_no_visit(way: Round) -> None:
    with pytest.raises(NotFound, match="There is no user nobody"):
        async with way.postman.visit(UserKey("north", "nobody")):
            pytest.fail("somebody came in")


async def test_the_visits_of_a_user_who_is_deleted_end(way: Round) -> None:
    async with a_socket(way) as socket:
        reading = asyncio.create_task(socket.page())
        await asyncio.sleep(0.01)
        await way.store.remove_user(ANNA)
        await way.postman.look()
        with pytest.raises(StopAsyncIteration):
            await reading


async def test_nobody_is_called_for_who_has_left(way: Round) -> None:
    async with a_socket(way):
        pass
    await way.owe("a")
    await way.postman.look()
    assert isinstance(way.store, MemoryStore)
    assert way.store._doorbells._rings == {}
    assert way.postman._visits == set()


@given(
    steps=st.lists(st.sampled_from(["owe", "read", "drop"]), max_size=30),
    says_last=st.booleans(),
)
async def test_whatever_happens_each_message_is_seen_once_and_in_order_by_who_acknowledges(
    steps: list[str], *, says_last: bool
) -> None:
    """A client that acknowledges what it reads sees every number once, however often it comes and goes."""
    way = Round()
    await way.store.put_user(User(tenant_id="north", id="anna"))
    seen: list[int] = []
    owed = 0
    for visit_steps in _visits(steps):
        last = seen[-1] if seen and says_last else 0
        async with way.postman.visit(ANNA, last_seq=last) as visit, aclosing(visit.pages()) as pages:
            for step in visit_steps:
                if step == "owe":
                    owed += 1
                    await way.owe(f"{owed}")
                elif step == "read" and len(seen) < owed:
                    page = await anext(pages)
                    seen += [one.seq for one in page]
                    await visit.acknowledge(page[-1].seq)
    async with way.postman.visit(ANNA, last_seq=seen[-1] if seen and says_last else 0) as visit:
        pages = visit.pages()
        while len(seen) < owed:
            seen += [one.seq for one in await anext(pages)]
    assert seen == list(range(1, owed + 1))


def _visits(steps: Sequence[str]) -> list[list[str]]:
    """What happens in each visit; a drop ends one."""
    visits: list[list[str]] = [[]]
    for step in steps:
        if step == "drop":
            visits.append([])
        else:
            visits[-1].append(step)
    return visits


class Shaky(MemoryStore):
    """A store that is away for some questions."""

    away = 0

    async def last_seqs(self, users: Any) -> Any:
        self._fail()
        return await super().last_seqs(users)

    async def owed(self, *given: Any, **asked: Any) -> Any:
        self._fail()
        return await super().owed(*given, **asked)

    def _fail(self) -> None:
        if self.away:
            self.away -= 1
            raise Unavailable("away")
