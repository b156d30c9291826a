"""Calendars, as people see them: a card, and a year by its months."""

from collections.abc import Iterator
from typing import Any

from cadenza.surfaces.cli.output.formatting import Column, Part, card, many, moment, table, text, yes

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
CALENDARS = (
    Column("id", lambda one: one["id"]),
    Column("name", lambda one: one["name"]),
    Column("timezone", lambda one: one["timezone"]),
    Column("open", lambda one: yes(one["open"])),
    Column("changes", lambda one: moment(one["changes_at"])),
)
USES = (Column("kind", lambda use: use["kind"]), Column("id", lambda use: use["id"]))
YEAR = (
    Column("month", lambda one: MONTHS[one["month"] - 1]),
    Column("days", lambda one: one["open_days"], right=True),
    Column("hours", lambda one: f"{one['open_hours']:g}", right=True),
    Column("open", lambda one: one["open"]),
    Column("clocks", lambda one: one["clocks"]),
)
RUNS = (
    Column("endpoint", lambda one: one["endpoint_id"]),
    Column("name", lambda one: one["name"]),
    Column("runs", lambda one: f"{one['runs']}{'+' if one['more'] else ''}", right=True),
    Column("next", lambda one: ", ".join(str(moment(at)) for at in one["next_runs"])),
)


def calendar_card(one: Any) -> Iterator[Part]:
    """A calendar as it was written, and whether it is open."""
    yield card(
        {
            "calendar": one["id"],
            "name": one["name"] or None,
            "timezone": one["timezone"],
            **_parts(one, ""),
            **_parts(one["except_during"] or {}, "except "),
            "open": yes(one["open"]),
            "closes" if one["open"] else "opens": moment(one["changes_at"]) or "never again",
        }
    )


def calendar_year(answer: Any) -> Iterator[Part]:
    """A year by its months, with the changes of clocks, and what would run."""
    yield text(f"{answer['calendar_id']} in {answer['year']}, by the clocks of {answer['timezone']}:")
    changes: dict[int, list[str]] = {month: [] for month in range(1, 13)}
    for change in answer["clock_changes"]:
        changes[int(change["at"][5:7])].append(f"{change['at'][:10]} {change['before']} to {change['after']}")
    months = [
        {**one, "open": _days_of(answer["days"], one["month"]), "clocks": "; ".join(changes[one["month"]])}
        for one in answer["months"]
    ]
    yield table(months, YEAR)
    if answer["endpoints"]:
        yield text(f"What would run of {many(len(answer['endpoints']), 'endpoint')} that it keeps:")
        yield table(answer["endpoints"], RUNS)
    else:
        yield text("No endpoint names it yet.")


def _days_of(days: list[Any], month: int) -> str:
    """The open days of a month, such as 1, 4-8; the days alone."""
    numbers = [int(day["date"][8:]) for day in days if int(day["date"][5:7]) == month]
    spans: list[list[int]] = []
    for number in numbers:
        if spans and spans[-1][-1] == number - 1:
            spans[-1] = [spans[-1][0], number]
        else:
            spans.append([number])
    return ", ".join("-".join(map(str, one)) for one in spans)


def _parts(parts: Any, prefix: str) -> dict[str, object]:
    """The parts of a calendar by their names, for a card."""
    hours = [f"{','.join(one['days'])} {one['opens']}-{one['closes']}" for one in parts.get("weekly") or ()]
    countries = parts.get("holidays") or ()
    holidays = ["-".join(filter(None, (one["country"], one.get("subdivision")))) for one in countries]
    dates = [
        one["first"] if one.get("last") in (None, one["first"]) else f"{one['first']}..{one['last']}"
        for one in parts.get("dates") or ()
    ]
    found = {"weekly": hours, "holidays": holidays, "dates": dates}
    shown: dict[str, object] = {f"{prefix}{name}": "; ".join(words) for name, words in found.items() if words}
    return shown | ({f"{prefix}ics": f"{len(parts['ics']):,} characters"} if parts.get("ics") else {})
