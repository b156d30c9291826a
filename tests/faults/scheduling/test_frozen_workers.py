"""A worker that was frozen beyond its lease sends nothing that it no longer has the right to send."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from random import Random

import pytest
from aiohttp import web
from tests.faults.engine_profiles import PROFILES, SOAK
from tests.postgres import Cluster, cluster, databases, newest_databases

from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.stores.postgres.engines.profile import profile_of
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.run import RunStatus
from cadenza.domain.scheduling.target import HttpTarget
from cadenza.ports.catalog import Page
from cadenza.ports.scheduling import RunFilter
from cadenza.testing import an_endpoint

__all__ = ["cluster", "databases", "newest_databases"]

FREEZES = 28 if SOAK else 2
MOST_FREEZES = FREEZES + 30
"""A worker may be frozen between two runs; it is frozen again until a run was lost."""
ENDPOINTS = 150
LEASE_MS = 1_000
SETTINGS = {
    "CADENZA_LEASE_MS": str(LEASE_MS),
    "CADENZA_JITTER_MS": "0",
    "CADENZA_GRACE_MS": "1000",
    "CADENZA_ALLOW_PRIVATE_TARGETS": "true",
}
ON_THE_WAY = timedelta(milliseconds=20)
"""How long a request may take from the worker to the target.

One that was between the look at its lease and its socket when the process was frozen is sent afterwards,
and nothing can call it back. Without the look it is more than one in each freeze.
"""


@asynccontextmanager
async def counting_target(busy: asyncio.Event) -> AsyncIterator[tuple[str, dict[str, datetime]]]:
    """A target on loopback, and when the request of each run arrived."""
    arrived: dict[str, datetime] = {}

    async def answer(request: web.Request) -> web.Response:
        arrived[request.headers["Cadenza-Run-Id"]] = datetime.now(UTC)
        if len(arrived) >= ENDPOINTS:
            busy.set()
        await asyncio.sleep(0.02)
        return web.Response()

    app = web.Application()
    app.router.add_get("/", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/", arrived
    finally:
        await runner.cleanup()


def start(url: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "cadenza", "worker"],
        env=os.environ | SETTINGS | {"CADENZA_DATABASE_URL": url},
        stderr=subprocess.DEVNULL,
    )


@pytest.mark.parametrize("profile", PROFILES)
async def test_a_frozen_worker_does_not_send_what_another_may_have_sent(
    cluster: Cluster, profile: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CADENZA_DATABASE_PROFILE", profile)
    await migrate(cluster.url, profile_of(profile))
    chance, store = Random(1), PostgresStore(PostgresPool(cluster.url), TimeOrderedIds())
    busy = asyncio.Event()
    async with counting_target(busy) as (url, arrived):
        for number in range(ENDPOINTS):
            await store.endpoints.add(
                an_endpoint(
                    f"page-{number}",
                    target=HttpTarget(url),
                    baseline=Every(500),
                    next_run_at=datetime.now(UTC),
                )
            )
        workers = [start(cluster.url) for _ in range(2)]
        try:
            await asyncio.wait_for(busy.wait(), timeout=60)
            freezes = 0
            while freezes < FREEZES or (freezes < MOST_FREEZES and not await lost_runs(store)):
                workers[0].send_signal(signal.SIGSTOP)
                await asyncio.sleep(2 * LEASE_MS / 1_000)
                workers[0].send_signal(signal.SIGCONT)
                await asyncio.sleep(chance.uniform(0.3, 0.8))
                freezes += 1
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()
    lost = await lost_runs(store)
    await store.close()
    late = [run_id for run_id, at in lost.items() if arrived.get(run_id, at) > at + ON_THE_WAY]
    assert lost, "no run was lost, so nothing was tried"
    assert len(late) <= 1 + freezes // 20, late


async def lost_runs(store: PostgresStore) -> dict[str, datetime]:
    """When each run was given up whose worker was frozen."""
    found = await store.runs.find_runs(
        "default", wanted=RunFilter(statuses=frozenset({RunStatus.ABANDONED})), page=Page(limit=10_000)
    )
    return {run.id: run.finished_at for run in found.runs if run.finished_at is not None}
