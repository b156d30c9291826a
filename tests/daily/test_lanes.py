"""Lanes on PostgreSQL, shared between sessions or by leases: each has one holder, and its fair share."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from pathlib import Path
from typing import Any

import pytest
from tests.daily.daily_fixtures import until
from tests.postgres import Databases, database_url, databases, newest_databases

from cadenza.adapters.daily import single_process
from cadenza.adapters.daily.single_process import (
    DailyTargetLock,
    FileLeaderLock,
    SingleProcessLanes,
    StandInLock,
)
from cadenza.adapters.stores.postgres.locks.daily_lanes import LOCK_CLASS, LOCKS, PostgresLanes, StandInLanes
from cadenza.adapters.stores.postgres.locks.leased_lanes import LeasedLanes, LeasedStandIn
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.domain.monitoring import outage
from cadenza.ports.daily import DailyLanes
from cadenza.testing import FakeLog

__all__ = ["database_url", "databases", "newest_databases"]

MOST = 8
ALL = set(range(MOST))
AWAY = "the lanes of daily users are not available"
OTHERS = "other processes serve daily users with another CADENZA_MAX_CONCURRENCY; this one waits"


class Server:
    """Serves what it is told, and remembers it, and what of it another served at the same moment."""

    def __init__(self, others: list["Server"]) -> None:
        self.held: set[int] = set()
        self.leaving: set[int] = set()
        self.twice: set[int] = set()
        self.busy = False
        self.rounds = 0
        self.emptied = 0
        self._others = others

    def serve(self, held: Collection[int], leaving: Collection[int] = ()) -> None:
        self.held, self.leaving = set(held), set(leaving)
        self.rounds += 1
        self.emptied += not held
        for other in self._others:
            if other is not self:
                self.twice |= (self.held | self.leaving) & (other.held | other.leaving)

    def done_with(self, leaving: Collection[int]) -> Collection[int]:
        return [] if self.busy else list(leaving)


class Floor:
    """Processes that share lanes, each with a task of its own."""

    def __init__(self, url: str, *, leased: bool) -> None:
        self._url = url
        self._leased = leased
        self.log = FakeLog()
        self.servers: list[Server] = []
        self.tasks: list[asyncio.Task[None]] = []

    def join(self, most: int = MOST) -> Server:
        return self._hold(LeasedLanes if self._leased else PostgresLanes, most)

    def stand_in(self, most: int = MOST) -> Server:
        return self._hold(LeasedStandIn if self._leased else StandInLanes, most)

    def _hold(self, lanes: Callable[..., DailyLanes], most: int) -> Server:
        named = {"holder": f"process-{len(self.servers)}"} if self._leased else {}
        pool = PostgresPool(self._url)
        return self.hold(lanes(pool, self.log, max_concurrency=most, retry_s=0.02, **named))

    def hold(self, lanes: DailyLanes) -> Server:
        server = Server(self.servers)
        self.servers.append(server)
        self.tasks.append(asyncio.create_task(lanes.hold(server)))
        return server

    async def leave(self, number: int) -> None:
        self.tasks[number].cancel()
        await asyncio.gather(self.tasks[number], return_exceptions=True)


@pytest.fixture(params=[False, True], ids=["sessions", "leases"])
async def floor(request: pytest.FixtureRequest, newest_databases: Databases) -> AsyncIterator[Floor]:
    made = Floor(await asyncio.to_thread(newest_databases.clean), leased=request.param)
    yield made
    for number in range(len(made.tasks)):
        await made.leave(number)


async def test_one_alone_serves_all_and_newcomers_get_their_share(floor: Floor) -> None:
    first = floor.join()
    await until(lambda: first.held == ALL)
    second, third = floor.join(), floor.join()
    await until(lambda: sorted(len(one.held) for one in floor.servers) == [2, 3, 3])
    await floor.leave(0)
    assert first.held == set()
    await until(lambda: second.held | third.held == ALL and len(second.held) == 4)
    assert [one.twice for one in floor.servers] == [set(), set(), set()], "two served the same lane"


async def test_a_lane_is_given_away_only_when_its_server_is_done_with_it(floor: Floor) -> None:
    first = floor.join()
    await until(lambda: first.held == ALL)
    first.busy = True
    second = floor.join()
    await until(lambda: len(first.leaving) == MOST // 2)
    before = second.rounds
    await until(lambda: second.rounds > before + 3)
    assert second.held == set()
    first.busy = False
    await until(lambda: len(second.held) == MOST // 2 and not first.leaving)
    assert (first.twice, second.twice) == (set(), set())


@pytest.mark.parametrize("floor", [False], indirect=True, ids=["sessions"])
async def test_what_is_lost_with_a_session_is_served_no_more_and_taken_up_by_others(floor: Floor) -> None:
    first, second = floor.join(), floor.join()
    await until(lambda: len(first.held) == len(second.held) == MOST // 2)
    first.emptied = 0
    connection = await PostgresPool(floor._url).connect()
    try:
        (pid,) = [row[1] for row in await connection.fetch(LOCKS, LOCK_CLASS) if row[0] == min(first.held)]
        await connection.execute("SELECT pg_terminate_backend($1)", pid)
        await until(lambda: first.emptied > 0 and first.held | second.held == ALL)
    finally:
        await connection.close()
    assert floor.log.events("warning") == []
    assert AWAY in floor.log.events("debug")


@pytest.mark.parametrize("floor", [True], indirect=True, ids=["leases"])
async def test_leases_that_were_not_renewed_are_served_no_more_and_taken_up_by_others(floor: Floor) -> None:
    first, second = floor.join(), floor.join()
    await until(lambda: len(first.held) == len(second.held) == MOST // 2)
    first.emptied = 0
    pool = PostgresPool(floor._url)
    await pool.ask("UPDATE locks SET until = '2000-01-01' WHERE holder = 'process-0'")
    await pool.close()
    await until(lambda: first.emptied > 0 and first.held | second.held == ALL)
    assert floor.log.events("warning") == []


async def test_who_counts_in_another_way_waits(floor: Floor) -> None:
    first = floor.join()
    await until(lambda: first.held == ALL)
    other = floor.join(most=3)
    await until(lambda: OTHERS in floor.log.events("warning"))
    before = other.rounds
    await until(lambda: other.rounds > before + 3)
    assert (first.held, other.held) == (ALL, set())
    await floor.leave(0)
    await until(lambda: other.held == {0, 1, 2})


@pytest.mark.parametrize("most", [MOST, 3])
async def test_a_stand_in_serves_all_until_a_process_with_a_target_comes(floor: Floor, most: int) -> None:
    stand_in, second = floor.stand_in(most), floor.stand_in(most)
    await until(lambda: len(stand_in.held) + len(second.held) == most)
    before = second.rounds + stand_in.rounds
    await until(lambda: second.rounds + stand_in.rounds > before + 3)
    assert {len(stand_in.held), len(second.held)} == {0, most}
    first = floor.join()
    await until(lambda: first.held == ALL)
    other = floor.join()
    await until(lambda: len(first.held) == len(other.held) == MOST // 2)
    assert (stand_in.held, second.held) == (set(), set())
    await floor.leave(2)
    await until(lambda: other.held == ALL)
    await floor.leave(3)
    await until(lambda: len(stand_in.held) + len(second.held) == most)
    assert [one.twice for one in floor.servers] == [set()] * 4, "two served the same lane"
    assert floor.log.events("warning") == []


@pytest.mark.parametrize("floor", [False], indirect=True, ids=["file"])
async def test_beside_a_file_a_stand_in_makes_way_for_a_process_with_a_target(
    tmp_path: Path, floor: Floor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(single_process, "RETRY_S", 0.02)

    def process(lock: type[FileLeaderLock]) -> Server:
        leader_lock = lock(tmp_path / "cadenza.db", floor.log, name="daily")
        return floor.hold(SingleProcessLanes(leader_lock, max_concurrency=MOST))

    stand_in, second = process(StandInLock), process(StandInLock)
    await until(lambda: len(stand_in.held) + len(second.held) == MOST)
    first = process(DailyTargetLock)
    await until(lambda: first.held == ALL)
    assert (stand_in.held, second.held) == (set(), set())
    other = process(DailyTargetLock)
    await floor.leave(2)
    await until(lambda: other.held == ALL)
    await floor.leave(3)
    await until(lambda: len(stand_in.held) + len(second.held) == MOST)
    assert [one.twice for one in floor.servers] == [set()] * 4, "two served at once"


@pytest.mark.parametrize("floor", [False], indirect=True, ids=["file"])
async def test_beside_a_file_one_serves_all_and_the_other_waits(
    tmp_path: Path, floor: Floor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(single_process, "RETRY_S", 0.02)

    def beside() -> DailyLanes:
        return SingleProcessLanes(
            FileLeaderLock(tmp_path / "a.db", floor.log, name="daily"), max_concurrency=MOST
        )

    first, second = floor.hold(beside()), floor.hold(beside())
    await until(lambda: first.held == ALL)
    assert second.held == set()
    await floor.leave(0)
    assert first.held == set()
    await until(lambda: second.held == ALL)


async def test_a_server_that_is_away_is_asked_again_and_told_once_when_it_stays_away(
    floor: Floor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outage, "PERSISTS_S", 0.05)
    away = PostgresLanes(
        PostgresPool("postgresql://nobody@127.0.0.1:9/none"), floor.log, max_concurrency=MOST, retry_s=0.02
    )
    server = floor.hold(away)
    await until(lambda: len(floor.log.events("warning")) == 1)
    before = len(floor.log.events("debug"))
    await until(lambda: len(floor.log.events("debug")) >= before + 3)
    assert not floor.tasks[-1].done()
    assert server.held == set()
    assert floor.log.events("warning") == [AWAY]
    away._pool = PostgresPool(floor._url)
    await until(lambda: server.held == ALL)
    await until(lambda: "the lanes of daily users are available again" in floor.log.events("info"))


class Pause:
    """Sleeps of a process that is idle while its gate is closed."""

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.gate.set()

    async def sleep(self, span_s: float) -> None:
        await asyncio.sleep(span_s)
        await self.gate.wait()


async def test_who_was_idle_for_longer_than_a_lease_serves_nothing_that_another_took_meanwhile(
    database_url: str,
) -> None:
    floor, pause = Floor(database_url, leased=True), Pause()
    options: dict[str, Any] = {"max_concurrency": MOST, "retry_s": 0.02, "lease_s": 0.5}
    first = floor.hold(
        LeasedLanes(PostgresPool(database_url), floor.log, holder="idle", sleep=pause.sleep, **options)
    )
    await until(lambda: first.held == ALL)
    pause.gate.clear()
    second = floor.hold(LeasedLanes(PostgresPool(database_url), floor.log, holder="other", **options))
    await until(lambda: second.held == ALL)
    pause.gate.set()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert first.held == set(), "it stops before it asks the database"
    first.twice.clear()
    await until(lambda: len(first.held) == len(second.held) == MOST // 2)
    assert first.twice == set()
    for number in range(2):
        await floor.leave(number)
