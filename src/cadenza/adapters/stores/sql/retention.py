"""How long runs are kept: by age, and by number."""

import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from datetime import date, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from cadenza.adapters.stores.sql.partitions import drop_runs
from cadenza.adapters.stores.sql.rows import to_micros
from cadenza.adapters.stores.sqlite.database import SqliteFile

if TYPE_CHECKING:  # The driver is an extra; who uses SQLite does not need it.
    from cadenza.adapters.stores.postgres.pool import PostgresPool


BATCH = 2_000
# Runs are added in the order in which they finish, so the first rows are the oldest.
DELETE_OLD = (
    "DELETE FROM runs WHERE rowid IN (SELECT rowid FROM runs ORDER BY rowid LIMIT ?) AND finished_at < ?"
)
DELETE_SURPLUS = (
    "DELETE FROM runs WHERE rowid IN (SELECT rowid FROM runs"
    " WHERE rowid <= (SELECT max(rowid) FROM runs) - ? ORDER BY rowid LIMIT ?)"
)


async def retain(
    database: "SqliteFile | PostgresPool",
    *,
    now: datetime,
    max_age: timedelta | None = None,
    max_count: int | None = None,
) -> int:
    """Forget runs that are older than `max_age`, and the oldest beyond `max_count`; how many went.

    PostgreSQL drops whole days: it keeps at least what is asked for, and up to a
    day more. SQLite deletes a few rows at a time, so that nobody waits long.
    """
    if not isinstance(database, SqliteFile):
        return await drop_runs(database, now=now, max_age=max_age, max_count=max_count)
    gone = 0
    if max_age is not None:
        gone += await delete_in_steps(database, DELETE_OLD, BATCH, to_micros(now - max_age))
    if max_count is not None:
        gone += await delete_in_steps(database, DELETE_SURPLUS, max_count, BATCH)
    return gone


async def delete_in_steps(file: SqliteFile, statement: str, *arguments: int | None) -> int:
    """Delete in steps, each a commit of its own, until a step finds nothing."""

    def step(connection: sqlite3.Connection) -> int:
        return connection.execute(statement, arguments).rowcount

    gone = 0
    while deleted := await file.write(step):
        gone += deleted
    return gone


AT_ONCE = 2_000
"""So many in one commit."""


class DayForgetting(ABC):
    """Forgets gaps and then, tenant by tenant, verdicts; each database has its own statements for it."""

    async def forget_days(self, before: date) -> int:
        old = before.isoformat()
        gone = await _all(partial(self._forget_gaps, old))
        tenant_id = await self._tenant_after("")
        while tenant_id is not None:
            gone += await _all(partial(self._forget_verdicts, tenant_id, old))
            tenant_id = await self._tenant_after(tenant_id)
        return gone

    @abstractmethod
    async def _forget_gaps(self, before: str, limit: int) -> int:
        """Forget some that ended before a date; how many."""

    @abstractmethod
    async def _forget_verdicts(self, tenant_id: str, before: str, limit: int) -> int:
        """Forget some of a tenant's days before a date; how many."""

    @abstractmethod
    async def _tenant_after(self, tenant_id: str) -> str | None:
        """The next tenant that has verdicts."""


async def _all(forget: Callable[[int], Awaitable[int]]) -> int:
    gone = 0
    while (now := await forget(AT_ONCE)) == AT_ONCE:
        gone += now
    return gone + now
