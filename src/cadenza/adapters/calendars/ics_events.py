"""Events of an iCalendar file as spans, within bounds that a hostile file cannot stretch."""

import re
from collections.abc import Iterator
from datetime import UTC, date, datetime
from itertools import islice, takewhile
from typing import Any
from zoneinfo import ZoneInfo

import icalendar
import recurring_ical_events

from cadenza.adapters.calendars.ics_rules import days_of, read_rule
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.local_time import (
    DAY,
    SECOND,
    Span,
    first_moment,
    whole_days,
    zone_named,
)
from cadenza.domain.scheduling.calendars.compile import Horizon

MOST_EVENTS = 2_000
MOST_OCCURRENCES = 20_000
MOST_STEPS = 400_000
"""How many candidates all recurrences of a file may have together: a second or two of work."""
LONGEST_EVENT = 3_660 * DAY
PROPERTIES = frozenset({"UID", "DTSTART", "DTEND", "DURATION", "RRULE", "RDATE", "EXDATE"})
PROPERTIES |= {"RECURRENCE-ID", "SEQUENCE", "STATUS"}
FOLD = re.compile(r"\r?\n[ \t]")
NAME = re.compile(r"[A-Za-z-]+")

When = date | datetime


def spans_of_events(text: str, timezone: str, over: Horizon) -> list[Span]:
    """The spans of all events that overlap the horizon; InvalidRequest in one sentence for a bad file."""
    zone = zone_named(timezone)
    try:
        return _spans(text, zone, over)
    except InvalidRequest:
        raise
    except Exception as problem:  # noqa: BLE001 - Whatever the libraries make of a hostile file.
        raise _refused(f"cannot be read ({type(problem).__name__})") from None


def _spans(text: str, zone: ZoneInfo, over: Horizon) -> list[Span]:
    calendar = icalendar.Calendar.from_ical(_events_alone(text))
    events = calendar.walk("VEVENT")
    steps = 0
    for event in events:
        _place(event, zone)
        steps += _list_recurrences(event, zone, over)
        if steps > MOST_STEPS:
            raise _refused("has more recurrences than can be followed; leave out old or needless ones")
    found = recurring_ical_events.of(calendar).between(over.since, over.until)
    if len(found) > MOST_OCCURRENCES:
        raise _refused(f"has more than {MOST_OCCURRENCES:,} events within thirteen years")
    return [_span(one, zone) for one in found if str(one.get("STATUS", "")).upper() != "CANCELLED"]


def _events_alone(text: str) -> str:
    """The file with nothing but events, and of these nothing but what says when they are.

    Time zones that the file defines are left out: they may hold rules without end, and the libraries
    would keep them for the files of others.
    """
    lines = FOLD.sub("", text).splitlines()
    if not lines or lines[0].strip().lstrip("\ufeff").upper() != "BEGIN:VCALENDAR":
        raise _refused("does not begin with BEGIN:VCALENDAR")
    kept = [*_event_lines(lines)]
    if kept.count("BEGIN:VEVENT") > MOST_EVENTS:
        raise _refused(f"has more than {MOST_EVENTS:,} events")
    return "\r\n".join(["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:-", *kept, "END:VCALENDAR", ""])


def _event_lines(lines: list[str]) -> Iterator[str]:
    path: list[str] = []
    for line in lines:
        word, _, rest = line.strip().partition(":")
        name, inside = word.upper(), path[-1:] == ["VEVENT"]
        if name == "BEGIN":
            path.append(rest.strip().upper())
        elif name == "END" and path:
            path.pop()
        if name in ("BEGIN", "END"):
            if rest.strip().upper() == "VEVENT" and len(path) == (2 if name == "BEGIN" else 1):
                yield f"{name}:VEVENT"
        elif inside and len(path) == len(("VCALENDAR", "VEVENT")):
            matched = NAME.match(name)
            if matched and matched.group() in PROPERTIES:
                yield line


def _place(event: Any, zone: ZoneInfo) -> None:
    """Give times without a zone that of the calendar; refuse events that are too long, and unknown zones."""
    start = event.get("DTSTART")
    if start is None or isinstance(start, list):
        raise _refused("has an event without one DTSTART")
    for name in ("DTSTART", "DTEND", "RECURRENCE-ID"):
        if (stored := event.get(name)) is not None:
            event[name] = icalendar.vDDDTypes(_in_zone(stored, zone))
    for name in ("RDATE", "EXDATE"):
        lists = event.get(name) or []
        for one in lists if isinstance(lists, list) else [lists]:
            for stored in one.dts:
                stored.dt = _in_zone(stored, zone)
    begin, end = event.start, event.end
    if not isinstance(begin, type(end)) or end < begin or end - begin > LONGEST_EVENT:
        raise _refused("has an event that lasts for more than ten years, or ends before it begins")


def _in_zone(stored: Any, zone: ZoneInfo) -> Any:
    when = stored.dt
    if not isinstance(when, datetime):
        if not isinstance(when, date):
            raise _refused("has dates with a length (PERIOD), which are not taken")
        return when
    named = stored.params.get("TZID")
    if when.tzinfo is None and named is not None:
        raise _refused(f"names the unknown time zone {str(named)[:60]!r}; write a name such as Europe/Berlin")
    return when.replace(tzinfo=zone) if when.tzinfo is None else when


def _list_recurrences(event: Any, zone: ZoneInfo, over: Horizon) -> int:
    """Write the recurrences of an event as a list of their moments; what it cost to follow them."""
    written = event.pop("RRULE", None)
    if written is None:
        return 0
    if isinstance(written, list):
        raise _refused("has an event with more than one RRULE")
    rule, start = read_rule(written), event["DTSTART"].dt
    first, last = _day(start), over.until.date() + DAY
    steps = rule.steps(first, last)
    if steps > MOST_STEPS:
        return steps
    ends = [_as_moment(one, zone) for one in written.get("UNTIL", [])]
    found = (_on(day, start) for day in days_of(rule, first, last))
    within = takewhile(lambda when: all(_as_moment(when, zone) <= end for end in ends), found)
    count = int(next(iter(written.get("COUNT", [])), MOST_OCCURRENCES))
    recurrences = [*islice(within, count)] or [start]
    event.add("RDATE", recurrences)
    return steps + MOST_STEPS // MOST_OCCURRENCES * len(recurrences)


def _day(when: When) -> date:
    return when.date() if isinstance(when, datetime) else when


def _on(day: date, start: When) -> When:
    """The start of an event on another day, by the same clocks."""
    return datetime.combine(day, start.timetz()) if isinstance(start, datetime) else day


def _as_moment(when: When, zone: ZoneInfo) -> datetime:
    """A moment; of a day without a time, its last second."""
    if not isinstance(when, datetime):
        return whole_days(when, when, zone)[1] - SECOND
    return when.replace(tzinfo=zone) if when.tzinfo is None else when


def _span(occurrence: Any, zone: ZoneInfo) -> Span:
    begin, end = occurrence.start, occurrence.end
    if isinstance(begin, datetime):
        return _utc(begin), _utc(end)
    return whole_days(begin, max(begin, end - DAY), zone)


def _utc(when: datetime) -> datetime:
    """A moment in UTC; one that clocks skip is the moment of their change."""
    zone = when.tzinfo
    if isinstance(zone, ZoneInfo) and not when.fold:
        return first_moment(when.replace(tzinfo=None), zone)
    return when.astimezone(UTC)


def _refused(why: str) -> InvalidRequest:
    return InvalidRequest(f"The ICS file {why}.", "ics")
