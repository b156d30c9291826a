"""Limits among real workers that are killed: never exceeded, and no place is lost with its process."""

import asyncio
from pathlib import Path
from random import Random

import pytest
from tests.faults.engine_profiles import PROFILES
from tests.faults.scheduling.history_checks import violations
from tests.faults.scheduling.worker_pool import WorkerPool, finished, populate
from tests.postgres import Cluster, cluster

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.stores.postgres.engines.profile import profile_of
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.domain.access.run_limit import LimitKind, LimitUse, RunLimit
from cadenza.domain.scheduling.run import RunStatus

__all__ = ["cluster"]

ENDPOINTS, WORKERS, KILLS, MOST = 160, 4, 2, 6


async def set_limit(url: str) -> None:
    store = PostgresStore(PostgresPool(url), TimeOrderedIds())
    limit = RunLimit(tenant_id="default", kind=LimitKind.JOB, name="default", max_in_flight=MOST)
    await store.limits.put_limit(limit)
    await store.close()


async def use_of_limit(url: str) -> LimitUse:
    store = PostgresStore(PostgresPool(url), TimeOrderedIds())
    (use,) = await store.limits.uses("default", SystemClock().now())
    await store.close()
    return use


@pytest.mark.parametrize("profile", PROFILES)
async def test_killed_workers_exceed_no_limit_and_leave_no_place_taken(
    cluster: Cluster, tmp_path: Path, profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CADENZA_DATABASE_PROFILE", profile)
    await migrate(cluster.url, profile_of(profile))
    await populate(cluster.url, ENDPOINTS)
    await set_limit(cluster.url)
    chance = Random(1)
    with WorkerPool(cluster.url, tmp_path, run_ms=(30, 120)) as pool:
        for _ in range(WORKERS - 1):
            pool.start()
        for _ in range(KILLS):
            victim = pool.start()
            await asyncio.sleep(chance.uniform(0.1, 0.5))
            pool.kill(victim)
        history = await finished(cluster.url)
        assert pool.stop() == [0] * (WORKERS - 1)
        dispatched_runs = pool.dispatched_runs()
    assert list(violations(history, dispatched_runs)) == []
    assert pool.most_at_once() <= MOST
    assert (await use_of_limit(cluster.url)).in_flight == 0
    verdicts = [run.status for _, runs in history.values() for run in runs if run.verdict]
    assert verdicts == [RunStatus.SUCCESS] * ENDPOINTS
