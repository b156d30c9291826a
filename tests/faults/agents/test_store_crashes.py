"""A crash between any two writes leaves all of a firing, or of a failure, or nothing of it."""

from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any

import pytest
from tests.faults.statement_crashes import Crash, StatementCounter
from tests.postgres import database_url, newest_databases

from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.adapters.stores.sql.agents import conversations, deliveries
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.domain.agents.delivery import Subtitle
from cadenza.domain.agents.probe import NOTES_OWNER
from cadenza.domain.json_values import Json
from cadenza.domain.scheduling.abandon import DEATHS_ALONE
from cadenza.domain.scheduling.run import Claim
from cadenza.testing import FakeIds
from cadenza.testing.contracts.agents.conversation_fixtures import (
    ANNA,
    COMMAND,
    MINE,
    TUTOR,
    ConversationFixture,
    a_schedule,
)
from cadenza.testing.contracts.harness import LEASE_MS, Bench
from cadenza.testing.contracts.monitoring.run_alerts import AlertingBench

__all__ = ["database_url", "newest_databases"]

MOST_WRITES = 60


class Crashing:
    """A store, and how to let it crash at a statement."""

    def __init__(self, store: SqliteStore | PostgresStore, counter: StatementCounter) -> None:
        self.store = store
        self.bench = Bench(store)
        self.talk = ConversationFixture(self.bench)
        self._counter = counter

    def crashing_at(self, statement: int) -> AbstractContextManager[None]:
        return self._counter.crashing_at(statement)

    async def left(self) -> tuple[Any, ...]:
        """All that a firing leaves, in numbers; and whether somebody has the turn."""
        runs = await self.bench.runs(a_schedule())
        closed = [run for run in runs if run.finished_at is not None]
        spent = await self.store.users.usage_of_user(ANNA, self.bench.clock.now().date())
        seqs = await self.store.deliveries.last_seqs([ANNA])
        free = await self.store.conversations.begin_turn(
            TUTOR, token="looking", now=self.bench.ms(0), until=self.bench.ms(60_000)
        )
        await self.store.conversations.end_turn(TUTOR, token="looking")
        said, undelivered = (
            len(await self.store.conversations.messages(TUTOR)),
            len(await self.talk.undelivered()),
        )
        return (await self.seen(), len(closed), said, undelivered, seqs[ANNA], *spent, free)

    async def seen(self) -> Json:
        """What the probe of the schedule saw, as far as it is kept."""
        key = a_schedule().key
        return (await self.store.analyses.notes(NOTES_OWNER, [key])).get(key)


NOTHING = (None, 0, 0, 0, 0, 0, 0, False)
ALL = ("two left", 1, 2, 2, 2, 1, 5, True)


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'cadenza.db'}"
    return str(request.getfixturevalue("database_url"))


@pytest.fixture
async def crashing(url: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Crashing]:
    await migrate(url)
    counter = StatementCounter(monkeypatch)
    store = counter.store(url, FakeIds())
    yield Crashing(store, counter)
    await store.close()


async def test_a_crash_between_any_two_writes_leaves_all_of_a_firing_or_nothing(crashing: Crashing) -> None:
    claim = await _claimed(crashing)
    for statement in range(MOST_WRITES):
        try:
            with crashing.crashing_at(statement):
                await _finalize(crashing, claim)
            break
        except Crash:
            assert await crashing.left() == NOTHING, f"after {statement} statements"
    else:
        pytest.fail("it never came to its end")
    assert statement > 5, "it was hardly interrupted"
    assert await crashing.left() == ALL


async def test_a_crash_while_a_schedule_is_given_up_leaves_all_of_that_or_nothing(crashing: Crashing) -> None:
    await crashing.talk.add_users_and_agents()
    await crashing.store.endpoints.add(a_schedule())
    for attempt in range(1, DEATHS_ALONE + 1):
        await crashing.bench.claim_one()
        crashing.bench.pass_ms(LEASE_MS)
        history = (2, 1, 1, 1) if attempt == DEATHS_ALONE else (0, 0, 0, 0)
        before, after = await crashing.left(), (None, attempt, *history, 0, True)
        statement, left = 0, before
        while left == before and statement < MOST_WRITES:
            with suppress(Crash), crashing.crashing_at(statement):
                await crashing.bench.sweep()
            left = await crashing.left()
            statement += 1
        assert left == after, f"after {statement} statements"
        assert statement > 4, "it was hardly interrupted"


