"""Audit records as lines of JSON, or as a table with commas."""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from cadenza.domain.text_patterns import visible

FIELDS = (
    "id",
    "at",
    "who",
    "name",
    "surface",
    "operation",
    "subject_kind",
    "subject_id",
    "outcome",
    "reason",
    "changes",
)
FORMULA = ("=", "+", "-", "@", "\t")
"""A cell that begins so would be calculated by a spreadsheet."""


def json_line(record: Mapping[str, Any]) -> str:
    """A record as one line of JSON."""
    return visible(json.dumps(record, ensure_ascii=False)) + "\n"


def csv_line(record: Mapping[str, Any]) -> str:
    """A record as one row, with its changes as JSON in the last cell."""
    changes = json.dumps(record["changes"], ensure_ascii=False)
    return joined([_cell(record[name]) for name in FIELDS[:-1]] + [changes])


def _cell(value: Any) -> str:
    text = "" if value is None else visible(str(value))
    return f"'{text}" if text.startswith(FORMULA) else text


def joined(cells: Sequence[str]) -> str:
    """Cells as one row."""
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow(cells)
    return line.getvalue()
