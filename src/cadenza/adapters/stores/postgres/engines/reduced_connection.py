"""A connection to an engine without advisory locks or notifications."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cadenza.adapters.stores.postgres.engines.profile import EngineProfile
from cadenza.adapters.stores.sql.database import ADVISORY_LOCK, NOTIFY
from cadenza.domain.errors import Unavailable

if TYPE_CHECKING:  # The driver is an extra, which SQLite does not need.
    from cadenza.adapters.stores.postgres.pool import Connection, PostgresPool

LOCK_ROW = """
INSERT INTO locks (name) VALUES ($1) ON CONFLICT (name) DO UPDATE SET name = excluded.name
"""
"""Locks a row until the transaction ends, and makes it first if it is not there."""

MAKE_MIGRATION_LOCK = "CREATE TABLE IF NOT EXISTS migration_lock (name text PRIMARY KEY)"
LOCK_MIGRATIONS = """
INSERT INTO migration_lock (name) VALUES ('migration')
ON CONFLICT (name) DO UPDATE SET name = excluded.name
"""
"""The lock of whoever makes the tables, `locks` among them."""


async def make_migration_lock(pool: "PostgresPool") -> None:
    """Make the table of that lock; safe when several processes do so at once.

    PostgreSQL refuses the slower ones in spite of IF NOT EXISTS, as a table, a type or a row of the
    catalog that exists: the second attempt finds the table, or fails for another reason.
    """
    from asyncpg import UniqueViolationError  # noqa: PLC0415 - See above.

    try:
        await pool.ask(MAKE_MIGRATION_LOCK)
    except (UniqueViolationError, Unavailable):
        await pool.ask(MAKE_MIGRATION_LOCK)


class ReducedConnection:
    """One transaction: locks are rows, and notifications are collected for the processes own loops.

    A shared lock is one like any other here: who would share it takes turns.
    """

    def __init__(self, connection: "Connection", profile: EngineProfile) -> None:
        self._connection = connection
        self._profile = profile
        self.notifications: list[str] = []

    async def fetch(self, statement: str, /, *values: Any) -> Sequence[Any]:
        """All rows of a statement."""
        if statement == NOTIFY and not self._profile.notifications:
            self.notifications.append(values[0])
            return []
        if statement.startswith(ADVISORY_LOCK) and not self._profile.advisory_locks:
            return await self._connection.fetch(LOCK_ROW, _name_of_lock(statement, values))
        return await self._connection.fetch(statement, *values)

    async def execute(self, statement: str, /, *values: Any) -> str:
        """Carry out a statement; its status."""
        if statement.startswith(ADVISORY_LOCK) and not self._profile.advisory_locks:
            values, statement = (_name_of_lock(statement, values),), LOCK_ROW
        status: str = await self._connection.execute(statement, *values)
        return status

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def _name_of_lock(statement: str, values: Sequence[Any]) -> str:
    """What is locked: a number that stands in the statement, or what its value names."""
    return f"tenant {values[0]}" if values else f"number {statement.partition('(')[2].rstrip(')')}"
