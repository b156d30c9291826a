"""Several store calls that a database carries out as one transaction."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any


class OneCommit:
    """The transaction that the store calls of one task join; it begins with the first that writes."""

    def __init__(self, database: object, begin: Callable[[], Awaitable[None]]) -> None:
        self.database: object | None = database
        self._begin = begin
        self.after_commit: list[Callable[[], None]] = []
        self.connection: Any = None
        """Set when it begins: before that, reads go their usual way."""

    async def begun(self) -> Any:
        """The connection of the transaction, which begins if it has not yet."""
        if self.connection is None:
            await self._begin()
        return self.connection

    @contextmanager
    def joined(self) -> Iterator[None]:
        """Let the store calls of this task join; the block commits, and raises if it could not."""
        token = _CURRENT.set(self)
        try:
            yield
        finally:
            _CURRENT.reset(token)
            self.database = None  # A task that was started meanwhile joins no more.
        for callback in self.after_commit:
            callback()

    @classmethod
    def of(cls, database: object) -> "OneCommit | None":
        """The transaction of this database that the current task has joined."""
        joined = _CURRENT.get()
        return joined if joined is not None and joined.database is database else None

    @classmethod
    def after(cls, database: object, callback: Callable[[], None]) -> None:
        """Call this once what was just written is committed: at once, unless it joined a transaction."""
        joined = cls.of(database)
        if joined is None:
            callback()
        else:
            joined.after_commit.append(callback)


_CURRENT: ContextVar[OneCommit | None] = ContextVar("one_commit", default=None)
