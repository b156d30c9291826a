"""Planners on PostgreSQL: a feed that misses nothing, and one lock for all processes."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.integration.postgres.postgres_fixtures import a_store, fill, many
from tests.integration.test_planner_command import following

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.stores.postgres import planner_feed
from cadenza.adapters.stores.postgres.locks import leader_lock
from cadenza.adapters.stores.postgres.locks.leader_lock import (
    LEADER_LOCK_KEY,
    LeasedLeaderLock,
    PostgresLeaderLock,
)
from cadenza.adapters.stores.postgres.partitions import ensure_partitions
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.domain.json_values import Json
from cadenza.domain.planning.planner_settings import Learning, Planning
from cadenza.domain.scheduling.run import Outcome, RunStatus
from cadenza.testing import FakeLog
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.contracts.harness import MINUTE, Bench
from cadenza.testing.contracts.planning.feed import all_fed, beginning

ACTS, WAITS = "this process is the planner leader", "another process runs the planners"
SILENCE = Planning(learning=Learning.OFF, http_hints=True)


async def ran(store: PostgresStore, count: int) -> set[str]:
    """Run so many endpoints in commits of their own; their ids."""
    bench = Bench(store)
    claims = await bench.claim(limit=count)
    for claim in claims:
        await bench.end(claim)
    return {claim.endpoint.id for claim in claims}


@asynccontextmanager
async def under_way(store: PostgresStore) -> AsyncIterator[Any]:
    """A transaction that has begun, and does not end by itself."""
    connection = await store._pool.connect()
    try:
        await connection.execute("BEGIN; SELECT pg_current_xact_id()")
        yield connection
    finally:
        connection.terminate()


LATE = """
INSERT INTO runs (tenant_id, id, endpoint_id, job_id, slot, due_at, attempt, source, claimed_at, finished_at,
    status, duration_ms, late_ms, coalesced, verdict)
SELECT tenant_id, 'late', 'late', job_id, slot, due_at, attempt, source, claimed_at,
    finished_at - interval '1 hour', status, duration_ms, late_ms, coalesced, verdict FROM runs LIMIT 1
