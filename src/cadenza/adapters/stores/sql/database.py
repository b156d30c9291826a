"""What stores ask of a database, so that everything off the hot path is written once for both."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from enum import StrEnum
from typing import Any, Protocol, TypeVar

from cadenza.adapters.stores.sql.monitoring.health import RefusedChanges
from cadenza.adapters.stores.sql.rows import Read, Row

Answer = TypeVar("Answer")

CHANNEL = "cadenza"
NOTIFY = f"SELECT pg_notify('{CHANNEL}', $1)"
"""Notifies all processes when the transaction commits; SQLite notifies its own, after the commit."""
DUE = "due "
"""Begins the notification for workers: something of the tenant that it names may be due earlier."""
KEYS = "keys"
"""The notification that keys were deleted: what was cached of them is outdated."""
ADVISORY_LOCK = "SELECT pg_advisory_xact_lock"
"""How PostgreSQL takes a lock on something that has no row; SQLite's one writer does not need it."""


class Dialect(StrEnum):
    """Which database it is, for the few statements that each needs in other words.

    Such a statement is a dict with one text for each dialect, with the reason beside it.
    """

    POSTGRES = "postgres"
    SQLITE = "sqlite"


class Connection(Protocol):
    """One transaction.

    Statements are written in PostgreSQL's words, with `$1` for the first value; SQLite's dialect
    translates them. Values are plain: a moment is a datetime, a list is a list. Rows are handed over
    as one list for each column: `unnest($1::text[], $2::int[]) AS g (name, size)`.
    """

    async def fetch(self, statement: str, /, *values: Any) -> Sequence[Row]:
        """All rows of a statement."""
        ...

    async def fetchrow(self, statement: str, /, *values: Any) -> Row | None:
        """The first row of a statement; None if there is none."""
        ...

    async def fetchval(self, statement: str, /, *values: Any) -> Any:
        """The first column of the first row; None if there is no row."""
        ...

    async def execute(self, statement: str, /, *values: Any) -> object:
        """Carry out a statement and ignore its rows."""
        ...

    async def executemany(self, statement: str, /, rows: Iterable[Sequence[Any]]) -> object:
        """Carry out a statement once for each row of values."""
        ...


class Database(Protocol):
    """A database that carries out statements and transactions."""

    dialect: Dialect
    read_moment: Read
    """How a moment in a row becomes a datetime."""
    refused_changes: RefusedChanges

    async def read(self, statement: str, /, *values: Any) -> Sequence[Row]:
        """The rows of a statement that changes nothing."""
        ...

    async def read_by_key(
        self, statement: str, /, *values: Any, decode: Callable[[Sequence[Row]], Answer]
    ) -> Answer:
        """What is made of the rows that are found by their key: on a file without a switch of threads.

        A file remembers it, so it must be frozen, and `decode` the same function each time.
        """
        ...

    async def ask(self, statement: str, /, *values: Any) -> Sequence[Row]:
        """Carry out one statement in a commit of its own, and answer its rows."""
        ...

    async def write(self, work: Callable[[Any], Awaitable[Answer]], /) -> Answer:
        """Carry out work in one transaction, handing it a `Connection`; if it raises, nothing remains.

        The work awaits nothing but the connection: on SQLite it runs in the writer's thread, without
        an event loop.
        """
        ...

    async def in_one_commit(self, perform: Callable[[], Awaitable[Answer]], /) -> Answer:
        """Carry out several reads and writes in one transaction, which begins with the first write.

        If `perform` raises, nothing remains. From its first write on it awaits nothing but this database.
        Within another one it is a part of that, which remains or not as a whole.
        """
        ...

    def after_commit(self, callback: Callable[[], None]) -> None:
        """Call this once what was just written is committed: at once, unless it is part of more."""
        ...


async def wake_workers(connection: Connection, tenants: Iterable[str]) -> None:
    """Wake all workers when this transaction commits, because of endpoints of these tenants."""
    for tenant_id in sorted(set(tenants)):
        await connection.fetch(NOTIFY, f"{DUE}{tenant_id}")


def tenant_with_due(notification: str) -> str | None:
    """The tenant of a notification for workers; None if it is another one."""
    return notification.removeprefix(DUE) if notification.startswith(DUE) else None


BATCH = 2_000
"""So many rows are deleted in one commit, so that other work waits only briefly."""


async def delete_in_batches(database: Database, statement: str, *values: Any) -> int:
    """Repeat a statement that deletes some rows and returns them, until it finds none; how many it deleted.

    Each time is a commit of its own.
    """
    deleted = 0
    while rows := await database.ask(statement, *values):
        deleted += len(rows)
    return deleted
