"""A user's daily window: when it opens, its cutoff, and its service date."""

from datetime import UTC, date, datetime, time, timedelta

WINDOW = timedelta(minutes=60)
"""How long a window lasts, unless set otherwise: a day at most, so that a user's windows do not overlap."""
RETRY_DELAY = timedelta(minutes=10)
"""How long a user waits for the next try, unless set otherwise."""
DAY = timedelta(days=1)


def cutoff(due: time, service_date: date) -> datetime:
    """The end of the window, at which the day's verdict is due; its UTC date is the service date."""
    return datetime.combine(service_date, due, UTC)


def opens(due: time, service_date: date, window: timedelta = WINDOW) -> datetime:
    """The start of the window; for a due time early in a day it is on the day before."""
    return cutoff(due, service_date) - window


def service_date(due: time, now: datetime, window: timedelta = WINDOW) -> date:
    """The service date of a moment: a day lasts from when its window opens until the next one opens."""
    return (now.astimezone(UTC) + window - _since_midnight(due)).date()


def has_opened(cutoff: datetime, now: datetime, window: timedelta = WINDOW) -> bool:
    """Whether the window with this cutoff has opened."""
    return cutoff - window <= now


def is_over(cutoff: datetime, now: datetime) -> bool:
    """Whether the window with this cutoff is over; the cutoff itself is no part of it."""
    return cutoff <= now


def minute_of_day(due: time) -> int:
    """A due time as a number from 0 to 1439."""
    return due.hour * 60 + due.minute


def due_at_minute(minute: int) -> time:
    """The due time of a number from 0 to 1439."""
    return time(minute // 60, minute % 60)


def _since_midnight(due: time) -> timedelta:
    return datetime.combine(date.min, due.replace(tzinfo=None)) - datetime.combine(date.min, time())
