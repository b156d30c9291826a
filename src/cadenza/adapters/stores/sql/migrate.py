"""Brings the schema of a database up to date."""

import asyncio
import logging
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from threading import get_ident
from typing import TYPE_CHECKING, NamedTuple

from cadenza.adapters.stores.postgres.engines.profile import POSTGRESQL, EngineProfile
from cadenza.adapters.stores.postgres.engines.reduced_connection import LOCK_MIGRATIONS, make_migration_lock
from cadenza.adapters.stores.sql.migrations import HEAD
from cadenza.adapters.stores.sqlite.database import SqliteFile, translated_errors
from cadenza.domain.errors import Unavailable

if TYPE_CHECKING:  # The driver is an extra, which SQLite does not need.
    from cadenza.adapters.stores.postgres.pool import Connection, PostgresPool

SQLITE = "sqlite:///"
MIGRATION_LOCK = 7_236_836_942
"""The number of the advisory lock; any that is not used for another lock."""

PARTITION = "PARTITION"
PARTITIONED = " PARTITION BY RANGE (finished_at)"
ALEMBIC_LOGGERS = ("alembic.runtime.plugins", "alembic.runtime.migration")


class Migrated(NamedTuple):
    """The version of the schema before, None if there was none, and after."""

    before: str | None
    after: str
    deleted: Mapping[str, int] = {}
    """How many rows were deleted from which tables: those that belonged to nothing any more."""


async def migrate(url: str, profile: EngineProfile = POSTGRESQL) -> Migrated:
    """Bring the schema up to date; safe when several processes do so at once.

    Where runs are not partitioned, that is decided when the tables are made.
    """
    before = await version(url)
    if not _upgradable(before, url):
        return Migrated(before, HEAD)
    if url.startswith(SQLITE):
        return await asyncio.to_thread(_migrate_sqlite, sqlite_path(url))
    pool = _pool(url)
    try:
        if not profile.advisory_locks:
            await make_migration_lock(pool)
        return await pool.write(partial(_migrate_postgres, profile=profile))
    finally:
        await pool.close()


async def check(url: str) -> None:
    """Unavailable, unless the schema is the one that this code was written for."""
    if _upgradable(await version(url), url):
        raise Unavailable(f"The tables in {name_of(url)} are missing or old: run `cadenza migrate`.")


async def version(url: str) -> str | None:
    """The version of the schema; None if there is no schema yet."""
    if url.startswith(SQLITE):
        return await asyncio.to_thread(_sqlite_version, sqlite_path(url))
    pool = _pool(url)
    try:
        return await pool.write(_postgres_version)
    finally:
        await pool.close()


def sqlite_path(url: str) -> Path:
    """The path in a URL."""
    return Path(url.removeprefix(SQLITE))


def name_of(url: str) -> str:
    """The database of a URL for messages, without its password."""
    return str(sqlite_path(url) if url.startswith(SQLITE) else _pool(url).address)


def _upgradable(before: str | None, url: str) -> bool:
    """Is the schema older than this code? Refuses one that is newer."""
    if before is not None and before > HEAD:
        raise Unavailable(
            f"The tables in {name_of(url)} are of a newer version ({before}) than this program knows"
            f" ({HEAD}): upgrade it."
        )
    return before != HEAD


def _statements(dialect: str, before: str | None) -> tuple[str, ...]:
    with _silent_alembic():
        from cadenza.adapters.stores.sql.migrations.script import statements  # noqa: PLC0415 - Mostly there is nothing to do.

        return statements(dialect, before)


@contextmanager
def _silent_alembic() -> Iterator[None]:
    """Keep Alembic's lines out of a program's log; those of other threads are the program's own."""
    loggers, here = [logging.getLogger(name) for name in ALEMBIC_LOGGERS], get_ident()

    def is_elsewhere(record: logging.LogRecord) -> bool:
        return record.thread != here

    for logger in loggers:
        logger.addFilter(is_elsewhere)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(is_elsewhere)


def _sqlite_version(path: Path) -> str | None:
    if not path.exists():
        return None
    with translated_errors(path):
        connection = SqliteFile(path).connect()
        try:
            return _read_version(connection)
        finally:
            connection.close()


def _read_version(connection: sqlite3.Connection) -> str | None:
    try:
        row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.OperationalError as problem:
        if "no such table" in str(problem):
            return None
        raise
    return row[0] if row else None


def _migrate_sqlite(path: Path) -> Migrated:
    with translated_errors(path):
        connection = SqliteFile(path).connect()
        try:
            connection.execute("PRAGMA foreign_keys = OFF")  # SQLite changes a table by making it anew.
            connection.execute("BEGIN IMMEDIATE")
            before, deleted = _read_version(connection), Counter[str]()
            if before != HEAD:
                for statement in _statements("sqlite", before):
                    rows = connection.execute(statement).rowcount
                    deleted.update(_deleted(statement, rows))
            connection.execute("COMMIT")
        finally:
            connection.close()
    return Migrated(before, HEAD, deleted)


def _pool(url: str) -> "PostgresPool":
    try:
        from cadenza.adapters.stores.postgres.pool import PostgresPool  # noqa: PLC0415 - See above.
    except ModuleNotFoundError:
        raise Unavailable("PostgreSQL takes the extra postgres, which is not installed.") from None
    return PostgresPool(url, size=1, prepared=False)


async def _postgres_version(connection: "Connection") -> str | None:
    if await connection.fetchval("SELECT to_regclass('alembic_version')") is None:
        return None
    found: str | None = await connection.fetchval("SELECT version_num FROM alembic_version")
    return found


async def _migrate_postgres(connection: "Connection", profile: EngineProfile) -> Migrated:
    from cadenza.adapters.stores.postgres.partitions import days_ahead, make_partition  # noqa: PLC0415 - See above.

    if profile.advisory_locks:
        await connection.execute(f"SELECT pg_advisory_xact_lock({MIGRATION_LOCK})")
    else:
        await connection.execute(LOCK_MIGRATIONS)
    before, deleted = await _postgres_version(connection), Counter[str]()
    if before != HEAD:
        for statement in _statements_for(profile, before):
            status = await connection.execute(statement)  # Such as DELETE 3.
            deleted.update(_deleted(statement, int(status.split()[-1]) if status[-1:].isdigit() else 0))
        for day in days_ahead(await connection.fetchval("SELECT now()")) if profile.partitions else ():
            await make_partition(connection, day)
    return Migrated(before, HEAD, deleted)


def _statements_for(profile: EngineProfile, before: str | None) -> Iterator[str]:
    """The statements for an engine; without partitions, `runs` is a table with an index by age."""
    for statement in _statements("postgresql", before):
        if profile.partitions or PARTITION not in statement:
            yield statement
        elif PARTITIONED in statement:
            yield statement.replace(PARTITIONED, "")
            yield "CREATE INDEX runs_by_age ON runs (finished_at)"


def _deleted(statement: str, rows: int) -> dict[str, int]:
    """The table of a statement that deleted rows, with their number."""
    words = statement.split(maxsplit=3)
    return {words[2]: rows} if words[:2] == ["DELETE", "FROM"] and rows > 0 else {}
