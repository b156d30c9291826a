"""The SQLite store keeps every promise of a store."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cadenza.adapters.sql.migrate import migrate
from cadenza.adapters.sql.sqlite.file import SqliteFile
from cadenza.adapters.sql.sqlite.store import SqliteStore
from cadenza.testing import FakeIds
from cadenza.testing.contracts import StoreContract


class TestSqliteStore(StoreContract):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[SqliteStore]:
        await migrate(f"sqlite:///{tmp_path / 'cadenza.db'}")
        store = SqliteStore(SqliteFile(tmp_path / "cadenza.db"), FakeIds())
        yield store
        await store.close()
