"""Values, tables and cards as text; what comes from outside is never read as markup."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cadenza.domain.text_patterns import visible
from cadenza.domain.validation import UNITS_MS
from cadenza.surfaces.cli.output.layout import Card, Cell, Heading, Paragraph, Table, status_style

NOTHING = "-"
UNTIL_RESUMED = "when resumed"
CLOSED_WORDS = {"skip": "skipped while closed", "run-at-end": "run when open again"}
STATUS_FACTS = frozenset({"state", "status", "outcome"})
SECONDS = len("2030-01-31T12:00:00")
Item = Mapping[str, Any]
Part = Paragraph | Card | Table
"""What is printed: texts, cards and tables, in order."""


class Column(NamedTuple):
    """A column of a table: title, cell, alignment, whether a cell is never wrapped, or is a status."""

    title: str
    cell: Callable[[Item], object]
    right: bool = False
    whole: bool = False
    status: bool = False


def text(value: object, style: str = "") -> Paragraph:
    """A value without markup; a dash for nothing."""
    return Paragraph(_shown(value), style)


def _shown(value: object) -> str:
    return NOTHING if value is None or value == "" else visible(str(value))


def moment(iso: str | None) -> str | None:
    """An ISO moment to the second, in UTC; the year 9999 is the end of a pause until somebody resumes it."""
    if iso is None:
        return None
    return UNTIL_RESUMED if iso.startswith("9999-") else f"{iso[:SECONDS].replace('T', ' ')}Z"


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
    headings = [Heading(one.title, right=one.right, whole=one.whole or one.status) for one in columns]
    rows = [[Cell(_shown(one.cell(item)), status=one.status) for one in columns] for item in items]
    return Table(headings, rows)


def listing(columns: Sequence[Column], nothing: str) -> Callable[[Any], Iterator[Part]]:
    """The renderer of a page of a list; an empty list is a sentence."""

    def render(page: Any) -> Iterator[Part]:
        if page["items"] or page["next_cursor"] is not None:
            yield table(page["items"], columns)
        else:
            yield text(nothing)
        if page["next_cursor"] is not None:
            yield text(f"There is more: --all, --limit, or --cursor {page['next_cursor']}", style="dim")

    return render


def card(facts: Mapping[str, object]) -> Card:
    """Facts by name, one below the other; a state, status or outcome has its colour."""
    return Card([(visible(name), text(fact, _fact_style(name, fact))) for name, fact in facts.items()])


def _fact_style(name: str, fact: object) -> str:
    return status_style(str(fact)) if name in STATUS_FACTS else ""


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
        case "day-parts":
            parts = [f"{baseline(one['cadence'])} during {one['calendar']}" for one in shape["parts"]]
            return f"{', '.join(parts)}, otherwise {baseline(shape['otherwise'])}"
        case _:
            return f"once {moment(shape['at'])}"


def calendar_words(shape: Item | None) -> str | None:
    """When something may run, in words; None for always."""
    if not shape:
        return None
    named = job_calendar_words(shape)
    parts = [named, CLOSED_WORDS[shape["when_closed"]]] if named else []
    parts += [
        f"{words} {moment(shape[name])}"
        for name, words in (("starts_at", "from"), ("ends_at", "until"))
        if shape[name]
    ]
    return "; ".join(parts) or None


def job_calendar_words(shape: Item | None) -> str | None:
    """The calendars that something keeps to, in words; None for none."""
    names = (("only_during", "only during"), ("never_during", "never during"))
    parts = [f"{words} {shape[name]}" for name, words in names if shape and shape[name]]
    return " and ".join(parts) or None


def target(shape: Item) -> str:
    """A target in a few words."""
    match shape["kind"]:
        case "http":
            return f"{shape['method']} {shape['url']}"
        case "callable":
            return f"function {shape['function']}"
        case "heartbeat":
            return f"heartbeat, at most {span(shape['grace_ms'])} late"
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
