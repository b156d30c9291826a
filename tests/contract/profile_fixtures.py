"""Stores under a profile, on ordinary PostgreSQL: no statement uses what the profile lacks."""

import asyncio
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
from tests.postgres import Databases

from cadenza.adapters.stores.postgres.engines.profile import EngineProfile
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.testing import FakeIds

USES = {
    "row_places": re.compile(r"\bctid\b|\btableoid\b|::tid\b"),
    "advisory_locks": re.compile(r"pg_(?:try_)?advisory"),
    "notifications": re.compile(r"pg_notify|^\s*LISTEN\b"),
    "partitions": re.compile(r"\bPARTITION (?:OF|BY RANGE)|ATTACH PARTITION|runs_default|pg_inherits"),
    "skip_locked_in_ctes": re.compile(r"\bWITH\b.*SKIP LOCKED", re.DOTALL),
}
"""How a statement is told that uses an ability."""


class WatchedPool(PostgresPool):
    """A pool that notes every statement which the engine of its profile would not understand."""

    def __init__(self, url: str, **options: Any) -> None:
        super().__init__(url, **options)
        self.refused: list[str] = []
        connect = self._connector.connect

        async def watched(*given: Any, **named: Any) -> "asyncpg.Connection[asyncpg.Record]":
            connection = await connect(*given, **named)
            connection.add_query_logger(self._note)
            return connection

        self._connector.connect = watched  # type: ignore[method-assign]

    async def _note(self, query: asyncpg.connection.LoggedQuery) -> None:
        missing = [name for name in USES if not getattr(self.profile, name)]
        self.refused += [f"{name}: {query.query}" for name in missing if USES[name].search(query.query)]


def databases_of(databases: Databases, profile: EngineProfile, kept: dict[str, Databases]) -> Databases:
    """Databases on the same server whose tables were made for a profile."""
    return kept.setdefault(str(profile), Databases(databases.url, profile))


@asynccontextmanager
async def stores_under(
    profile: EngineProfile, url: str, count: int = 4
) -> AsyncIterator[Sequence[PostgresStore]]:
    """Stores on one database; in the end, none of them has used what is missing."""
    ids = FakeIds()
    pools = [WatchedPool(url, size=4, profile=profile) for _ in range(count)]
    stores = [PostgresStore(pool, ids) for pool in pools]
    try:
        yield stores
    finally:
        await asyncio.gather(*(store.close() for store in stores))
    assert [statement for pool in pools for statement in pool.refused] == []
