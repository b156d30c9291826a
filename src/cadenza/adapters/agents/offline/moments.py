"""Finds phrases about time in a request, and resolves them in the user's time zone."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo, available_timezones

from cadenza.adapters.agents.offline.days import DAYS, DELAY_FORMS, RelativeTime, parse_day, parse_delay
from cadenza.adapters.agents.offline.recurrences import (
    DEFAULT_TIME,
    RECURRENCE_FORMS,
    Recurrence,
    cron_line,
    parse_recurrence,
)
from cadenza.adapters.agents.offline.times import PARTS, TIME_FORMS, TimeOfDay, parse_time_of_day
from cadenza.adapters.agents.offline.vocabulary import UnclearRequest

ZONES = (re.compile(r"(?:in\s+)?(?P<zone>utc|gmt|[a-z]+/[a-z_]+(?:/[a-z_]+)?)(?!\w)"),)
WHICH_ZONE = "In which time zone are you, such as Europe/Berlin?"
BETWEEN = re.compile(r"(?:\s*,\s*|\s+)")
WORD_START = re.compile(r"(?<!\S)\S")


class AfterDelay(NamedTuple):
    """After a delay."""

    span: timedelta


class AtMoment(NamedTuple):
    """At a moment, once."""

    at: datetime


class Recurring(NamedTuple):
    """Repeatedly, by a cron expression in a time zone."""

    line: str
    timezone: str | None


ResolvedTime = AfterDelay | AtMoment | Recurring


@dataclass(frozen=True, slots=True)
class TimePhrase:
    """The parts of a phrase about time: each at most once, in any order."""

    recurrence: Recurrence | None = None
    delay: RelativeTime | None = None
    day: date | None = None
    time_of_day: TimeOfDay | None = None
    zone: str | None = None
    tonight: bool = False

    def __bool__(self) -> bool:
        return any((self.recurrence, self.delay, self.day, self.time_of_day))

    @property
    def lacks_time(self) -> bool:
        """Whether there is a day, or a recurrence of days, without a time of day."""
        by_days = self.day is not None or (self.delay is not None and self.delay.days)
        return self.time_of_day is None and (
            by_days or (self.recurrence is not None and self.recurrence.unit != "hour")
        )


NO_TIME = TimePhrase()


def parse_start(text: str, now: datetime) -> tuple[TimePhrase, int]:
    """The phrase about time at the start of a text, and the position where it ends."""
    when, end = NO_TIME, 0
    while True:
        gap = BETWEEN.match(text, end)
        start = gap.end() if gap and end else end
        found = next(_parts(text, start, when, now), None)
        if found is None:
            return when, end
        when, end = found


def _parts(text: str, start: int, when: TimePhrase, now: datetime) -> Iterator[tuple[TimePhrase, int]]:
    """Every way to extend the phrase here with a part that it does not have yet."""
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
        ("recurrence", RECURRENCE_FORMS, parse_recurrence),
        ("delay", DELAY_FORMS, parse_delay),
        ("day", DAYS, lambda match: parse_day(match, now)),
        ("time_of_day", TIME_FORMS, parse_time_of_day),
        ("zone", ZONES, _zone),
    )


def _zone(match: re.Match[str]) -> str:
    said = match["zone"]
    if said in ("utc", "gmt"):
        return "UTC"
    known = {name.lower(): name for name in available_timezones()}
    if said not in known:
        raise UnclearRequest(
            f"I do not know the time zone {said}; which one do you mean, such as Europe/Berlin?"
        )
    return known[said]


def parse_end(text: str, now: datetime) -> tuple[TimePhrase, int]:
    """The phrase about time at the end of a text, and the position where it starts."""
    unclear: UnclearRequest | None = None
    for word in WORD_START.finditer(text):
        try:
            when, length = parse_start(text[word.start() :], now)
        except UnclearRequest as problem:  # The words may not be about time at all.
            unclear = unclear or problem
            continue
        if when and word.start() + length == len(text):
            return when, word.start()
    if unclear is not None:
        raise unclear
    return NO_TIME, len(text)


def merge_times(first: TimePhrase, second: TimePhrase) -> TimePhrase | None:
    """Both phrases as one; None if they have a part in common."""
    merged: dict[str, Any] = {}
    for field in ("recurrence", "delay", "day", "time_of_day", "zone"):
        said = [value for one in (first, second) if (value := getattr(one, field)) is not None]
        if len(said) > 1:
            return None
        merged[field] = said[0] if said else None
    return TimePhrase(**merged, tonight=first.tonight or second.tonight)


def resolve(when: TimePhrase, now: datetime, timezone: str | None) -> ResolvedTime:
    """When a phrase means; UnclearRequest if it has several meanings, or none.

    1. A recurrence is a cron expression in the user's time zone.
    2. A delay in hours or shorter units counts from now.
    3. A time of day is the next one, or that of the given day.
    4. A day without a time means its morning; today without a time is unclear.
    """
    zone = when.zone or timezone
    here = now.astimezone(ZoneInfo(zone)) if zone else now.astimezone(UTC)
    if when.recurrence is not None:
        if when.delay is not None:
            raise UnclearRequest("Shall it happen once after that while, or again and again?")
        if zone is None:
            raise UnclearRequest(WHICH_ZONE)
        time_of_day = _evening(when.time_of_day) if when.tonight and when.time_of_day else when.time_of_day
        return Recurring(cron_line(when.recurrence, time_of_day=time_of_day, day=when.day, now=here), zone)
    if when.delay is not None and when.day is not None:
        raise UnclearRequest("Do you mean that day, or that while from now?")
    if when.delay is not None and (when.time_of_day is None or not when.delay.days):
        if when.time_of_day is not None:
            raise UnclearRequest("Do you mean that time of the day, or that while from now?")
        return AtMoment(when.delay.after(here)) if when.delay.months else AfterDelay(when.delay.span)
    if zone is None:
        raise UnclearRequest(WHICH_ZONE)
    return AtMoment(_moment(when, here))


def _moment(when: TimePhrase, here: datetime) -> datetime:
    day = when.delay.after(here).date() if when.delay is not None else when.day
    time_of_day = _clock(when, here, day)
    if day is not None:
        at = _on(day, time_of_day, here)
        if at <= here:
            raise UnclearRequest(f"{at:%A, %-d %B %Y, %H:%M} has passed; when do you mean?")
        return at
    at = _on(here.date(), time_of_day, here)
    return at if at > here else _on(here.date() + timedelta(days=1), time_of_day, here)


def _on(day: date, at: time, here: datetime) -> datetime:
    """A local time on a day, normalized through UTC, as a day may have 23 hours."""
    return datetime.combine(day, at, here.tzinfo).astimezone(UTC).astimezone(here.tzinfo)


def _clock(when: TimePhrase, here: datetime, day: date | None) -> time:
    if when.time_of_day is None:
        if when.tonight:
            return time(PARTS["night"])
        if day == here.date():
            raise UnclearRequest("At what time today?")
        return DEFAULT_TIME
    time_of_day = _evening(when.time_of_day) if when.tonight else when.time_of_day
    passed = not time_of_day.certain and day in (None, here.date()) and time_of_day.time <= here.time()
    if time_of_day.could_be_afternoon or passed:
        raise time_of_day.half_of_day_question
    return time_of_day.time


def _evening(time_of_day: TimeOfDay) -> TimeOfDay:
    """With `tonight`, an hour means one of the evening."""
    if time_of_day.certain or time_of_day.time.hour >= 12:  # noqa: PLR2004 - it is said already
        return time_of_day
    return TimeOfDay(time_of_day.time.replace(hour=time_of_day.time.hour + 12))
