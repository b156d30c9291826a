"""Real workers whose network to PostgreSQL is cut, goes silent or is slow: each slot ends in one verdict."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.faults.scheduling.history_checks import report, violations
from tests.faults.scheduling.tcp_proxy import TcpProxy
from tests.faults.scheduling.worker_pool import WorkerPool, finished, populate
from tests.postgres import Cluster, cluster, databases, newest_databases, tcp_url

from cadenza.adapters.stores.sql.migrate import migrate

__all__ = ["cluster", "databases", "newest_databases"]

SOAK = bool(os.environ.get("CADENZA_SOAK"))
ENDPOINTS = 5_000 if SOAK else 300
FAULTS = 20 if SOAK else 2
WORKERS = 2
SHORT_TIMEOUT = {"CADENZA_DATABASE_TIMEOUT_MS": "1000"}
LONG_LEASE = {"CADENZA_LEASE_MS": "30000"}
"""Claim, start and settle take several round trips each, and a lease must outlast them."""


def slow(proxy: TcpProxy) -> None:
    proxy.delay_s = 0.1


@pytest.mark.parametrize(
    ("fault", "settings"),
    [(TcpProxy.cut, SHORT_TIMEOUT), (TcpProxy.lose, SHORT_TIMEOUT), (slow, LONG_LEASE)],
    ids=["reset", "half-open", "200 ms"],
)
async def test_workers_come_back_by_themselves_and_lose_nothing(
    fault: Callable[[TcpProxy], None], settings: dict[str, str], cluster: Cluster, tmp_path: Path
) -> None:
    await migrate(cluster.url)
    with (
        TcpProxy(cluster.port) as proxy,
        WorkerPool(tcp_url(proxy.port), tmp_path, run_ms=(200, 1_600), settings=settings) as pool,
    ):
        for _ in range(WORKERS):
            await asyncio.to_thread(pool.start)
        await populate(cluster.url, ENDPOINTS)
        for _ in range(FAULTS):
            fault(proxy)
            await asyncio.sleep(0.5)
        history = await finished(cluster.url)
        assert await asyncio.to_thread(pool.stop) == [0] * WORKERS
        dispatched_runs = pool.dispatched_runs()
    report(history, faults=FAULTS)
    assert list(violations(history, dispatched_runs)) == []
    assert len(history) == ENDPOINTS
