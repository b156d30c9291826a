"""Daily users, their days, and the windows of a day, as tables."""

from collections.abc import Iterator
from typing import Any

from cadenza.surfaces.cli.output.formatting import (
    Column,
    Part,
    card,
    listing,
    many,
    moment,
    span,
    table,
    text,
    yes,
)

AS_SET = "as the settings say"
CAUSES = {
    "down": "scheduler was down",
    "stalled": "scheduler was stalled",
    "clock": "system clock was not reliable",
    "store": "database was unavailable",
}
USERS = (
    Column("user", lambda user: user["user_id"]),
    Column("due", lambda user: user["due_time"], whole=True),
    Column("time zone", lambda user: user["timezone"], whole=True),
    Column("next cutoff", lambda user: moment(_next_of(user)["cutoff"]), whole=True),
    Column("last date", lambda user: user["last_date"], whole=True),
    Column("result", lambda user: user["status"], whole=True),
)
VERDICTS = (
    Column("date", lambda verdict: verdict["service_date"], whole=True),
    Column("user", lambda verdict: verdict["user_id"]),
    Column("result", lambda verdict: verdict["status"], whole=True),
    Column("due", lambda verdict: verdict["due_time"], whole=True),
    Column("recorded", lambda verdict: moment(verdict["decided_at"]), whole=True),
    Column(
        "missed because",
        lambda verdict: CAUSES.get(verdict["cause"], verdict["cause"]) if verdict["late"] else None,
    ),
)
GAPS = (
    Column("no results from", lambda gap: gap["from_date"], whole=True),
    Column("to", lambda gap: gap["to_date"], whole=True),
    Column("cause", lambda gap: gap["cause"]),
)


def _next_of(user: Any) -> Any:
    """The next day that is served, and its window."""
    return user["next_served"] or {"date": None, "opens_at": None, "cutoff": None}


TARGETS = {"http": "url", "prompt": "agent_id", "callable": "function"}
EVERY_DAY = 7


def _target(programme: Any) -> str | None:
    """What a programme does, in short; None if the settings say it."""
    target = programme["target"]
    return None if target is None else f"{target['kind']} {target[TARGETS[target['kind']]]}"


def _weekdays(programme: Any) -> str:
    return "every day" if len(programme["weekdays"]) == EVERY_DAY else ", ".join(programme["weekdays"])


def _minutes(count: int | None) -> str | None:
    return None if count is None else many(count, "minute")


PROGRAMMES = (
    Column("id", lambda programme: programme["id"]),
    Column("name", lambda programme: programme["name"]),
    Column("target", lambda programme: _target(programme) or AS_SET),
    Column("window", lambda programme: _minutes(programme["window_minutes"]) or AS_SET),
    Column("on", _weekdays),
    Column("share", lambda programme: f"{programme['share_percent']}%", right=True),
)


def programme(found: Any) -> Iterator[Part]:
    """One programme."""
    timeout = found["job_timeout_ms"]
    yield card(
        {
            "programme": found["id"],
            "name": found["name"],
            "target": _target(found) or AS_SET,
            "window": _minutes(found["window_minutes"]) or AS_SET,
            "retry delay": _minutes(found["retry_delay_minutes"]) or AS_SET,
            "job timeout": AS_SET if timeout is None else span(timeout),
            "on": _weekdays(found),
            "only during": found["only_during"],
            "never during": found["never_during"],
            "share of slots": f"{found['share_percent']}%",
            "cutoff resets conversations": yes(found["resets_conversation"]),
        }
    )


def user(found: Any) -> Iterator[Part]:
    """One user."""
    changes = ", ".join(
        f"{one['due_time']} {one['timezone']} from {one['from_date']}" for one in found["changes"]
    )
    window = _next_of(found)
    last = None if found["last_date"] is None else f"{found['last_date']}: {found['status']}"
    yield card(
        {
            "user": found["user_id"],
            "programme": found["programme"],
            "due": f"{found['due_time']} {found['timezone']}",
            "next date": window["date"] or "none within 400 days",
            "next window": window["date"] and f"{moment(window['opens_at'])} to {moment(window['cutoff'])}",
            "from a later date": changes or None,
            "last date": last,
            "last success": moment(found["last_run_at"]),
        }
    )


def user_with_days(found: Any) -> Iterator[Part]:
    """One user, and the verdicts of past days."""
    yield from user(found["user"])
    yield from listing(VERDICTS, "No results yet.")(found["days"])
    if found["days"]["gaps"]:
        yield table(found["days"]["gaps"], GAPS)


def imported(done: Any) -> Iterator[Part]:
    """How many users a file added."""
    yield text(f"{many(done['lines'], 'line')} imported.")


def day(found: Any) -> Iterator[Part]:
    """One day: how many verdicts are which, and whose."""
    counts = found["counts"]
    late = f", {counts['late']:,} of them in an outage" if counts["late"] else ""
    if counts["in_gaps"]:
        late += f" ({counts['in_gaps']:,} in outages over 7 days, not listed)"
    missed = f"{counts['cutoff_reached']:,} cutoff_reached{late}"
    yield text(f"{found['date']}: {counts['success']:,} success, {missed}")
    yield from listing(VERDICTS, "No results for this date.")(found)


WINDOWS = (
    Column("due", lambda window: window["due_time"], whole=True),
    Column("opens", lambda window: moment(window["opens_at"])),
    Column("succeeded", lambda window: f"{window['success']:,}", right=True),
    Column(
        "pending", lambda window: None if window["waiting"] is None else f"{window['waiting']:,}", right=True
    ),
    Column("missed", lambda window: f"{window['cutoff_reached']:,}", right=True),
)
HISTORY = (
    Column("date", lambda one: one["date"], whole=True),
    Column("succeeded", lambda one: f"{one['success']:,}", right=True),
    Column("missed", lambda one: f"{one['cutoff_reached']:,}", right=True),
    Column("in an outage", lambda one: f"{one['late']:,}", right=True),
)


def windows(found: Any) -> Iterator[Part]:
    """The windows of one day."""
    counts = found["counts"]
    more = " or more" if found["waiting_until"] else ""
    missed = f"{counts['cutoff_reached']:,} missed"
    yield text(
        f"{found['date']}: {counts['success']:,} succeeded, {missed}, {found['waiting']:,}{more} pending"
    )
    if found["windows"]:
        yield table(found["windows"], WINDOWS)


def history(found: Any) -> Iterator[Part]:
    """Verdicts by day."""
    yield table(found["items"], HISTORY) if found["items"] else text("No results yet.")
