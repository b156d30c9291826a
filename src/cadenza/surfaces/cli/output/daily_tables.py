"""Daily users, their days, and the windows of a day, as tables."""

from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType

from cadenza.surfaces.cli.output.formatting import Column, card, listing, many, moment, table, text

USERS = (
    Column("user", lambda user: user["user_id"]),
    Column("due", lambda user: user["due_time"], whole=True),
    Column("next cutoff", lambda user: moment(user["next_cutoff"]), whole=True),
    Column("last day", lambda user: user["last_date"], whole=True),
    Column("verdict", lambda user: user["status"], whole=True),
)
VERDICTS = (
    Column("day", lambda verdict: verdict["service_date"], whole=True),
    Column("user", lambda verdict: verdict["user_id"]),
    Column("verdict", lambda verdict: verdict["status"], whole=True),
    Column("due", lambda verdict: verdict["due_time"], whole=True),
    Column("decided", lambda verdict: moment(verdict["decided_at"]), whole=True),
    Column("late", lambda verdict: verdict["cause"] if verdict["late"] else None),
)
GAPS = (
    Column("without verdicts from", lambda gap: gap["from_date"], whole=True),
    Column("to", lambda gap: gap["to_date"], whole=True),
    Column("cause", lambda gap: gap["cause"]),
)


def user(found: Any) -> Iterator[RenderableType]:
    """One user."""
    changes = ", ".join(f"{one['due_time']} from {one['from_date']}" for one in found["changes"])
    last = None if found["last_date"] is None else f"{found['last_date']}: {found['status']}"
    yield card(
        {
            "user": found["user_id"],
            "due": f"{found['due_time']} UTC",
            "next window": f"{moment(found['next_opens_at'])} to {moment(found['next_cutoff'])}",
            "later": changes or None,
            "last day": last,
            "last success": moment(found["last_run_at"]),
        }
    )


def user_with_days(found: Any) -> Iterator[RenderableType]:
    """One user, and the verdicts of past days."""
    yield from user(found["user"])
    yield from listing(VERDICTS, "No day has a verdict yet.")(found["days"])
    if found["days"]["gaps"]:
        yield table(found["days"]["gaps"], GAPS)


def imported(done: Any) -> Iterator[RenderableType]:
    """How many users a file added."""
    yield text(f"{many(done['lines'], 'line')} taken: these users are served daily.")


def day(found: Any) -> Iterator[RenderableType]:
    """One day: how many verdicts are which, and whose."""
    counts = found["counts"]
    late = f", {counts['late']:,} of them late" if counts["late"] else ""
    if counts["in_gaps"]:
        late += f" ({counts['in_gaps']:,} in gaps, not listed)"
    missed = f"{counts['cutoff_reached']:,} cutoff_reached{late}"
    yield text(f"{found['date']}: {counts['success']:,} success, {missed}")
    yield from listing(VERDICTS, "No user has a verdict for this day.")(found)


WINDOWS = (
    Column("due", lambda window: window["due_time"], whole=True),
    Column("opens", lambda window: moment(window["opens_at"])),
    Column("served", lambda window: f"{window['success']:,}", right=True),
    Column(
        "waiting", lambda window: None if window["waiting"] is None else f"{window['waiting']:,}", right=True
    ),
    Column("missed", lambda window: f"{window['cutoff_reached']:,}", right=True),
)
HISTORY = (
    Column("day", lambda one: one["date"], whole=True),
    Column("served", lambda one: f"{one['success']:,}", right=True),
    Column("missed", lambda one: f"{one['cutoff_reached']:,}", right=True),
    Column("of them late", lambda one: f"{one['late']:,}", right=True),
)


def windows(found: Any) -> Iterator[RenderableType]:
    """The windows of one day."""
    counts = found["counts"]
    more = " or more" if found["waiting_until"] else ""
    missed = f"{counts['cutoff_reached']:,} missed"
    yield text(f"{found['date']}: {counts['success']:,} served, {missed}, {found['waiting']:,}{more} waiting")
    if found["windows"]:
        yield table(found["windows"], WINDOWS)


def history(found: Any) -> Iterator[RenderableType]:
    """Verdicts by day."""
    yield table(found["items"], HISTORY) if found["items"] else text("No day has a verdict yet.")
