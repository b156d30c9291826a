"""Many rows in one statement.

`executemany` starts its statement for every row, and each time threads take turns with the
interpreter; with these functions that happens once for each part of a batch.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

PARTS = (100, 10, 1)
"""How many rows a statement takes; few sizes, so that the driver keeps each of them prepared."""

Statement = Callable[[int], str]
"""The text of a statement for so many rows."""


def given(rows: int, *columns: str) -> str:
    """The first parameters of a statement as a table `g`."""
    row = f"({', '.join('?' * len(columns))})"
    return f"WITH g ({', '.join(columns)}) AS (VALUES {', '.join([row] * rows)})"


def write_many(
    connection: sqlite3.Connection, statement: Statement, rows: Sequence[Sequence[Any]], *rest: Any
) -> int:
    """Execute a statement for all rows; how many it changed. The rest is the same for every part."""
    before = connection.total_changes
    for part in _parts(rows):
        connection.execute(statement(len(part)), (*chain.from_iterable(part), *rest))
    return connection.total_changes - before


def read_many(
    connection: sqlite3.Connection, statement: Statement, rows: Sequence[Sequence[Any]]
) -> Iterator[tuple[Any, ...]]:
    """What a query answers to all rows."""
    for part in _parts(rows):
        yield from connection.execute(statement(len(part)), tuple(chain.from_iterable(part)))


def _parts(rows: Sequence[Sequence[Any]]) -> Iterator[Sequence[Sequence[Any]]]:
    start = 0
    for size in PARTS:
        while len(rows) - start >= size:
            yield rows[start : start + size]
            start += size
