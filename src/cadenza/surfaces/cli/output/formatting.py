"""Values, tables and cards as text; what comes from outside is never read as markup."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from cadenza.domain.text_patterns import visible
from cadenza.domain.validation import UNITS_MS

NOTHING = "-"
SECONDS = len("2030-01-31T12:00:00")
Item = Mapping[str, Any]


class Column(NamedTuple):
    """A column of a table: title, cell, alignment, and whether a cell may be wrapped."""

    title: str
    cell: Callable[[Item], object]
    right: bool = False
    whole: bool = False


def text(value: object, style: str = "") -> Text:
    """A value without markup; a dash for nothing."""
    return Text(NOTHING if value is None or value == "" else visible(str(value)), style=style)


def moment(iso: str | None) -> str | None:
    """An ISO moment to the second, in UTC."""
    return None if iso is None else f"{iso[:SECONDS].replace('T', ' ')}Z"


def span(length_ms: int | None) -> str | None:
    """A span as people write it: 90 seconds are 1m30s."""
    if length_ms is None:
        return None
    parts, left = [], length_ms
    for unit, size in reversed(UNITS_MS.items()):
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0ms"


def yes(flag: object) -> str:
    """A flag as yes or no."""
    return "yes" if flag else "no"


def many(count: int, word: str) -> str:
    """A count with its noun."""
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def pairs(values: Mapping[str, Any]) -> str:
    """Labels or headers on one line."""
    return " ".join(f"{name}={value}" for name, value in values.items())


def table(items: Sequence[Item], columns: Sequence[Column]) -> Table:
    """Items as a table."""
    found = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        found.add_column(
            column.title,
            justify="right" if column.right else "left",
            overflow="fold",
            no_wrap=column.right or column.whole,
        )
    for item in items:
        found.add_row(*(text(column.cell(item)) for column in columns))
    return found


def listing(columns: Sequence[Column], nothing: str) -> Callable[[Any], Iterator[RenderableType]]:
    """The renderer of a page of a list; an empty list is a sentence."""

    def render(page: Any) -> Iterator[RenderableType]:
        if page["items"] or page["next_cursor"] is not None:
            yield table(page["items"], columns)
        else:
            yield text(nothing)
        if page["next_cursor"] is not None:
            yield text(f"There is more: --all, --limit, or --cursor {page['next_cursor']}", style="dim")

    return render


def card(facts: Mapping[str, object]) -> Table:
    """Facts by name, one below the other."""
    found = Table(box=None, show_header=False, pad_edge=False)
    found.add_column(style="bold", no_wrap=True)
    found.add_column(overflow="fold")
    for name, fact in facts.items():
        found.add_row(text(name), text(fact))
    return found


def as_json(value: object) -> str:
    """A value as JSON; a text as it is."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def baseline(shape: Item) -> str:
    """A baseline in a few words."""
    match shape["kind"]:
        case "every":
            return f"every {span(shape['interval_ms'])}"
        case "cron":
            return f"{shape['expression']} {shape['timezone']}"
        case _:
            return f"once {moment(shape['at'])}"


def target(shape: Item) -> str:
    """A target in a few words."""
    match shape["kind"]:
        case "http":
            return f"{shape['method']} {shape['url']}"
        case "callable":
            return f"function {shape['function']}"
        case _:
            return f"prompt to {shape['agent_id']} for {shape['user_id']}"


def state(endpoint: Item) -> str:
    """An endpoint's state in a word."""
    states = (
        (endpoint["running"], "running"),
        (not endpoint["enabled"], "disabled"),
        (not endpoint["job_active"], "job paused"),
        (endpoint["paused_until"] is not None, "paused"),
        (endpoint["quota_opens_at"] is not None, "quota used up"),
        (endpoint["next_source"] == "retired", "retired"),
        (endpoint.get("suspect"), "suspect"),
        (endpoint["next_run_at"] is None, "finished"),
    )
    return next((word for true, word in states if true), "waiting")