async def test_a_crash_between_any_two_writes_leaves_a_failure_and_its_alert_or_neither(
    crashing: Crashing,
) -> None:
    watched, endpoint = AlertingBench(crashing.bench), await crashing.bench.add()
    claim = await crashing.bench.claim_one()
    for statement in range(MOST_WRITES):
        try:
            with crashing.crashing_at(statement):
                await watched.end(claim)
            break
        except Crash:
            failures = (await crashing.bench.fresh(endpoint)).failure_count
            assert (failures, await watched.shown()) == (0, []), f"after {statement} statements"
    assert statement > 2, "it was hardly interrupted"
    assert (await crashing.bench.fresh(endpoint)).failure_count == 1
    assert await watched.shown() == ["Endpoint endpoint has 1 consecutive failure: no"]


async def test_a_crash_in_an_interactive_turn_leaves_all_of_it_or_nothing(crashing: Crashing) -> None:
    await crashing.talk.add_users_and_agents()
    now, until = crashing.bench.ms(0), crashing.bench.ms(60_000)
    assert await crashing.store.conversations.begin_turn(TUTOR, token=MINE, now=now, until=until)
    turn = crashing.talk.turn("hello", to_deliver=(Subtitle("a"), COMMAND), token=MINE, tokens=5, firing="x")
    for statement in range(MOST_WRITES):
        try:
            with crashing.crashing_at(statement):
                await crashing.store.conversations.commit_turn(turn)
            break
        except Crash:
            assert await crashing.left() == NOTHING, f"after {statement} statements"
    assert statement > 4, "it was hardly interrupted"
    assert await crashing.left() == (None, 0, *ALL[2:])


async def test_a_crash_while_a_user_is_deleted_leaves_all_of_them_or_nothing(crashing: Crashing) -> None:
    await _finalize(crashing, await _claimed(crashing))
    for statement in range(MOST_WRITES):
        try:
            with crashing.crashing_at(statement):
                await crashing.store.users.remove_user(ANNA)
            break
        except Crash:
            assert await crashing.left() == ALL, f"after {statement} statements"
    assert statement > 8, "it was hardly interrupted"
    assert await crashing.store.deliveries.last_seqs([ANNA]) == {}
    assert await crashing.bench.runs(a_schedule()) == []
    assert await crashing.seen() is None
    assert await crashing.store.conversations.messages(TUTOR) == []


async def test_forgetting_goes_on_where_a_crash_has_ended_it(
    crashing: Crashing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is old goes in steps, each a commit of its own, however much it is."""
    for module in (conversations, deliveries):
        monkeypatch.setattr(module, "BATCH", 2)
    talk, store = crashing.talk, crashing.store
    await talk.add_users_and_agents()
    for number in range(5):
        await talk.say(f"{number}")
    await store.deliveries.acknowledge(ANNA, 3)
    old = crashing.bench.ms(1)
    crashing.bench.pass_ms(2)
    await talk.say("young")
    with pytest.raises(Crash), crashing.crashing_at(4):
        await store.conversations.forget_messages(old)
    left = len(await store.conversations.messages(TUTOR)) - 2
    assert 0 < left < 10
    assert await store.conversations.forget_messages(old) == left
    assert await talk.texts() == ["young?", "young!"]
    await store.deliveries.forget_deliveries(delivered_before=old)
    assert [one.seq for one in await store.deliveries.deliveries(ANNA, after=0, limit=9)] == [4, 5, 6]
    assert await store.deliveries.forget_deliveries(delivered_before=old, undelivered_before=old) == 2
    assert [one.seq for one in await talk.undelivered()] == [6]


async def _claimed(crashing: Crashing) -> Claim:
    await crashing.talk.add_users_and_agents()
    await crashing.store.endpoints.add(a_schedule())
    now, until = crashing.bench.ms(0), crashing.bench.ms(60_000)
    assert await crashing.store.conversations.begin_turn(TUTOR, token=MINE, now=now, until=until)
    return await crashing.bench.claim_one()


async def _finalize(crashing: Crashing, claim: Claim) -> None:
    turn = crashing.talk.turn(
        "hello", to_deliver=(Subtitle("a"), COMMAND), token=MINE, tokens=5, firing=claim.run_id
    )
    await crashing.bench.end(claim, turn=turn, seen="two left")
