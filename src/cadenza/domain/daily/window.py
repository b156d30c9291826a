"""A user's daily window: its cutoff, and whether it has opened or is over at a moment."""

from datetime import date, datetime, time, timedelta

from cadenza.domain.daily.zones import UTC_NAME, first_moment

WINDOW = timedelta(minutes=60)
"""How long a window lasts, unless set otherwise: a day at most."""
RETRY_DELAY = timedelta(minutes=10)
"""How long a user waits for the next try, unless set otherwise."""
DAY = timedelta(days=1)


def cutoff(due: time, service_date: date, *, timezone: str = UTC_NAME) -> datetime:
    """The end of the window, at which the day's verdict is due: the due time of this date in the zone."""
    return first_moment(service_date, due, timezone)


def has_opened(opens_at: datetime, now: datetime) -> bool:
    """Whether a window that opens then has opened."""
    return opens_at <= now


def is_over(cutoff: datetime, now: datetime) -> bool:
    """Whether the window with this cutoff is over; the cutoff itself is no part of it."""
    return cutoff <= now


def minute_of_day(due: time) -> int:
    """A due time as a number from 0 to 1439."""
    return due.hour * 60 + due.minute


def due_at_minute(minute: int) -> time:
    """The due time of a number from 0 to 1439."""
    return time(minute // 60, minute % 60)
