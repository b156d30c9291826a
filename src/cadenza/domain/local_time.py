"""Times on the wall of a zone as moments, where its clocks are changed too."""

import re
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.validation import quoted

DAY = timedelta(days=1)
SECOND = timedelta(seconds=1)
MICROSECOND = timedelta(microseconds=1)
# posix/, right/ and localtime are files of some machines, not names of zones.
ZONE_NAME = re.compile(r"(?!(posix|right|localtime|posixrules)(/|$))[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+){0,2}")
LONGEST_ZONE = 64

Span = tuple[datetime, datetime]


class ClockChange(NamedTuple):
    """A moment at which a zone sets its clocks to another offset from UTC."""

    at: datetime
    before: timedelta
    after: timedelta


@lru_cache(maxsize=1_024)
def zone_named(name: str) -> ZoneInfo:
    """The zone of an IANA name; InvalidRequest if there is none.

    Kept here, because the library forgets all but a few.
    """
    try:
        if len(name) <= LONGEST_ZONE and ZONE_NAME.fullmatch(name):
            return ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        pass
    raise InvalidRequest(f"{quoted(name)} is not a time zone; an example is Europe/Berlin.", "timezone")


def first_moment(wall: datetime, zone: ZoneInfo) -> datetime:
    """The first moment at which clocks show this time or a later one.

    Of a time that is repeated it is the first pass; of one that is skipped, the moment of the change.
    """
    first, second = _both_passes(wall, zone)
    return first if first <= second else _end_of_gap(second, first, wall, zone)


def last_moment(wall: datetime, zone: ZoneInfo) -> datetime:
    """The moment from which on clocks never again show an earlier time than this one.

    Of a time that is repeated it is the second pass, unless the repeated hours begin with it.
    """
    first, second = _both_passes(wall, zone)
    if first > second:
        return _end_of_gap(second, first, wall, zone)
    if first == second:
        return first
    return second if _shown(second - MICROSECOND, zone) < wall else first


def whole_days(first: date, last: date, zone: ZoneInfo) -> Span:
    """From the midnight at which the first day begins until the one at which the last ends."""
    begin, end = datetime.combine(first, time()), datetime.combine(last, time()) + DAY
    return first_moment(begin, zone), last_moment(end, zone)


def clock_changes(zone: ZoneInfo, since: datetime, until: datetime) -> list[ClockChange]:
    """The changes of its clocks between two moments, in order; each lasts for a day at least."""
    changes: list[ClockChange] = []
    at, offset = since, _offset(since, zone)
    while at < until:
        following = min(at + DAY, until)
        if (later := _offset(following, zone)) != offset:
            changes.append(ClockChange(_change_between(at, following, zone), offset, later))
            offset = later
        at = following
    return changes


def _change_between(before: datetime, after: datetime, zone: ZoneInfo) -> datetime:
    """The second at which the offset changes between two moments that have different ones."""
    offset, earlier, later = _offset(before, zone), 0, (after - before) // SECOND
    while later - earlier > 1:
        middle = (earlier + later) // 2
        if _offset(before + middle * SECOND, zone) == offset:
            earlier = middle
        else:
            later = middle
    return before + later * SECOND


def _both_passes(wall: datetime, zone: ZoneInfo) -> Span:
    """The same moment twice, or two of a repeated time; of a skipped time the later one comes first."""
    local = wall.replace(tzinfo=zone)
    return local.astimezone(UTC), local.replace(fold=1).astimezone(UTC)


def _end_of_gap(before: datetime, after: datetime, wall: datetime, zone: ZoneInfo) -> datetime:
    """The change of clocks between two moments; clocks show an earlier time before and a later one after."""
    low, high = before, after
    while high - low > MICROSECOND:
        middle = low + (high - low) // 2
        if _shown(middle, zone) < wall:
            low = middle
        else:
            high = middle
    return high


def _shown(at: datetime, zone: ZoneInfo) -> datetime:
    return at.astimezone(zone).replace(tzinfo=None)


def _offset(at: datetime, zone: ZoneInfo) -> timedelta:
    offset = at.astimezone(zone).utcoffset()
    assert offset is not None, "a moment in a zone has an offset"
    return offset
