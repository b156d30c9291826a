"""Local dates and times as moments: what a zone skips or repeats has one answer."""

import re
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.validation import quoted

UTC_NAME = "UTC"
ZONE_NAME = re.compile(r"[A-Za-z0-9_+-]{1,40}(?:/[A-Za-z0-9_+-]{1,40}){0,2}")
DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)


@lru_cache(maxsize=1_024)
def zone_of(timezone: str) -> tzinfo:
    """The zone of an IANA name that was checked; kept, because the library forgets all but a few."""
    return UTC if timezone == UTC_NAME else ZoneInfo(timezone)


def check_timezone(timezone: object) -> str:
    """An IANA name of a zone; InvalidRequest if there is no such zone."""
    if isinstance(timezone, str) and ZONE_NAME.fullmatch(timezone):
        try:
            zone_of(timezone)
        except (LookupError, ValueError, OSError):
            pass
        else:
            return timezone
    raise InvalidRequest(f"{quoted(timezone)} is not a time zone; an example is Europe/Berlin.", "timezone")


@lru_cache(maxsize=65_536)
def first_moment(day: date, at: time, timezone: str) -> datetime:
    """The first moment at which clocks of the zone show this time of this date, or a later one.

    So a time that is skipped means the first moment after the gap, and a repeated one its first pass.
    """
    if timezone == UTC_NAME:
        return datetime.combine(day, at, UTC)
    wall, zone = datetime.combine(day, at), zone_of(timezone)
    moment = wall.replace(tzinfo=zone).astimezone(UTC)
    if _clock(moment, zone) == wall:
        return moment
    return _end_of_gap(wall, zone, moment)


def local_date(moment: datetime, timezone: str) -> date:
    """The date that calendars of the zone show at a moment."""
    return moment.astimezone(zone_of(timezone)).date()


@lru_cache(maxsize=16_384)
def date_exists(day: date, timezone: str) -> bool:
    """Whether the zone has this date: some have left one out, to change sides of the date line."""
    return timezone == UTC_NAME or local_date(first_moment(day, time(), timezone), timezone) == day


def _end_of_gap(wall: datetime, zone: tzinfo, after: datetime) -> datetime:
    """The first moment after the gap in which a time lies, given a later one."""
    before = wall.replace(tzinfo=zone, fold=1).astimezone(UTC)
    seconds = (after - before) // SECOND
    first, last = 0, seconds
    while first < last:
        middle = (first + last) // 2
        if _clock(before + middle * SECOND, zone) >= wall:
            last = middle
        else:
            first = middle + 1
    return before + first * SECOND


def _clock(moment: datetime, zone: tzinfo) -> datetime:
    return moment.astimezone(zone).replace(tzinfo=None)
