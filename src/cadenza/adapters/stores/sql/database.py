"""What stores ask of a database, so that everything off the hot path is written once for both."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from enum import StrEnum
from typing import Any, Protocol, TypeVar

from cadenza.adapters.stores.sql.rows import Read, Row

Answer = TypeVar("Answer")

CHANNEL = "cadenza"
NOTIFY = f"SELECT pg_notify('{CHANNEL}', $1)"
"""Notifies all processes when the transaction commits; SQLite notifies its own, after the commit."""
WORKERS = ""
"""The notification for workers: something may be due earlier than they know."""
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

    async def read(self, statement: str, /, *values: Any) -> Sequence[Row]:
        """The rows of a statement that changes nothing."""
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


async def wake_workers(connection: Connection) -> None:
    """Wake all workers when this transaction commits."""
    await connection.fetch(NOTIFY, WORKERS)


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
