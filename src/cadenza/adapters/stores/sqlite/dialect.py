"""Statements that both databases share, carried out by SQLite."""

import re
import sqlite3
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime
from functools import cache, partial
from typing import Any, NamedTuple, TypeVar

import orjson

from cadenza.adapters.stores.sql.database import ADVISORY_LOCK, NOTIFY, Dialect
from cadenza.adapters.stores.sql.one_commit import OneCommit
from cadenza.adapters.stores.sql.rows import Read, Row, from_micros, to_micros
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.one_commit import run_to_end

Answer = TypeVar("Answer")
Notified = Callable[[str], None]
TABLE = re.compile(r"unnest\(([^)]*)\) AS (\w+) \(([^)]*)\)")
PLACEHOLDER = re.compile(r"\$(\d+)")
DIALECT = (
    (re.compile(r"= ANY \(\$(\d+)(?:::\w+\[\])?\)"), r"IN (SELECT value FROM json_each(?\1))"),
    (re.compile(r"SELECT unnest\(\$(\d+)::\w+\[\]\)"), r"SELECT value FROM json_each(?\1)"),
    (PLACEHOLDER, r"?\1"),
    (
        re.compile(
            r"CROSS JOIN LATERAL \(SELECT (\w+)\.\* FROM (\w+) \1\s+WHERE (.+?) OFFSET 0\) AS \1", re.DOTALL
        ),
        r"CROSS JOIN \2 \1 ON \3",
    ),
    (re.compile(r" OFFSET 0\b"), ""),
    (re.compile(r"::\w+(?:\[\])?"), ""),
    (
        re.compile(r"\s+FOR (?:NO KEY UPDATE|UPDATE|KEY SHARE|SHARE)(?: OF \w+(?:, \w+)*)?(?: SKIP LOCKED)?"),
        "",
    ),
    (re.compile(r"([\w.]+) #>> '\{(\w+),(\w+)\}'"), r"json_extract(\1, '$.\2.\3')"),
    (re.compile(r"([\w.]+) ->> '(\w+)'"), r"json_extract(\1, '$.\2')"),
    (re.compile(r"to_char\((\w+) AT TIME ZONE 'UTC', 'YYYY-MM-DD'\)"), r"date(\1 / 1000000, 'unixepoch')"),
    (re.compile(r"\bgreatest\("), "max("),
    (re.compile(r' COLLATE "C"'), ""),
    (re.compile(r"pg_backend_pid\(\) % 16"), "0"),
)
"""PostgreSQL's words and SQLite's, in this order.

One writer needs neither row locks nor shards of counters. SQLite takes values as they are, without a
type, and compares texts by their bytes by default. What `OFFSET 0` tells
PostgreSQL's planner, the order of joins, `CROSS JOIN` tells SQLite's.
"""


class Translated(NamedTuple):
    """A statement in SQLite's words."""

    text: str
    for_one_row: str
    """The same when the tables have one row, as nearly always: plain values take a third of JSON's time."""
    tables: tuple[tuple[int, ...], ...]
    """For each table that is handed over as lists, which values are its columns."""
    parameters: int
    """How many values the text takes: none for the last columns of a table."""

    def bound(self, values: Sequence[Any]) -> tuple[str, list[Any]]:
        """The text and the values as SQLite takes them; a table is JSON in the place of its first column."""
        if not self.tables:
            return self.text, [for_column(value) for value in values]
        bindings = list(values)
        columns = [column for table in self.tables for column in table]
        if all(values[column] is None or len(values[column]) == 1 for column in columns):
            for column in columns:
                bindings[column] = None if values[column] is None else values[column][0]
            return self.for_one_row, [for_column(value) for value in bindings]
        for first, *others in self.tables:
            bindings[first] = rows_of(values[first], *(values[column] for column in others))
            for column in others:
                bindings[column] = None
        return self.text, [for_column(value) for value in bindings[: self.parameters]]


@cache
def for_sqlite(statement: str) -> Translated:
    """A statement in SQLite's words."""
    tables = tuple(
        tuple(int(number) - 1 for number in PLACEHOLDER.findall(columns))
        for columns, _, _ in TABLE.findall(statement)
    )
    text = _in_words(TABLE.sub(_json_table, statement))
    count = max((int(number) for number in re.findall(r"\?(\d+)", text)), default=0)
    return Translated(text, _in_words(TABLE.sub(_one_row, statement)), tables, count)


