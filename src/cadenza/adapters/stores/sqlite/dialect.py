"""Statements that both databases share, carried out by SQLite."""

import re
import sqlite3
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime
from functools import cache
from typing import Any, TypeVar

import orjson

from cadenza.adapters.stores.sql.rows import Read, Row, from_micros, to_micros
from cadenza.adapters.stores.sqlite.database import SqliteFile

Answer = TypeVar("Answer")
DIALECT = (
    (re.compile(r"= ANY \(\$(\d+)(?:::\w+\[\])?\)"), r"IN (SELECT value FROM json_each(?\1))"),
    (re.compile(r"\$(\d+)(?:::\w+(?:\[\])?)?"), r"?\1"),
    (re.compile(r"\s+FOR (?:NO KEY )?UPDATE(?: OF \w+)?(?: SKIP LOCKED)?"), ""),
)
"""PostgreSQL's words and SQLite's: lists, placeholders, and row locks, which one writer does not need."""


@cache
def for_sqlite(statement: str) -> str:
    """A statement in SQLite's words."""
    for pattern, words in DIALECT:
        statement = pattern.sub(words, statement)
    return statement


def for_column(value: Any) -> Any:
    """A value as SQLite keeps it: moments in microseconds, lists as JSON."""
    if isinstance(value, datetime):
        return to_micros(value)
    return orjson.dumps(value).decode() if isinstance(value, list) else value


class SqliteConnection:
    """The writer's transaction, behind the methods that both databases share. None of them waits."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection

    async def fetch(self, statement: str, /, *values: Any) -> list[Row]:
        return self._run(statement, values).fetchall()

    async def fetchrow(self, statement: str, /, *values: Any) -> Row | None:
        row: Row | None = self._run(statement, values).fetchone()
        return row

    async def fetchval(self, statement: str, /, *values: Any) -> Any:
        row = self._run(statement, values).fetchone()
        return None if row is None else row[0]

    async def execute(self, statement: str, /, *values: Any) -> None:
        self._run(statement, values)

    async def executemany(self, statement: str, /, rows: Iterable[Sequence[Any]]) -> None:
        self.connection.executemany(for_sqlite(statement), [tuple(map(for_column, row)) for row in rows])

    def _run(self, statement: str, values: Iterable[Any]) -> sqlite3.Cursor:
        return self.connection.execute(for_sqlite(statement), tuple(map(for_column, values)))


class SqliteDatabase:
    """Statements and transactions on one SQLite file."""

    read_moment: Read = staticmethod(from_micros)

    def __init__(self, file: SqliteFile) -> None:
        self._file = file

    async def read(self, statement: str, /, *values: Any) -> list[Row]:
        return await self._file.read(lambda file: _rows(file, statement, values))

    async def ask(self, statement: str, /, *values: Any) -> list[Row]:
        return await self._file.write(lambda file: _rows(file, statement, values))

    async def write(self, work: Callable[[SqliteConnection], Awaitable[Answer]], /) -> Answer:
        return await self._file.write(lambda file: run_to_end(work(SqliteConnection(file))))


def run_to_end(work: Awaitable[Answer]) -> Answer:
    """Run a coroutine that waits for nothing, without an event loop."""
    steps = work.__await__()
    try:
        next(steps)
    except StopIteration as ended:
        answer: Answer = ended.value
        return answer
    raise RuntimeError("a transaction may await its connection and nothing else")


def _rows(file: sqlite3.Connection, statement: str, values: Iterable[Any]) -> list[Row]:
    return file.execute(for_sqlite(statement), tuple(map(for_column, values))).fetchall()
