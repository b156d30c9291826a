"""Reads by key in the thread of the event loop, in a transaction that they share."""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from contextvars import Context
from typing import Any, TypeVar

NO_VERSION = -1
Rows = list[tuple[Any, ...]]
Value = TypeVar("Value")
MOST_REMEMBERED = 32
"""How many answers are remembered: few, since one may hold a long document."""


class SharedSnapshot:
    """One read transaction for all reads by key that an iteration of the event loop makes.

    To begin and to end one takes as long as a read. Its end is queued before it begins, so before
    whatever the loop learns of a later commit of another process; and after a commit of this process
    it begins anew. So a task reads nothing older than what it may know of.

    What was read is remembered as the values that were made of it, until the file has changed, whoever
    changed it. So these values must be frozen.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ending: asyncio.Handle | None = None
        self._begun_after = 0
        self._version = NO_VERSION
        self._remembered: dict[tuple[str, Sequence[Any], Callable[[Rows], Any]], Any] = {}
        self.commits = 0
        """How many transactions this process has committed."""

    def read(self, statement: str, values: Sequence[Any], decode: Callable[[Rows], Value]) -> Value:
        """What is made of the rows of a query; `decode` is a plain function, the same each time."""
        self._begin()
        asked = (statement, values, decode)
        found: Value | None = self._remembered.get(asked)
        if found is None:
            found = decode(self._connection.execute(statement, values).fetchall())
            if len(self._remembered) >= MOST_REMEMBERED:
                self._remembered.clear()
            self._remembered[asked] = found
        return found

    def version(self) -> int:
        """A number that changes with every commit, also of another process."""
        self._begin()
        return self._version

    def close(self) -> None:
        """Close the connection."""
        self._end()
        self._connection.close()

    def _begin(self) -> None:
        """Begin a transaction, if none is open; forget what was read from a file that has changed."""
        loop = asyncio.get_running_loop()
        if self._loop is loop and self._begun_after == self.commits:
            return
        self._end()
        self._begun_after = self.commits
        self._ending = loop.call_soon(self._end, context=Context())  # It belongs to no task.
        self._connection.execute("BEGIN")
        (version,) = self._connection.execute("PRAGMA data_version").fetchone()
        if version != self._version:
            self._version = version
            self._remembered.clear()
        self._loop = loop

    def _end(self) -> None:
        self._loop = None
        if self._ending is not None:
            self._ending.cancel()
        if self._connection.in_transaction:
            self._connection.execute("COMMIT")
