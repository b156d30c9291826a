"""From a database URL to a store."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from cadenza.domain.errors import InvalidRequest, Unavailable
from cadenza.ports.ids import Ids
from cadenza.ports.log import Logger
from cadenza.ports.store import Store
from cadenza.roots.settings import Settings

SQLITE, POSTGRES = "sqlite:///", ("postgresql://", "postgres://")


@asynccontextmanager
async def open_store(settings: Settings, *, ids: Ids, log: Logger) -> AsyncIterator[Store]:
    """The store behind the database URL, ready to use, and closed in the end."""
    url = check_url(settings.database_url)
    opening = _sqlite(settings, ids) if url.startswith(SQLITE) else _postgres(settings, ids, log)
    async with opening as store:
        yield store


def check_url(url: str) -> str:
    """A URL that names a kind of database there is a store for."""
    if not url.startswith((SQLITE, *POSTGRES)) or url.removeprefix(SQLITE) in ("", ":memory:"):
        message = "CADENZA_DATABASE_URL must be sqlite:///FILE or postgresql://HOST/DATABASE."
        raise InvalidRequest(message, "database_url")
    return url


@asynccontextmanager
async def _sqlite(settings: Settings, ids: Ids) -> AsyncIterator[Store]:
    from cadenza.adapters.sql.migrate import migrate
    from cadenza.adapters.sql.sqlite.file import SqliteFile
    from cadenza.adapters.sql.sqlite.store import SqliteStore

    await migrate(settings.database_url)
    path = Path(settings.database_url.removeprefix(SQLITE))
    store = SqliteStore(SqliteFile(path, synchronous=settings.sqlite_synchronous), ids)
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def _postgres(settings: Settings, ids: Ids, log: Logger) -> AsyncIterator[Store]:
    try:
        from cadenza.adapters.sql.postgres.pool import PostgresPool
        from cadenza.adapters.sql.postgres.store import PostgresStore
    except ModuleNotFoundError:
        raise Unavailable("PostgreSQL needs the extra: install cadenza[postgres].") from None
    from cadenza.adapters.sql.migrate import check

    await check(settings.database_url)
    store = PostgresStore(PostgresPool(settings.database_url), ids, log)
    try:
        yield store
    finally:
        await store.close()
