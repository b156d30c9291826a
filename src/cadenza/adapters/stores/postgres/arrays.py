"""Rows handed over as one array for each column: one statement for a whole batch."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from cadenza.adapters.stores.sql.rows import LEASE, RUN_ID, Row
from cadenza.domain.scheduling.run import Claim

MOMENT, NUMBER, LARGE, TRUTH, TEXT = "timestamptz", "int", "bigint", "boolean", "text"
NUMBERS = {
    **dict.fromkeys(("attempt", "coalesced", "failure_count", "abandoned_count", "missed_slots"), NUMBER),
    "open_slot_attempts": NUMBER,
    **dict.fromkeys(("interval_hint_ms", "duration_ms", "late_ms", "version"), LARGE),
    **dict.fromkeys(("enabled", "archived", "job_active", "verdict", "starts"), TRUTH),
    "response": "json",
    "place": "tid",
}


SEPARATOR = ";"
"""Between values that are joined: neither places nor ids of runs hold it. An id that did would not be found,
and be settled as if it had been steered."""


def type_of(column: str) -> str:
    """The type of a column, by its name."""
    if column == "slot" or column.endswith(("_at", "_until")):
        return MOMENT
    return NUMBERS.get(column, TEXT)


def given(name: str, *columns: str, first: int = 1) -> str:
    """The parameters from `first` on, an array for each column, as a table."""
    arrays = ", ".join(f"${number}::{type_of(column)}[]" for number, column in enumerate(columns, first))
    return f"unnest({arrays}) AS {name} ({', '.join(columns)})"


def given_or_shared(name: str, *columns: str, first: int = 1, joined: Collection[str] = ()) -> str:
    """The same for large batches: two parameters a column, an array, or one value that all rows share.

    The first column is always an array: it says how many rows there are. Columns that are joined come as
    one text, which is far sooner encoded.
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


def assigned(name: str, *columns: str) -> str:
    """Each column set to that of the given table."""
    return ", ".join(f"{column} = {name}.{column}" for column in columns)


def arrays(rows: Iterable[Sequence[Any]]) -> list[tuple[Any, ...] | None]:
    """Rows turned into columns. One that holds nothing is not sent: `unnest` fills it up by itself."""
    return [
        None if column[0] is None and column.count(None) == len(column) else column
        for column in zip(*rows, strict=True)
    ]


def arrays_or_shared(columns: Iterable[Sequence[Any]]) -> list[Any]:
    """Columns as `given_or_shared` takes them after its first, which is always an array, and None.

    To encode a value costs more than to see that it repeats.
    """
    parameters: list[Any] = []
    for column in columns:
        repeats = column.count(column[0]) == len(column)
        parameters += (None, column[0]) if repeats else (column, None)
    return parameters


def as_it_is(moment: Any) -> Any:
    """The driver reads moments itself."""
    return moment


def holds(row: Row, claim: Claim) -> bool:
    """Is this claim's lease still the one in the row?"""
    return (row[LEASE], row[RUN_ID]) == (claim.token, claim.run_id)
