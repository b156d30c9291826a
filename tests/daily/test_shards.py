"""Lanes on PostgreSQL, shared between sessions: each has one holder, and its fair share."""

import asyncio
from collections.abc import AsyncIterator, Collection
from pathlib import Path

import pytest
from tests.daily.world import until
from tests.postgres import Databases, databases, newest_databases

from cadenza.adapters.chairs import FileChair
from cadenza.adapters.lanes import ChairLanes
from cadenza.adapters.sql.postgres.pool import PostgresPool
from cadenza.adapters.sql.postgres.shards import PostgresLanes
from cadenza.ports.lanes import Lanes
from cadenza.testing import FakeLog

__all__ = ["databases", "newest_databases"]

MOST = 8
ALL = set(range(MOST))
AWAY = "the lanes of daily users are out of reach"


class Server:
    """Serves what it is told, and remembers it."""

    def __init__(self) -> None:
        self.held: set[int] = set()
        self.leaving: set[int] = set()
        self.busy = False
        self.emptied = 0

    def serve(self, held: Collection[int], leaving: Collection[int] = ()) -> None:
        self.held, self.leaving = set(held), set(leaving)
        self.emptied += not held

    def done_with(self, leaving: Collection[int]) -> Collection[int]:
        return [] if self.busy else list(leaving)


class Floor:
    """Processes that share lanes, each with a task of its own."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.log = FakeLog()
        self.tasks: list[asyncio.Task[None]] = []

    def join(self, most: int = MOST) -> Server:
        return self.hold(PostgresLanes(PostgresPool(self._url), self.log, max_concurrency=most, again_s=0.02))

    def hold(self, lanes: Lanes) -> Server:
        server = Server()
        self.tasks.append(asyncio.create_task(lanes.hold(server)))
        return server

    async def leave(self, number: int) -> None:
        self.tasks[number].cancel()
        await asyncio.gather(self.tasks[number], return_exceptions=True)


@pytest.fixture
async def floor(newest_databases: Databases) -> AsyncIterator[Floor]:
    made = Floor(await asyncio.to_thread(newest_databases.clean))
    yield made
    for number in range(len(made.tasks)):
        await made.leave(number)


async def test_one_alone_serves_all_and_newcomers_get_their_share(floor: Floor) -> None:
    first = floor.join()
    await until(lambda: first.held == ALL)
    second, third = floor.join(), floor.join()
    servers = (first, second, third)

    def shared_out() -> bool:
        held = [lane for one in servers for lane in (*one.held, *one.leaving)]
        assert len(held) == len(set(held)), "two hold the same lane"
        return sorted(len(one.held) for one in servers) == [2, 3, 3]

    await until(shared_out)
    await floor.leave(0)
    assert first.held == set()
    await until(lambda: second.held | third.held == ALL and len(second.held) == 4)


async def test_a_lane_is_given_away_only_when_its_server_is_done_with_it(floor: Floor) -> None:
    first = floor.join()
    await until(lambda: first.held == ALL)
    first.busy = True
    second = floor.join()
    await until(lambda: len(first.leaving) == MOST // 2)
    await asyncio.sleep(0.1)
    assert second.held == set()
    first.busy = False
    await until(lambda: len(second.held) == MOST // 2 and not first.leaving)


async def test_what_is_lost_with_a_session_is_served_no_more_and_taken_up_by_others(floor: Floor) -> None:
    first, second = floor.join(), floor.join()
    await until(lambda: len(first.held) == len(second.held) == MOST // 2)
    lost = first.held
    pool = PostgresPool(floor._url)
    connection = await pool.connect()
    try:
        (pid,) = await connection.fetchrow(
            "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = $1 AND objsubid = 2", min(lost)
        ) or (None,)
        await connection.execute("SELECT pg_terminate_backend($1)", pid)
        await until(lambda: first.emptied > 0 and first.held | second.held == ALL)
    finally:
        await connection.close()
    assert floor.log.events("warning") == [AWAY]


async def test_who_counts_in_another_way_waits(floor: Floor) -> None:
    first = floor.join()
    await until(lambda: first.held == ALL)
    other = floor.join(most=3)
    await asyncio.sleep(0.2)
    assert (first.held, other.held) == (ALL, set())
    await floor.leave(0)
    await until(lambda: other.held == {0, 1, 2})


async def test_beside_a_file_one_serves_all_and_the_other_waits(tmp_path: Path, floor: Floor) -> None:
    def beside() -> Lanes:
        return ChairLanes(FileChair(tmp_path / "a.db", floor.log, name="daily"), max_concurrency=MOST)

    first, second = floor.hold(beside()), floor.hold(beside())
    await until(lambda: first.held == ALL)
    assert second.held == set()
    await floor.leave(0)
    assert first.held == set()
    await until(lambda: second.held == ALL)


async def test_a_server_that_is_away_is_asked_again(floor: Floor) -> None:
    away = PostgresLanes(
        PostgresPool("postgresql://nobody@127.0.0.1:9/none"), floor.log, max_concurrency=MOST, again_s=0.02
    )
    server = floor.hold(away)
    await asyncio.sleep(0.2)
    assert not floor.tasks[-1].done()
    assert server.held == set()
    assert set(floor.log.events("warning")) == {AWAY}
