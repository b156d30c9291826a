"""A user's daily hour: when it opens, when it is cut off, and which day it is for."""

from datetime import UTC, date, datetime, time, timedelta

WINDOW = timedelta(minutes=60)
RETRY_DELAY = timedelta(minutes=10)
DAY = timedelta(days=1)


def cutoff(due: time, service_date: date) -> datetime:
    """The end of the window, at which the day's verdict is due; its UTC date is the service date."""
    return datetime.combine(service_date, due, UTC)


def opens(due: time, service_date: date) -> datetime:
    """The first moment of the window; for a due time in the first hour it lies on the day before."""
    return cutoff(due, service_date) - WINDOW


def service_date(due: time, now: datetime) -> date:
    """The day that a moment belongs to: it begins with its window, and lasts until the next one opens."""
    return (now.astimezone(UTC) + WINDOW - _since_midnight(due)).date()


def has_opened(cutoff: datetime, now: datetime) -> bool:
    """Has the window that ends then begun?"""
    return cutoff - WINDOW <= now


def is_over(cutoff: datetime, now: datetime) -> bool:
    """Is the window that ends then over? Its last moment does not belong to it."""
    return cutoff <= now


def minute_of_day(due: time) -> int:
    """A due time as a number from 0 to 1439."""
    return due.hour * 60 + due.minute


def due_at_minute(minute: int) -> time:
    """The due time of a number from 0 to 1439."""
    return time(minute // 60, minute % 60)


def _since_midnight(due: time) -> timedelta:
    return datetime.combine(date.min, due.replace(tzinfo=None)) - datetime.combine(date.min, time())
