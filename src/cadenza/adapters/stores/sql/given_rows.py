"""Rows that a statement is given, as one list for each column: one statement for a whole batch."""

from collections.abc import Iterable, Sequence
from typing import Any

MOMENT, NUMBER, LARGE, TRUTH, TEXT = "timestamptz", "int", "bigint", "boolean", "text"
TYPES = {
    **dict.fromkeys(("attempt", "coalesced", "failure_count", "abandoned_count", "missed_slots"), NUMBER),
    **dict.fromkeys(("abandoned_alone_count", "in_flight", "suspects"), NUMBER),
    **dict.fromkeys(("open_slot_attempts", "request_attempt", "shard", "due"), NUMBER),
    **dict.fromkeys(("priority", "most", "runs"), NUMBER),
    **dict.fromkeys(("interval_hint_ms", "duration_ms", "late_ms", "version"), LARGE),
    **dict.fromkeys(("enabled", "archived", "job_active", "verdict", "starts", "late"), TRUTH),
    **dict.fromkeys(("response", "changes"), "json"),
    **dict.fromkeys(("next_cutoff", "previous_cutoff"), MOMENT),
    "place": "tid",
}


def type_of(column: str) -> str:
    """The type of a column, by its name."""
    if column == "slot" or column.endswith(("_at", "_until")):
        return MOMENT
    return TYPES.get(column, TEXT)


def parameter_table(name: str, *columns: str, first: int = 1) -> str:
    """The parameters from `first` on, a list for each column, as a table."""
    lists = ", ".join(f"${number}::{type_of(column)}[]" for number, column in enumerate(columns, first))
    return f"unnest({lists}) AS {name} ({', '.join(columns)})"


def assigned(name: str, *columns: str) -> str:
    """Each column set to that of the given table."""
    return ", ".join(f"{column} = {name}.{column}" for column in columns)


def columns_of(rows: Iterable[Sequence[Any]]) -> list[tuple[Any, ...] | None]:
    """Rows turned into columns. One that holds nothing is not sent: `unnest` fills it up by itself."""
    return [
        None if column[0] is None and column.count(None) == len(column) else column
        for column in zip(*rows, strict=True)
    ]


def beginning_with(start: str) -> tuple[str, str]:
    """All texts that begin so are between these two, without the second."""
    return start, start[:-1] + chr(ord(start[-1]) + 1)
