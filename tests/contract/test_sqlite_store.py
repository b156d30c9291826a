"""The SQLite store keeps every promise of a store."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cadenza.adapters.sql.schema import metadata
from cadenza.adapters.sql.sqlite.file import SqliteFile
from cadenza.adapters.sql.sqlite.store import SqliteStore
from cadenza.testing import FakeIds
from cadenza.testing.contracts import StoreContract
from sqlalchemy import create_engine


class TestSqliteStore(StoreContract):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[SqliteStore]:
        engine = create_engine(f"sqlite:///{tmp_path / 'cadenza.db'}")
        metadata.create_all(engine)
        engine.dispose()
        store = SqliteStore(SqliteFile(tmp_path / "cadenza.db"), FakeIds())
        yield store
        await store.close()
