"""Real workers on a real PostgreSQL, killed and cut off: each slot ends in one verdict."""

import asyncio
import os
import time
from collections import Counter
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from random import Random

import pytest
from tests.faults.engine_profiles import PROFILES, PROFILES_IN_SOAK
from tests.faults.failover.replica_pair import synchronous_standby
from tests.faults.scheduling.history_checks import History, report, violations
from tests.faults.scheduling.worker_pool import LEASE_MS, WorkerPool, finished, populate
from tests.postgres import Cluster, cluster, databases, free_port, newest_databases, tcp_url

from cadenza.adapters.stores.postgres.engines.profile import profile_of
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.domain.scheduling.run import RunStatus

__all__ = ["cluster", "databases", "newest_databases"]

SOAK = bool(os.environ.get("CADENZA_SOAK"))
ENDPOINTS = 5_000 if SOAK else 600
KILLS = 50 if SOAK else 3
FREEZES = 12 if SOAK else 1
OUTAGES = 5 if SOAK else 1
FAILOVERS = 3 if SOAK else 1
AFTERWARDS = 20
"""Endpoints that are added after the last failover, however soon the workers have run the others."""


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


def check(history: History, dispatched_runs: Counter[str]) -> None:
    """Nothing was lost, nothing doubled in silence, and nobody is paused for what others did."""
    assert list(violations(history, dispatched_runs)) == []
    assert len(history) == ENDPOINTS
    assert [name for name, (endpoint, _) in history.items() if endpoint.pause_reason] == []


@pytest.mark.parametrize("profile", PROFILES)
async def test_killed_workers_lose_nothing_and_double_nothing_in_silence(
    cluster: Cluster, tmp_path: Path, profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CADENZA_DATABASE_PROFILE", profile)
    await migrate(cluster.url, profile_of(profile))
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
    report(history, kills=KILLS)
    check(history, dispatched_runs)
    lost = [run for _, runs in history.values() for run in runs if run.status is RunStatus.ABANDONED]
    took_ms = [(run.finished_at - run.claimed_at).total_seconds() * 1_000 for run in lost if run.finished_at]
    assert max(took_ms, default=0) <= 3 * LEASE_MS


@pytest.mark.parametrize("profile", PROFILES)
async def test_workers_survive_a_database_that_crashes_and_comes_back(
    cluster: Cluster, tmp_path: Path, profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CADENZA_DATABASE_PROFILE", profile)
    await migrate(cluster.url, profile_of(profile))
    await populate(cluster.url, ENDPOINTS)
    with WorkerPool(cluster.url, tmp_path, run_ms=(50, 400)) as pool:
        for _ in range(2):
            pool.start()
        for _ in range(OUTAGES):
            await asyncio.to_thread(time.sleep, 0.5)
            await asyncio.to_thread(cluster.stop, "immediate")
            await asyncio.to_thread(time.sleep, 0.5)
            await asyncio.to_thread(cluster.start)
        history = await finished(cluster.url)
        assert pool.stop() == [0, 0]
        dispatched_runs = pool.dispatched_runs()
    report(history, outages=OUTAGES)
    check(history, dispatched_runs)


@pytest.mark.parametrize("profile", PROFILES_IN_SOAK)
async def test_frozen_workers_lose_nothing_and_double_nothing_in_silence(
    cluster: Cluster, tmp_path: Path, profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CADENZA_DATABASE_PROFILE", profile)
    await migrate(cluster.url, profile_of(profile))
    await populate(cluster.url, ENDPOINTS)
    chance = Random(1)
    with WorkerPool(cluster.url, tmp_path, run_ms=(200, 1_600)) as pool:
        frozen, _ = pool.start(), pool.start()
        for _ in range(FREEZES):
            await asyncio.sleep(chance.uniform(0.05, 0.6))
            await pool.freeze(frozen)
        history = await finished(cluster.url)
        assert pool.stop() == [0, 0]
        dispatched_runs = pool.dispatched_runs()
    report(history, freezes=FREEZES)
    check(history, dispatched_runs)


async def test_workers_move_to_the_server_that_takes_over_and_lose_nothing(
    cluster: Cluster, tmp_path: Path
) -> None:
    await migrate(cluster.url)
    await populate(cluster.url, ENDPOINTS - AFTERWARDS)
    ports, primary = [free_port() for _ in range(FAILOVERS)], cluster
    promoted_at = datetime.now(UTC)
    url = tcp_url(cluster.port, *ports) + "?target_session_attrs=read-write"
    with ExitStack() as stack, WorkerPool(url, tmp_path, run_ms=(200, 1_600)) as pool:
        standby = await synchronous_standby(primary, ports[0])
        stack.callback(standby.remove)
        for _ in range(2):
            pool.start()
        for port in [*ports[1:], None]:
            await asyncio.sleep(0.5)
            await asyncio.to_thread(primary.stop, "immediate")
            await asyncio.to_thread(standby.promote)
            primary, promoted_at = standby, datetime.now(UTC)
            if port is not None:
                standby = await synchronous_standby(primary, port)
                stack.callback(standby.remove)
        await populate(primary.url, AFTERWARDS, after=ENDPOINTS - AFTERWARDS)
        history = await finished(primary.url)
        assert pool.stop() == [0, 0]
        dispatched_runs = pool.dispatched_runs()
    report(history, failovers=FAILOVERS)
    check(history, dispatched_runs)
    assert any(run.claimed_at > promoted_at for _, runs in history.values() for run in runs)
