"""Real workers on a real PostgreSQL, killed and cut off: each slot ends in one verdict."""

import asyncio
import os
import time
from pathlib import Path
from random import Random

import pytest
from tests.faults.scheduling.history_checks import violations
from tests.faults.scheduling.worker_pool import LEASE_MS, WorkerPool, finished, populate
from tests.postgres import Cluster, cluster, databases, newest_databases

from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.domain.scheduling.run import RunStatus

__all__ = ["cluster", "databases", "newest_databases"]

SOAK = bool(os.environ.get("CADENZA_SOAK"))
ENDPOINTS = 5_000 if SOAK else 600
KILLS = 50 if SOAK else 3


@pytest.mark.parametrize("workers", [2, 4])
async def test_several_workers_run_each_slot_exactly_once(
    workers: int, cluster: Cluster, tmp_path: Path
) -> None:
    await migrate(cluster.url)
    await populate(cluster.url, ENDPOINTS)
    with WorkerPool(cluster.url, tmp_path) as pool:
        for _ in range(workers):
            pool.start()
        history = await finished(cluster.url)
        assert pool.stop() == [0] * workers
        dispatched_runs = pool.dispatched_runs()
    assert list(violations(history, dispatched_runs)) == []
    assert len(dispatched_runs) == ENDPOINTS == sum(dispatched_runs.values())
    assert {run.status for _, runs in history.values() for run in runs if run.verdict} == {RunStatus.SUCCESS}


async def test_killed_workers_lose_nothing_and_double_nothing_in_silence(
    cluster: Cluster, tmp_path: Path
) -> None:
    await migrate(cluster.url)
    await populate(cluster.url, ENDPOINTS)
    chance = Random(1)
    with WorkerPool(cluster.url, tmp_path, run_ms=(50, 400)) as pool:
        pool.start()
        for _ in range(KILLS):
            victim = pool.start()
            await asyncio.sleep(chance.uniform(0.05, 0.6))
            pool.kill(victim)
        history = await finished(cluster.url)
        assert pool.stop() == [0]
        dispatched_runs = pool.dispatched_runs()
    assert list(violations(history, dispatched_runs)) == []
    assert len(history) == ENDPOINTS
    lost = [run for _, runs in history.values() for run in runs if run.status is RunStatus.ABANDONED]
    took_ms = [(run.finished_at - run.claimed_at).total_seconds() * 1_000 for run in lost if run.finished_at]
    assert max(took_ms, default=0) <= 3 * LEASE_MS


async def test_workers_survive_a_database_that_crashes_and_comes_back(
    cluster: Cluster, tmp_path: Path
) -> None:
    await migrate(cluster.url)
    await populate(cluster.url, ENDPOINTS)
    with WorkerPool(cluster.url, tmp_path, run_ms=(50, 400)) as pool:
        for _ in range(2):
            pool.start()
        for _ in range(5 if SOAK else 1):
            await asyncio.to_thread(time.sleep, 0.5)
            await asyncio.to_thread(cluster.stop, "immediate")
            await asyncio.to_thread(time.sleep, 0.5)
            await asyncio.to_thread(cluster.start)
        history = await finished(cluster.url)
        assert pool.stop() == [0, 0]
        dispatched_runs = pool.dispatched_runs()
    assert list(violations(history, dispatched_runs)) == []
    assert len(history) == ENDPOINTS