"""


async def test_a_run_that_is_committed_long_after_later_ones_is_fed(database_url: str) -> None:
    """Its transaction began first, and ends last."""
    async with a_store(database_url) as store:
        await fill(store._pool, many(30, NEW_YEAR))
        cursor = await beginning(store)
        async with under_way(store) as late:
            others = await ran(store, 20)
            told, cursor = await all_fed(store, cursor, limit=7)
            assert {run.endpoint_id for run in told} == others
            await late.execute(LATE)
            assert (await all_fed(store, cursor, limit=7))[0] != []
            await late.execute("COMMIT")
        told, cursor = await all_fed(store, cursor, limit=7)
        assert "late" in {run.id for run in told}
        assert (await all_fed(store, cursor))[0] == []


async def test_a_transaction_that_never_ends_does_not_hold_up_the_feed(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(planner_feed, "MOST_REPEATED", 15)
    async with a_store(database_url) as store:
        await fill(store._pool, many(60, NEW_YEAR))
        async with under_way(store):
            cursor = await beginning(store)
            repeated = 0
            for _ in range(3):
                expected = await ran(store, 20)
                seen: set[str] = set()
                for _ in range(20):
                    runs, cursor = await store.analyses.ended_since(cursor, 7)
                    seen |= {run.endpoint_id for run in runs}
                    repeated += len(runs)
                assert expected <= seen
        assert 60 <= repeated < 200


async def test_runs_that_move_into_a_partition_are_missed_by_nobody(database_url: str) -> None:
    async with a_store(database_url) as store:
        await fill(store._pool, many(10, NEW_YEAR))
        cursor = await beginning(store)
        expected = await ran(store, 10)
        await ensure_partitions(store._pool, NEW_YEAR)
        try:
            told, cursor = await all_fed(store, cursor)
            assert {run.endpoint_id for run in told} == expected
            bench = Bench(store)
            bench.pass_ms(MINUTE)
            again, _ = await all_fed(store, cursor)
            assert again == []
        finally:
            await store._pool.ask("TRUNCATE runs")
            for row in await store._pool.ask(
                "SELECT relname FROM pg_class WHERE relname ~ '^runs_2025' AND relkind = 'r'"
            ):
                await store._pool.ask(f"DROP TABLE {row[0]}")


class Rota:
    """Work that waits for ever, and remembers who is at it."""

    def __init__(self) -> None:
        self.at_work: list[int] = []
        self.begun = 0

    def work(self, number: int) -> Callable[[], Coroutine[Any, Any, None]]:
        async def working() -> None:
            self.begun += 1
            self.at_work.append(number)
            try:
                await asyncio.Event().wait()
            finally:
                self.at_work.remove(number)

        return working


LET_GO = """
SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory' AND granted
AND ((classid::bigint << 32) | objid::bigint) = $1
"""


async def test_one_process_plans_at_a_time_and_another_goes_on_when_it_loses_its_session(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leader_lock, "RETRY_S", 0.02)
    monkeypatch.setattr(leader_lock, "CHECK_INTERVAL_S", 0.02)
    rota, log = Rota(), FakeLog()
    holding = [
        PostgresLeaderLock(PostgresPool(database_url), log).hold(rota.work(number)) for number in range(3)
    ]
    tasks = [asyncio.create_task(one) for one in holding]
    async with a_store(database_url) as store:
        for times in range(1, 5):
            await until(lambda times=times: rota.begun == times and len(rota.at_work) == 1)  # type: ignore[misc]
            await asyncio.sleep(0.1)
            assert (rota.begun, len(rota.at_work)) == (times, 1)
            assert len(await store._pool.ask(LET_GO, LEADER_LOCK_KEY)) == 1
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert rota.at_work == []
    assert log.events().count(ACTS) >= 4


async def test_without_sessions_one_plans_at_a_time_and_another_goes_on_when_its_lease_runs_out(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leader_lock, "RETRY_S", 0.02)
    rota, log = Rota(), FakeLog()
    pool = PostgresPool(database_url)
    tasks = [
        asyncio.create_task(
            LeasedLeaderLock(PostgresPool(database_url), log, f"process-{number}", lease_s=1).hold(
                rota.work(number)
            )
        )
        for number in range(3)
    ]
    for times in range(1, 4):
        await until(lambda times=times: rota.begun == times and len(rota.at_work) == 1)  # type: ignore[misc]
        await asyncio.sleep(0.5)
        assert (rota.begun, len(rota.at_work)) == (times, 1)
        taken = "UPDATE locks SET holder = 'stranger', until = clock_timestamp() + interval '1 second'"
        await pool.ask(taken)
        await until(lambda: rota.at_work == [])
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert rota.at_work == []
    assert await pool.ask("SELECT name FROM locks WHERE holder <> 'stranger'") == []
    await pool.close()


async def test_who_was_idle_for_longer_than_a_lease_leads_again_only_when_it_has_taken_it_again(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leader_lock, "RETRY_S", 0.02)
    rota, gate, pool = Rota(), asyncio.Event(), PostgresPool(database_url)
    gate.set()

    async def sleep(span_s: float) -> None:
        await asyncio.sleep(span_s)
        await gate.wait()

    lock = LeasedLeaderLock(pool, FakeLog(), "idle", lease_s=0.5, sleep=sleep)
    holding = asyncio.create_task(lock.hold(rota.work(0)))
    await until(lambda: rota.begun == 1)
    gate.clear()
    other = PostgresPool(database_url)
    taken = "UPDATE locks SET holder = 'stranger', until = clock_timestamp() + interval '1 hour'"
    while await other.ask("SELECT FROM locks WHERE until > clock_timestamp()"):  # noqa: ASYNC110 - A row.
        await asyncio.sleep(0.05)
    await other.ask(taken)
    gate.set()
    await until(lambda: rota.at_work == [])
    assert rota.begun == 1
    await other.ask("DELETE FROM locks")
    await until(lambda: rota.begun == 2)
    holding.cancel()
    await asyncio.gather(holding, return_exceptions=True)
    await other.close()


async def test_a_bug_in_the_work_is_logged_and_frees_the_leader_lock(database_url: str) -> None:
    async def buggy() -> None:
        raise ZeroDivisionError

    async def fine() -> None:
        return

    pool = PostgresPool(database_url, size=1)
    with pytest.raises(ZeroDivisionError):
        await PostgresLeaderLock(pool, FakeLog()).hold(buggy)
    await asyncio.wait_for(PostgresLeaderLock(pool, FakeLog()).hold(fine), 60)


async def until(holds: Callable[[], bool], seconds: float = 60) -> None:
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110 - what holds may be anything, and nobody sets an event for it
            await asyncio.sleep(0.01)


class Planners:
    """`cadenza planner`, as often as a test wants."""

    def __init__(self, url: str, folder: Path) -> None:
        self._url, self._folder = url, folder
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> int:
        number = len(self.processes)
        with self._log(number).open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, "-m", "cadenza", "planner"],
                env=os.environ | {"CADENZA_DATABASE_URL": self._url},
                cwd=self._folder,
                stderr=out,
                stdout=out,
            )
        self.processes.append(process)
        return number

    def says(self, number: int, words: str) -> bool:
        return words in self._log(number).read_text()

    def _log(self, number: int) -> Path:
        return self._folder / f"planner-{number}.log"


@contextmanager
def planner_processes(url: str, folder: Path) -> Iterator[Planners]:
    planners = Planners(url, folder)
    try:
        yield planners
    finally:
        for process in planners.processes:
            process.kill()
            process.wait()


async def test_when_the_planner_is_killed_another_takes_over_within_seconds(
    database_url: str, tmp_path: Path
) -> None:
    with planner_processes(database_url, tmp_path) as planners:
        async with a_store(database_url) as store:
            first = planners.start()
            await until(lambda: planners.says(first, ACTS))
            second = planners.start()
            await until(lambda: planners.says(second, WAITS))
            assert not planners.says(second, ACTS)
            await asks_for_patience(store, "before")
            planners.processes[first].send_signal(signal.SIGKILL)
            killed = time.monotonic()
            await until(lambda: planners.says(second, ACTS))
            assert time.monotonic() - killed < 20
            await asks_for_patience(store, "after")
        planners.processes[second].terminate()
        assert await asyncio.to_thread(planners.processes[second].wait, 20) == 0


async def asks_for_patience(store: PostgresStore, name: str) -> None:
    """An endpoint runs, and its answer asks for a pause: it is paused soon."""
    await following(store)
    bench = Bench(store)
    now = SystemClock().now()
    bench.clock.jump((now - bench.clock.now()) / timedelta(milliseconds=1))
    endpoint = await bench.add(name, planning=SILENCE)
    claim = await bench.claim_one()
    response: Json = {"status": 503, "headers": {"retry-after": "3600"}}
    await bench.finalize([(claim, Outcome(RunStatus.FAILURE, response=response))])
    limit = time.monotonic() + 60
    while (await bench.fresh(endpoint)).paused_until is None:
        assert time.monotonic() < limit, "nobody planned"
        await asyncio.sleep(0.02)
    (hint,) = await store.runs.hints(endpoint.key)
    assert hint.origin == "planner:http"
