"""Many or long rows, read and written beside the event loop and some at a time, so that others have turns."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

from cadenza.adapters.stores.sql.rows import Row

Item = TypeVar("Item")
Result = TypeVar("Result")
MANY = 100
"""More rows than these are read in a thread; fewer take less time than a switch of threads is worth."""
LONG = 4_096
"""So are rows with a longer text in them."""
BATCH = 500
"""So many rows are given to one statement: a driver encodes them without a pause."""


async def beside_loop(function: Callable[..., Result], *arguments: Any) -> Result:
    """What a function that takes long returns: in a thread, so that the event loop goes on.

    Where none runs, as in a transaction on SQLite, it is called at once.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return function(*arguments)
    return await asyncio.to_thread(function, *arguments)


async def for_many(items: Sequence[Item], function: Callable[[Sequence[Item]], Result]) -> Result:
    """What a function makes of items: in a thread, if they are many."""
    return await beside_loop(function, items) if len(items) > MANY else function(items)


async def read_rows(
    rows: Sequence[Row], read: Callable[[Row], Item], *, text: int | None = None
) -> list[Item]:
    """What rows hold, in their order; `text` is the place of the column that may be long."""
    if len(rows) <= MANY and (text is None or all(len(row[text] or "") <= LONG for row in rows)):
        return [read(row) for row in rows]
    return await beside_loop(lambda: [read(row) for row in rows])


def in_batches(items: Sequence[Item]) -> Iterator[list[Item]]:
    """The items, as many at a time as one statement is given."""
    left = iter(items)
    while batch := list(islice(left, BATCH)):
        yield batch
