"""Crashes between any two statements of a store on a database."""

import sqlite3
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.ports.ids import Ids

SQLITE = "sqlite:///"


class Crash(Exception):
    """The process is gone."""


class CountedConnection(sqlite3.Connection):
    """A connection that may crash before a statement."""

    counter: "StatementCounter"

    def execute(self, sql: str, *given: Any) -> sqlite3.Cursor:
        if sql not in ("ROLLBACK", "BEGIN IMMEDIATE"):
            self.counter.step()
        return super().execute(sql, *given)

    def executemany(self, sql: str, rows: Any, /) -> sqlite3.Cursor:
        self.counter.step()
        return super().executemany(sql, rows)


class StatementCounter:
    """Lets so many statements through, then crashes."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self._left: int | None = None

    def store(self, url: str, ids: Ids) -> SqliteStore | PostgresStore:
        """A store whose statements are counted."""
        if not url.startswith(SQLITE):
            for name in ("fetch", "execute", "executemany", "fetchval", "fetchrow"):
                counted = self._counted(getattr(asyncpg.Connection, name))
                self._monkeypatch.setattr(asyncpg.Connection, name, counted)
            return PostgresStore(PostgresPool(url, size=2), ids)
        connect, factory = sqlite3.connect, type("Counted", (CountedConnection,), {"counter": self})
        self._monkeypatch.setattr(
            sqlite3, "connect", lambda *given, **how: connect(*given, factory=factory, **how)
        )
        return SqliteStore(SqliteFile(Path(url.removeprefix(SQLITE))), ids)

    @contextmanager
    def crashing_at(self, statement: int) -> Iterator[None]:
        """Let so many statements through."""
        self._left = statement
        try:
            yield
        finally:
            self._left = None

    @property
    def crashed(self) -> bool:
        """Whether no statement is let through any more."""
        return self._left == 0

    def step(self) -> None:
        if self._left is not None:
            if self._left == 0:
                raise Crash
            self._left -= 1

    def _counted(self, method: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
        async def counted(connection: Any, statement: str, *given: Any, **how: Any) -> Any:
            if statement not in ("ROLLBACK;", "BEGIN;"):
                self.step()
            return await method(connection, statement, *given, **how)

        return counted
