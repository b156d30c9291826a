"""The lanes of daily users keep their contract, within one process and on PostgreSQL."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from tests.postgres import Databases, databases, newest_databases

from cadenza.adapters.daily import single_process
from cadenza.adapters.daily.single_process import FileLeaderLock, SingleProcessLanes
from cadenza.adapters.null import NoLog
from cadenza.adapters.stores.postgres.engines.profile import DISTRIBUTED
from cadenza.adapters.stores.postgres.locks.daily_lanes import PostgresLanes
from cadenza.adapters.stores.postgres.locks.leased_lanes import LeasedLanes
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.ports.daily import DailyLanes
from cadenza.testing.contracts import DailyLanesContract

__all__ = ["databases", "newest_databases"]

MOST = 8


class TestSingleProcessLanes(DailyLanesContract):
    @pytest.fixture
    def peers(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sequence[DailyLanes]:
        monkeypatch.setattr(single_process, "RETRY_S", 0.01)
        locks = [FileLeaderLock(tmp_path / "cadenza.db", NoLog(), name="daily") for _ in range(3)]
        return [SingleProcessLanes(lock, max_concurrency=MOST) for lock in locks]


class TestLeasedLanes(DailyLanesContract):
    @pytest.fixture
    async def peers(self, newest_databases: Databases) -> AsyncIterator[Sequence[DailyLanes]]:
        url = await asyncio.to_thread(newest_databases.clean)
        pools = [PostgresPool(url, profile=DISTRIBUTED) for _ in range(3)]
        yield [
            LeasedLanes(pool, NoLog(), holder=f"process-{number}", max_concurrency=MOST, retry_s=0.02)
            for number, pool in enumerate(pools)
        ]
        for pool in pools:
            await pool.close()


class TestPostgresLanes(DailyLanesContract):
    @pytest.fixture
    async def peers(self, newest_databases: Databases) -> AsyncIterator[Sequence[DailyLanes]]:
        url = await asyncio.to_thread(newest_databases.clean)
        pools = [PostgresPool(url) for _ in range(3)]
        yield [PostgresLanes(pool, NoLog(), max_concurrency=MOST, retry_s=0.02) for pool in pools]
        for pool in pools:
            await pool.close()
