"""Local dates and due times as moments: what a zone skips or repeats has one answer."""

from datetime import UTC, date, datetime, time
from functools import lru_cache

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.local_time import first_moment as moment_of_clock
from cadenza.domain.local_time import zone_named
from cadenza.domain.validation import quoted

UTC_NAME = "UTC"


def check_timezone(timezone: object) -> str:
    """An IANA name of a zone; InvalidRequest if there is no such zone."""
    if not isinstance(timezone, str):
        raise InvalidRequest(
            f"{quoted(timezone)} is not a time zone; an example is Europe/Berlin.", "timezone"
        )
    zone_named(timezone)
    return timezone


@lru_cache(maxsize=65_536)
def first_moment(day: date, at: time, timezone: str) -> datetime:
    """The first moment at which clocks of the zone show this time of this date, or a later one.

    So a time that is skipped means the first moment after the gap, and a repeated one its first pass.
    """
    if timezone == UTC_NAME:
        return datetime.combine(day, at, UTC)
    return moment_of_clock(datetime.combine(day, at), zone_named(timezone))


def local_date(moment: datetime, timezone: str) -> date:
    """The date that calendars of the zone show at a moment."""
    return moment.astimezone(zone_named(timezone)).date()


@lru_cache(maxsize=16_384)
def date_exists(day: date, timezone: str) -> bool:
    """Whether the zone has this date: some have left one out, to change sides of the date line."""
    return timezone == UTC_NAME or local_date(first_moment(day, time(), timezone), timezone) == day
