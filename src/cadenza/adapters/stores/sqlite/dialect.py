"""Statements that both databases share, carried out by SQLite."""

import re
import sqlite3
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple, TypeVar

import orjson

from cadenza.adapters.stores.sql.database import Dialect
from cadenza.adapters.stores.sql.rows import Read, Row, from_micros, to_micros
from cadenza.adapters.stores.sqlite.database import SqliteFile

Answer = TypeVar("Answer")
TABLE = re.compile(r"unnest\(([^)]*)\) AS (\w+) \(([^)]*)\)")
PLACEHOLDER = re.compile(r"\$(\d+)")
DIALECT = (
    (re.compile(r"= ANY \(\$(\d+)(?:::\w+\[\])?\)"), r"IN (SELECT value FROM json_each(?\1))"),
    (PLACEHOLDER, r"?\1"),
    (re.compile(r"::\w+(?:\[\])?"), ""),
    (re.compile(r"\s+FOR (?:NO KEY )?UPDATE(?: OF \w+(?:, \w+)*)?(?: SKIP LOCKED)?"), ""),
    (re.compile(r"([\w.]+) ->> '(\w+)'"), r"json_extract(\1, '$.\2')"),
    (re.compile(r"to_char\((\w+) AT TIME ZONE 'UTC', 'YYYY-MM-DD'\)"), r"date(\1 / 1000000, 'unixepoch')"),
    (re.compile(r' COLLATE "C"'), ""),
)
"""PostgreSQL's words and SQLite's, in this order.

Row locks go, which one writer does not need. So do the types of values, which SQLite takes as they are,
and the collation by bytes, which is the only one that SQLite has been given here.
"""


class Translated(NamedTuple):
    """A statement in SQLite's words."""

    text: str
    tables: tuple[tuple[int, ...], ...]
    """For each table that is handed over as lists, which values are its columns."""

    def values(self, values: Sequence[Any]) -> list[Any]:
        """Values as SQLite takes them; a table is JSON in the place of its first column."""
        taken = list(values)
        for first, *others in self.tables:
            taken[first] = rows_of(values[first], *(values[column] for column in others))
            for column in others:
                taken[column] = None
        return [for_column(value) for value in taken]


@cache
def for_sqlite(statement: str) -> Translated:
    """A statement in SQLite's words."""
    tables = tuple(
        tuple(int(number) - 1 for number in PLACEHOLDER.findall(columns))
        for columns, _, _ in TABLE.findall(statement)
    )
    text = TABLE.sub(_json_table, statement)
    for pattern, words in DIALECT:
        text = pattern.sub(words, text)
    return Translated(text, tables)


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
        translated = for_sqlite(statement)
        self.connection.executemany(translated.text, map(translated.values, rows))

    def _run(self, statement: str, values: Sequence[Any]) -> sqlite3.Cursor:
        translated = for_sqlite(statement)
        return self.connection.execute(translated.text, translated.values(values))


class SqliteDatabase:
    """Statements and transactions on one SQLite file."""

    dialect = Dialect.SQLITE
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


def _rows(file: sqlite3.Connection, statement: str, values: Sequence[Any]) -> list[Row]:
    translated = for_sqlite(statement)
    return file.execute(translated.text, translated.values(values)).fetchall()
