"""A user's daily window: when it opens, its cutoff, and its service date."""

from datetime import UTC, date, datetime, time, timedelta

from cadenza.domain.daily.zones import UTC_NAME, date_exists, first_moment, local_date

WINDOW = timedelta(minutes=60)
"""How long a window lasts, unless set otherwise: a day at most."""
RETRY_DELAY = timedelta(minutes=10)
"""How long a user waits for the next try, unless set otherwise."""
DAY = timedelta(days=1)


def cutoff(due: time, service_date: date, *, timezone: str = UTC_NAME) -> datetime:
    """The end of the window, at which the day's verdict is due: the due time of this date in the zone."""
    return first_moment(service_date, due, timezone)


def opens(due: time, service_date: date, window: timedelta = WINDOW, *, timezone: str = UTC_NAME) -> datetime:
    """The start of the window; for a due time early in a day it is on the day before."""
    return cutoff(due, service_date, timezone=timezone) - window


def service_date(due: time, now: datetime, window: timedelta = WINDOW, *, timezone: str = UTC_NAME) -> date:
    """The service date of a moment: a day lasts from when its window opens until the next one opens."""
    if timezone == UTC_NAME:
        return (now.astimezone(UTC) + window - _since_midnight(due)).date()
    day = local_date(now + window, timezone) + DAY
    while opens(due, day, window, timezone=timezone) > now or not date_exists(day, timezone):
        day -= DAY
    return day


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


def _since_midnight(due: time) -> timedelta:
    return datetime.combine(date.min, due.replace(tzinfo=None)) - datetime.combine(date.min, time())
