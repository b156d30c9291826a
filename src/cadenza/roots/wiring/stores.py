"""The store of a database URL."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from cadenza.adapters.stores.postgres.engines.profile import profile_of
from cadenza.domain.errors import InvalidRequest
from cadenza.engine.next_run_log import log_next_runs
from cadenza.ports.ids import Ids
from cadenza.ports.store import Store
from cadenza.ports.telemetry import Logger
from cadenza.roots.settings import SQLITE, Settings
from cadenza.roots.wiring.extras import POSTGRES, POSTGRESQL, missing

if TYPE_CHECKING:  # Each kind of database costs its own imports.
    from cadenza.adapters.stores.postgres.pool import PostgresPool
    from cadenza.adapters.stores.sqlite.database import SqliteFile

DATABASE_SETTING = "CADENZA_DATABASE_URL"


@asynccontextmanager
async def open_store(settings: Settings, *, ids: Ids, log: Logger) -> AsyncIterator[Store]:
    """The store behind the database URL, ready to use, and closed in the end."""
    url = check_url(settings.database_url)
    opening = (_sqlite if url.startswith(SQLITE) else _postgres)(settings, ids, log)
    async with opening as store:
        yield log_next_runs(store, log)


def check_url(url: str, name: str = DATABASE_SETTING) -> str:
    """A URL that names a kind of database there is a store for."""
    if not url.startswith((SQLITE, *POSTGRES)) or url.removeprefix(SQLITE) in ("", ":memory:"):
        raise InvalidRequest(f"{name} must be sqlite:///FILE or postgresql://HOST/DATABASE.", "database_url")
    return url


def open_file(settings: Settings) -> "SqliteFile":
    """The SQLite file of the settings."""
    from cadenza.adapters.stores.sqlite.database import SqliteFile

    path = Path(settings.database_url.removeprefix(SQLITE))
    return SqliteFile(path, synchronous=settings.sqlite_synchronous)


def open_pool(settings: Settings, *, size: int = 8) -> "PostgresPool":
    """Connections to the PostgreSQL server of the settings, made when they are needed."""
    try:
        from cadenza.adapters.stores.postgres.pool import PostgresPool
    except ModuleNotFoundError:
        raise missing(POSTGRESQL) from None
    return PostgresPool(
        settings.database_url,
        size=size,
        prepared=settings.database_prepared,
        timeout_s=settings.database_timeout_ms / 1_000,
        profile=profile_of(settings.database_profile),
    )


@asynccontextmanager
async def _sqlite(settings: Settings, ids: Ids, log: Logger) -> AsyncIterator[Store]:
    from cadenza.adapters.stores.moves.records import refuse_moved
    from cadenza.adapters.stores.sql.migrate import migrate
    from cadenza.adapters.stores.sqlite.database import is_open_to_others
    from cadenza.adapters.stores.sqlite.store import SqliteStore

    migrated = await migrate(settings.database_url)
    for table, rows in migrated.deleted.items():
        log.warning("the migration deleted rows without a parent row", table=table, rows=rows)
    file = open_file(settings)
    if is_open_to_others(file.path):
        log.warning("other users of this machine may read the database; run chmod 600", path=f"{file.path}*")
    store = SqliteStore(file, ids)
    try:
        await refuse_moved(store.database)
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def _postgres(settings: Settings, ids: Ids, log: Logger) -> AsyncIterator[Store]:
    pool = open_pool(settings)
    from cadenza.adapters.stores.moves.records import refuse_moved
    from cadenza.adapters.stores.postgres.store import PostgresStore
    from cadenza.adapters.stores.sql.migrate import check

    await check(settings.database_url)
    store = PostgresStore(pool, ids, log)
    try:
        await refuse_moved(pool)
        yield store
    finally:
        await store.close()
