"""The PostgreSQL store keeps every promise of a store."""

from collections.abc import AsyncIterator, Sequence

import pytest
from tests.postgres import Databases, databases

from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.testing import FakeIds
from cadenza.testing.contracts import StoreContract

__all__ = ["databases"]


class TestPostgresStore(StoreContract):
    @pytest.fixture
    def url(self, databases: Databases) -> str:
        return databases.clean()

    @pytest.fixture
    async def peers(self, url: str) -> AsyncIterator[Sequence[PostgresStore]]:
        ids = FakeIds()
        peers = [PostgresStore(PostgresPool(url, size=4), ids) for _ in range(4)]
        yield peers
        for peer in peers:
            await peer.close()

    @pytest.fixture
    def store(self, peers: Sequence[PostgresStore]) -> PostgresStore:
        return peers[0]
