"""The SQLite store keeps every promise of a store."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sqlite import runs as figures
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.testing import FakeIds
from cadenza.testing.contracts import StoreContract
from cadenza.testing.contracts.harness import Bench


async def test_a_stretch_is_the_same_by_rows_and_by_the_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await migrate(f"sqlite:///{tmp_path / 'cadenza.db'}")
    store = SqliteStore(SqliteFile(tmp_path / "cadenza.db"), FakeIds())
    bench = Bench(store)
    busy, other = await bench.add("busy"), await bench.add("other")
    for _ in range(40):
        await bench.end(*await bench.claim())
        bench.pass_ms(60_000)
    begin, end = bench.ms(-25 * 60_000), bench.ms(-10 * 60_000)
    for one, limit in ((busy, 100), (busy, 7), (other, 100)):
        told = []
        for few in (1_000, -1):
            monkeypatch.setattr(figures, "FEW", few)
            told.append(await store.statistics.runs_between(one.key, since=begin, until=end, limit=limit))
        assert told[0] == told[1]
        assert len(told[0]) == min(limit, 15)
    await store.close()


class TestSqliteStore(StoreContract):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[SqliteStore]:
        await migrate(f"sqlite:///{tmp_path / 'cadenza.db'}")
        store = SqliteStore(SqliteFile(tmp_path / "cadenza.db"), FakeIds())
        yield store
        await store.close()
