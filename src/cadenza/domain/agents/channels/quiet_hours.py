"""Quiet hours: a part of each day in which channels send a user nothing, by the clock on their wall."""

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo

from cadenza.domain.errors import InvalidRequest

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class QuietHours:
    """From one time of day until another, which is no part of it; they may go over midnight."""

    start: time
    end: time

    def __post_init__(self) -> None:
        if self.start == self.end:
            raise InvalidRequest("Quiet hours cannot end at the time at which they begin.", "quiet_hours")

    def contain(self, wall: time) -> bool:
        """Whether a time of day is quiet."""
        if self.start < self.end:
            return self.start <= wall < self.end
        return wall >= self.start or wall < self.end


def zone_of(timezone: str | None) -> tzinfo:
    """The zone of a user; UTC without one, or where this machine does not know it."""
    try:
        return UTC if timezone is None else ZoneInfo(timezone)
    except (LookupError, ValueError, OSError):
        return UTC


def quiet_until(quiet: QuietHours, now: datetime, zone: tzinfo) -> datetime | None:
    """When the quiet hours that go on now are over; None if it is not quiet now.

    1. They are over when a clock on the wall next shows their end.
    2. Where the clocks are changed before that, the change may end them: they skip the end, or go back
       to before the beginning.
    """
    if not _is_quiet(quiet, now, zone):
        return None
    over = _next_showing(quiet.end, now, zone)
    if _offset(over, zone) != _offset(now, zone):
        change = _first_change(now, over, zone)
        if not _is_quiet(quiet, change, zone):
            return change
    return over


def _is_quiet(quiet: QuietHours, moment: datetime, zone: tzinfo) -> bool:
    return quiet.contain(moment.astimezone(zone).time())


def _next_showing(wall: time, now: datetime, zone: tzinfo) -> datetime:
    """The first moment after now at which clocks show a time; where it is skipped, when it would be over."""
    today = now.astimezone(zone).date()
    days = [datetime.combine(today + number * DAY, wall, zone) for number in range(3)]
    again = [day.replace(fold=1).astimezone(UTC) for day in days]
    shown = [moment for moment in again if moment.astimezone(zone).time() == wall]
    shown += [day.astimezone(UTC) for day in days]
    return min(moment for moment in shown if moment > now)


def _first_change(begin: datetime, end: datetime, zone: tzinfo) -> datetime:
    """The second at which the offset changes between two moments that have different ones."""
    before, after = int(begin.timestamp()), int(end.timestamp())
    offset = _offset(begin, zone)
    while after - before > 1:
        middle = (before + after) // 2
        if _offset(datetime.fromtimestamp(middle, UTC), zone) == offset:
            before = middle
        else:
            after = middle
    return datetime.fromtimestamp(after, UTC)


def _offset(moment: datetime, zone: tzinfo) -> timedelta | None:
    return moment.astimezone(zone).utcoffset()
