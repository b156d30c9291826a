"""When something shall happen: found in what people say, and worked out in their own time."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo, available_timezones

from cadenza.adapters.agents.offline.days import DAYS, DELAYS, Delay, read_day, read_delay
from cadenza.adapters.agents.offline.recurrences import REPEATS, USUAL, WHOLE, Said, cron_line, read_repeat
from cadenza.adapters.agents.offline.times import CLOCKS, PARTS, Clock, read_clock
from cadenza.adapters.agents.offline.vocabulary import Unclear

ZONES = (re.compile(r"(?:in\s+)?(?P<zone>utc|gmt|[a-z]+/[a-z_]+(?:/[a-z_]+)?)(?!\w)"),)
WHICH_ZONE = "In which time zone are you, such as Europe/Berlin?"
BETWEEN = re.compile(r"(?:\s*,\s*|\s+)")
WORD_START = re.compile(r"(?<!\S)\S")


class Later(NamedTuple):
    """After a while."""

    span: timedelta


class AtMoment(NamedTuple):
    """At a moment, once."""

    at: datetime


class Repeatedly(NamedTuple):
    """Over and over, by a cron line in a time zone."""

    line: str
    timezone: str | None


Resolved = Later | AtMoment | Repeatedly


@dataclass(frozen=True, slots=True)
class When:
    """What was said about when; each part at most once, and in any order."""

    repeat: Said | None = None
    delay: Delay | None = None
    day: date | None = None
    clock: Clock | None = None
    zone: str | None = None
    tonight: bool = False

    def __bool__(self) -> bool:
        return any((self.repeat, self.delay, self.day, self.clock))

    @property
    def lacks_time(self) -> bool:
        """Is there a day, or a recurrence of days, without a time of day?"""
        by_days = self.day is not None or (self.delay is not None and self.delay.days)
        return self.clock is None and (by_days or (self.repeat is not None and self.repeat.unit != "hour"))


NOTHING_SAID = When()


def spoken(text: str, now: datetime) -> tuple[When, int]:
    """What is said about when at the beginning of a text, and where that ends."""
    when, end = NOTHING_SAID, 0
    while True:
        gap = BETWEEN.match(text, end)
        start = gap.end() if gap and end else end
        found = next(_parts(text, start, when, now), None)
        if found is None:
            return when, end
        when, end = found


def _parts(text: str, start: int, when: When, now: datetime) -> Iterator[tuple[When, int]]:
    """Every way to go on from here with something that was not said yet, the longest kind first."""
    for field, forms, read in _kinds(now):
        if getattr(when, field) is not None:
            continue
        for form in forms:
            match = form.match(text, start)
            if match and not text[match.end() : match.end() + 1].isalnum():
                said = {field: read(match)}
                if "tonight" in match[0]:
                    said["tonight"] = True
                yield replace(when, **said), match.end()


def _kinds(
    now: datetime,
) -> Iterable[tuple[str, tuple[re.Pattern[str], ...], Callable[[re.Match[str]], Any]]]:
    return (
        ("repeat", REPEATS, read_repeat),
        ("delay", DELAYS, read_delay),
        ("day", DAYS, lambda match: read_day(match, now)),
        ("clock", CLOCKS, read_clock),
        ("zone", ZONES, _zone),
    )


def _zone(match: re.Match[str]) -> str:
    said = match["zone"]
    if said in ("utc", "gmt"):
        return "UTC"
    known = {name.lower(): name for name in available_timezones()}
    if said not in known:
        raise Unclear(f"I do not know the time zone {said}; which one do you mean, such as Europe/Berlin?")
    return known[said]


def at_the_end(text: str, now: datetime) -> tuple[When, int]:
    """What is said about when at the end of a text, and where that begins."""
    unclear: Unclear | None = None
    for word in WORD_START.finditer(text):
        try:
            when, length = spoken(text[word.start() :], now)
        except Unclear as problem:  # It may have been about something else than when.
            unclear = unclear or problem
            continue
        if when and word.start() + length == len(text):
            return when, word.start()
    if unclear is not None:
        raise unclear
    return NOTHING_SAID, len(text)


def together(first: When, second: When) -> When | None:
    """Both, if they do not speak of the same thing."""
    merged: dict[str, Any] = {}
    for field in ("repeat", "delay", "day", "clock", "zone"):
        said = [value for one in (first, second) if (value := getattr(one, field)) is not None]
        if len(said) > 1:
            return None
        merged[field] = said[0] if said else None
    return When(**merged, tonight=first.tonight or second.tonight)


def resolved(when: When, now: datetime, timezone: str | None) -> Resolved:
    """What was said, worked out. Unclear if it can mean several things, or nothing.

    1. A recurrence is a cron line in the user's time zone.
    2. A while that was said in hours or less is counted from now.
    3. A time of day is the next one, on the day that was said if one was.
    4. A day without a time is its morning, and today without a time is a question.
    """
    zone = when.zone or timezone
    here = now.astimezone(ZoneInfo(zone)) if zone else now.astimezone(UTC)
    if when.repeat is not None:
        if when.delay is not None:
            raise Unclear("Shall it happen once after that while, or again and again?")
        if zone is None and when.repeat.unit not in WHOLE:
            raise Unclear(WHICH_ZONE)
        clock = _evening(when.clock) if when.tonight and when.clock else when.clock
        return Repeatedly(cron_line(when.repeat, clock=clock, day=when.day, now=here), zone)
    if when.delay is not None and when.day is not None:
        raise Unclear("Do you mean that day, or that while from now?")
    if when.delay is not None and (when.clock is None or not when.delay.days):
        if when.clock is not None:
            raise Unclear("Do you mean that time of the day, or that while from now?")
        return AtMoment(when.delay.after(here)) if when.delay.months else Later(when.delay.span)
    if zone is None:
        raise Unclear(WHICH_ZONE)
    return AtMoment(_moment(when, here))


def _moment(when: When, here: datetime) -> datetime:
    day = when.delay.after(here).date() if when.delay is not None else when.day
    clock = _clock(when, here, day)
    if day is not None:
        at = _on(day, clock, here)
        if at <= here:
            raise Unclear(f"{at:%A, %-d %B %Y, %H:%M} has passed; when do you mean?")
        return at
    at = _on(here.date(), clock, here)
    return at if at > here else _on(here.date() + timedelta(days=1), clock, here)


def _on(day: date, at: time, here: datetime) -> datetime:
    """A moment of the user's own calendar; compared in UTC, as a day may have 23 hours."""
    return datetime.combine(day, at, here.tzinfo).astimezone(UTC).astimezone(here.tzinfo)


def _clock(when: When, here: datetime, day: date | None) -> time:
    if when.clock is None:
        if when.tonight:
            return time(PARTS["night"])
        if day == here.date():
            raise Unclear("At what time today?")
        return USUAL
    clock = _evening(when.clock) if when.tonight else when.clock
    passed = not clock.sure and day in (None, here.date()) and clock.time <= here.time()
    if clock.early or passed:
        raise clock.which
    return clock.time


def _evening(clock: Clock) -> Clock:
    """Tonight, hours are those of the evening."""
    if clock.sure or clock.time.hour >= 12:  # noqa: PLR2004 - it is said already
        return clock
    return Clock(clock.time.replace(hour=clock.time.hour + 12))
