"""Cron expressions: cronsim reads the calendar, Debian's rules apply at changes of daylight saving time."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.local_time import LONGEST_ZONE, zone_named
from cadenza.domain.validation import check_moment, check_text

MINUTE = timedelta(minutes=1)
DAY = timedelta(days=1)
CACHED_EXPRESSIONS = 4096
FIELDS = 5
LONGEST_EXPRESSION = 256
# The calendar's rarest day, a 29 February on a given weekday, comes at least every 40 years.
HORIZON_YEARS = 50
# Debian takes a greater change for a correction of the clock and simply goes on in the new time.
GREATEST_SHIFT = timedelta(hours=3)
CHECKED_FROM = datetime(2025, 1, 1, tzinfo=UTC)
NO_ANSWER = (datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC))

NICKNAMES = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
PLAIN_TEXT = re.compile(r"[\t -~]*")


class CronsimCron:
    """Computes fires, and caches for each expression the span in which the last answer holds."""

    def __init__(self, cached: int = CACHED_EXPRESSIONS) -> None:
        self._read = lru_cache(maxsize=cached)(parse_expression)

    def next(self, expression: str, after: datetime, timezone: str = "UTC") -> datetime:
        """The first fire strictly after `after`, as a UTC moment."""
        if type(after) is not datetime or after.tzinfo is not UTC:
            after = in_utc(after)
        parsed = self._parsed(expression, timezone)
        since, fire = parsed.last_answer
        if since <= after < fire:
            return fire
        fire = parsed.first_after(after)
        parsed.last_answer = (after, fire)
        return fire

    def check(self, expression: str, timezone: str = "UTC") -> None:
        """Refuse, with InvalidRequest, what is malformed, never fires or names no zone."""
        self._parsed(expression, timezone).first_after(CHECKED_FROM)

    def _parsed(self, expression: str, timezone: str) -> "CronExpression":
        check_text("expression", expression, longest=LONGEST_EXPRESSION)
        check_text("timezone", timezone, longest=LONGEST_ZONE)
        return self._read(expression, timezone)


@dataclass(slots=True, eq=False)
class CronExpression:
    """A parsed expression in its zone, and the last answer: no fire from its first moment to its second.

    The answer is one tuple, replaced and never changed, so that threads see a whole one.
    """

    text: str
    minutes: tuple[int, ...]
    hours: tuple[int, ...]
    calendar: CronSim
    zone: ZoneInfo
    wildcard: bool
    last_answer: tuple[datetime, datetime] = NO_ANSWER

    def first_after(self, after: datetime) -> datetime:
        """The earliest moment after `after` at which the line fires.

        1. Local times that match are found without regard to the clock's changes.
        2. Each stands for no moment, one or two; the first that is later than `after` counts.
        3. In the first pass of a repeated hour, the second may bring one from further up the clock.
        """
        try:
            here = after.astimezone(self.zone)
            shift = again(here) - after
            starts = (here, here - shift) if shift else (here,)
            return min([self._first_from(start, after) for start in starts])
        except OverflowError:
            raise InvalidRequest(f"{self.text!r} has no fire before the calendar ends.", "after") from None

    def _first_from(self, start: datetime, after: datetime) -> datetime:
        for local in self._local_times(start):
            for moment in self._moments(local):
                if moment > after:
                    return moment
        raise InvalidRequest(f"{self.text!r} never fires: no day or time fits all its fields.", "expression")

    def _local_times(self, start: datetime) -> Iterator[datetime]:
        """Local times that match, later on the clock than `start`."""
        first, hour, minute = start.date(), start.hour, start.minute
        for day in self._days(first):
            if day > first:
                hour = -1
            for at_hour in self.hours[bisect_left(self.hours, hour) :]:
                if at_hour > hour:
                    minute = -1
                for at_minute in self.minutes[bisect_right(self.minutes, minute) :]:
                    yield datetime(day.year, day.month, day.day, at_hour, at_minute, 0, 0, self.zone)

    def _days(self, first: date) -> Iterator[date]:
        day = first
        while day.year <= first.year + HORIZON_YEARS:
            if day.month not in self.calendar.months:
                day = (day.replace(day=1) + 31 * DAY).replace(day=1)
                continue
            if self.calendar.match_day(day):
                yield day
            day += DAY

    def _moments(self, local: datetime) -> tuple[datetime, ...]:
        """When this local time fires: skipped, it may catch up; repeated, it may fire twice."""
        first, second = local.astimezone(UTC), again(local)
        if first == second:
            return (first,)
        if first < second:
            return (first, second) if self.wildcard or second - first > GREATEST_SHIFT else (first,)
        if self.wildcard or first - second >= GREATEST_SHIFT:
            return ()
        return (end_of_gap(local),)


def again(local: datetime) -> datetime:
    """The second pass of a repeated local time; for a skipped one, a moment before its first."""
    return local.replace(fold=1).astimezone(UTC)


def end_of_gap(local: datetime) -> datetime:
    """The first minute after a skipped local time that the clock shows."""
    while again(local) < local.astimezone(UTC):
        local += MINUTE
    return local.astimezone(UTC)


def in_utc(after: datetime) -> datetime:
    """An aware moment of any zone, in UTC."""
    try:
        return check_moment("after", after).astimezone(UTC)
    except OverflowError:
        raise InvalidRequest("after is outside the calendar.", "after") from None


def parse_expression(expression: str, timezone: str) -> CronExpression:
    """Read a line and its zone, or refuse them in a sentence."""
    fields = read_fields(expression)
    try:
        parsed = parse(*fields)
    except CronSimError as error:
        raise InvalidRequest(refusal(fields, str(error)), "expression") from None
    return CronExpression(
        text=expression,
        minutes=tuple(sorted(parsed.minutes)),
        hours=tuple(sorted(parsed.hours)),
        calendar=read_calendar(*fields[2:]),
        zone=zone_named(timezone),
        wildcard=fields[0].startswith("*") or fields[1].startswith("*"),
    )


def read_fields(expression: str) -> list[str]:
    """The five fields of a line, or of what its name stands for."""
    if not PLAIN_TEXT.fullmatch(expression):
        raise InvalidRequest("A cron expression is one line of plain ASCII text.", "expression")
    fields = named(expression).split()
    if len(fields) != FIELDS:
        wanted = "A cron expression has five fields (minute, hour, day of month, month, day of week)"
        raise InvalidRequest(f"{wanted}; {expression!r} has {len(fields)}.", "expression")
    return fields


def named(expression: str) -> str:
    """What a name such as @daily stands for; anything else stays itself."""
    name = expression.strip().lower()
    if not name.startswith("@"):
        return expression
    if name == "@reboot":
        raise InvalidRequest("@reboot names no time of the clock, so it cannot be scheduled.", "expression")
    if name not in NICKNAMES:
        known = ", ".join(NICKNAMES)
        raise InvalidRequest(f"{expression!r} is not a known name; known are {known}.", "expression")
    return NICKNAMES[name]


@lru_cache(maxsize=1024)
def read_calendar(day: str, month: str, weekday: str) -> CronSim:
    """The days of a line; most lines share theirs with others, and its sets are large."""
    return parse("0", "0", day, month, weekday)


def parse(*fields: str) -> CronSim:
    """The line as cronsim reads it; it is asked for days alone, so any moment will do."""
    return CronSim(" ".join(fields), CHECKED_FROM)


def refusal(fields: list[str], complaint: str) -> str:
    """cronsim's complaint as a sentence; it calls a day that no named month has a bad day."""
    line = " ".join(fields)
    if complaint == "Bad day-of-month" and parses(*fields[:3], "*", fields[4]):
        return f"{line!r} never fires: no month it names has that day."
    return f"{line!r} cannot be read: its {complaint.lower().removeprefix('bad ')} is wrong."


def parses(*fields: str) -> bool:
    """Whether cronsim takes these fields."""
    try:
        parse(*fields)
    except CronSimError:
        return False
    return True