def _in_words(statement: str) -> str:
    for pattern, words in DIALECT:
        statement = pattern.sub(words, statement)
    return statement


def rows_of(*columns: Sequence[Any] | None) -> list[tuple[Any, ...]]:
    """Columns turned into rows. One that is None holds nothing in any row."""
    length = max((len(column) for column in columns if column is not None), default=0)
    filled = [[None] * length if column is None else column for column in columns]
    return list(zip(*filled, strict=True))


def for_column(value: Any) -> Any:
    """A value as SQLite stores it: moments in microseconds, lists as JSON."""
    if isinstance(value, datetime):
        return to_micros(value)
    if isinstance(value, list):
        return orjson.dumps(_plain(value)).decode()
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    return to_micros(value) if isinstance(value, datetime) else value


def _json_table(found: re.Match[str]) -> str:
    """A table of lists as SQLite reads it, from one list of rows in the place of its first column."""
    values, name, columns = found.groups()
    first = PLACEHOLDER.search(values)
    assert first is not None, "a table is made of values"
    selected = ", ".join(
        f"json_extract(value, '$[{number}]') AS {column.strip()}"
        for number, column in enumerate(columns.split(","))
    )
    return f"(SELECT {selected} FROM json_each({first[0]})) AS {name}"


def _one_row(found: re.Match[str]) -> str:
    """A table of one row, whose columns are plain values."""
    values, name, columns = found.groups()
    numbers = PLACEHOLDER.findall(values)
    named = zip(numbers, columns.split(","), strict=True)
    return f"(SELECT {', '.join(f'${number} AS {column.strip()}' for number, column in named)}) AS {name}"


class SqliteConnection:
    """The writer's transaction, behind the methods that both databases share. None of them waits.

    What PostgreSQL would notify when it commits is collected in `notifications`.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.notifications: list[str] = []

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
        text = for_sqlite(statement).text
        self.connection.executemany(text, ([for_column(value) for value in row] for row in rows))

    def _run(self, statement: str, values: Sequence[Any]) -> sqlite3.Cursor:
        if statement == NOTIFY:
            self.notifications.append(values[0])
        elif not statement.startswith(ADVISORY_LOCK):
            return self.connection.execute(*for_sqlite(statement).bound(values))
        return self.connection.execute("SELECT 1 WHERE false")


class SqliteDatabase:
    """Statements and transactions on one SQLite file; what a commit notifies is passed on after it."""

    dialect = Dialect.SQLITE
    read_moment: Read = staticmethod(from_micros)

    def __init__(self, file: SqliteFile, notified: Notified = lambda _: None) -> None:
        self.refused_changes = file.refused_changes
        self._file = file
        self._notified = notified

    async def read(self, statement: str, /, *values: Any) -> list[Row]:
        return await self._file.read(lambda file: _rows(file, statement, values))

    async def read_by_key(
        self, statement: str, /, *values: Any, decode: Callable[[Sequence[Row]], Answer]
    ) -> Answer:
        text, bound = for_sqlite(statement).bound(values)
        return await self._file.read_by_key(text, tuple(bound), decode)

    async def ask(self, statement: str, /, *values: Any) -> list[Row]:
        return await self._file.write(lambda file: _rows(file, statement, values))

    async def write(self, work: Callable[[SqliteConnection], Awaitable[Answer]], /) -> Answer:
        notifications: list[str] = []

        def transaction(file: sqlite3.Connection) -> Answer:
            connection = SqliteConnection(file)
            answer = run_to_end(work(connection).__await__())
            notifications.extend(connection.notifications)
            return answer

        answer = await self._file.write(transaction)
        for notification in notifications:
            self.after_commit(partial(self._notified, notification))
        return answer

    async def in_one_commit(self, perform: Callable[[], Awaitable[Answer]], /) -> Answer:
        return await self._file.in_one_commit(perform)

    def after_commit(self, callback: Callable[[], None]) -> None:
        OneCommit.after(self._file, callback)


def _rows(file: sqlite3.Connection, statement: str, values: Sequence[Any]) -> list[Row]:
    return file.execute(*for_sqlite(statement).bound(values)).fetchall()
