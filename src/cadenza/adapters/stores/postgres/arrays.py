"""Large batches of rows, handed over as one array for each column or one value that all rows share."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from cadenza.adapters.stores.sql.given_rows import type_of

SEPARATOR = ";"
"""Between values that are joined: neither places nor ids of runs hold it. An id that did would not be found,
and be settled as if its endpoint had changed."""


def given_or_shared(name: str, *columns: str, first: int = 1, joined: Collection[str] = ()) -> str:
    """Parameters as a table, two for each column: an array, or one value that all rows share.

    The first column is always an array: it says how many rows there are. Columns that are joined come as
    one text, which is encoded much faster.
    """
    arrays = [
        f"string_to_array(${first + 2 * place}::text, '{SEPARATOR}')::{type_of(column)}[]"
        if column in joined
        else f"${first + 2 * place}::{type_of(column)}[]"
        for place, column in enumerate(columns)
    ]
    either = [
        f"coalesce(a.{column}, ${first + 2 * place + 1}::{type_of(column)}) AS {column}"
        for place, column in enumerate(columns)
    ]
    unnested = f"unnest({', '.join(arrays)}) AS a ({', '.join(columns)})"
    return f"(SELECT {', '.join(either)} FROM {unnested}) AS {name}"


def arrays_or_shared(columns: Iterable[Sequence[Any]]) -> list[Any]:
    """Columns as `given_or_shared` takes them after its first, which is always an array, and None.

    Encoding a value costs more than finding that it repeats.
    """
    parameters: list[Any] = []
    for column in columns:
        repeats = column.count(column[0]) == len(column)
        parameters += (None, column[0]) if repeats else (column, None)
    return parameters


def identity(moment: Any) -> Any:
    """The moment itself: the driver has read it already."""
    return moment
