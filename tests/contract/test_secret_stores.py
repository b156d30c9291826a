"""Every store keeps every promise about secrets."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.postgres import Databases, databases

from cadenza.adapters.stores.memory.access.keys_tenants import MemorySealed
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.sql.access.secrets import SqlSealed
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.dialect import SqliteDatabase
from cadenza.testing.contracts import SecretContract

__all__ = ["databases"]


class TestMemorySecrets(SecretContract):
    @pytest.fixture
    def sealed(self) -> MemorySealed:
        return MemorySealed()


class TestSqliteSecrets(SecretContract):
    @pytest.fixture
    async def sealed(self, tmp_path: Path) -> AsyncIterator[SqlSealed]:
        await migrate(f"sqlite:///{tmp_path / 'cadenza.db'}")
        file = SqliteFile(tmp_path / "cadenza.db")
        yield SqlSealed(SqliteDatabase(file))
        await file.close()


class TestPostgresSecrets(SecretContract):
    @pytest.fixture(params=[True, False], ids=["prepared", "pooled"])
    def prepared(self, request: pytest.FixtureRequest) -> bool:
        return bool(request.param)

    @pytest.fixture
    def url(self, databases: Databases) -> str:
        return databases.clean()

    @pytest.fixture
    async def sealed(self, url: str, *, prepared: bool) -> AsyncIterator[SqlSealed]:
        pool = PostgresPool(url, size=2, prepared=prepared)
        yield SqlSealed(pool)
        await pool.close()
