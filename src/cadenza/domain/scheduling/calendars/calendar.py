"""A compiled calendar: the spans in which it is open, found by bisection."""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from hashlib import blake2b

from cadenza.domain.errors import InvalidRequest

EPOCH, MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
MOST_SPANS = 20_000
"""The most spans of one calendar: half hours of each working day of ten years are fewer."""


@dataclass(frozen=True, slots=True)
class Calendar:
    """When it is open, as sorted spans that do not touch each other.

    Two calendars are equal if their id and revision are; nobody compares thousands of moments.
    """

    id: str
    timezone: str
    revision: str
    """A hash of the spans."""
    boundaries: tuple[datetime, ...] = field(compare=False, repr=False)
    """Opens, closes, opens, closes, and so on, in UTC; a closing moment itself is closed."""

    def is_open(self, at: datetime) -> bool:
        """Whether it is open at a moment."""
        return bisect_right(self.boundaries, at) % 2 == 1

    def opens_at(self, since: datetime) -> datetime | None:
        """The first moment at or after another one at which it is open; None if there is none."""
        place = bisect_right(self.boundaries, since)
        if place % 2:
            return since
        return self.boundaries[place] if place < len(self.boundaries) else None

    def closes_at(self, since: datetime) -> datetime | None:
        """The first moment at or after another one at which it is closed; None if there is none."""
        place = bisect_right(self.boundaries, since)
        return self.boundaries[place] if place % 2 else since

    def closed_since(self, at: datetime) -> datetime | None:
        """When it closed last, asked at a moment at which it is closed; None if it was never open before."""
        place = bisect_right(self.boundaries, at)
        return self.boundaries[place - 1] if place else None

    def spans_between(self, since: datetime, until: datetime) -> list[tuple[datetime, datetime]]:
        """The open spans that overlap this one, whole."""
        first = bisect_right(self.boundaries, since) // 2 * 2
        last = bisect_left(self.boundaries, until)
        last += last % 2
        ends = self.boundaries[first:last]
        return list(zip(ends[::2], ends[1::2], strict=True))


def no_calendar(calendar_id: str) -> str:
    """What is said wherever a calendar is named that does not exist."""
    return f"There is no calendar {calendar_id}; `list_calendars` shows those that there are."


def calendar_of(calendar_id: str, timezone: str, spans: list[tuple[datetime, datetime]]) -> Calendar:
    """A calendar that is open in these spans, in whatever order; those that touch become one.

    InvalidRequest if it would never be open, or has too many spans.
    """
    boundaries: list[datetime] = []
    for begin, end in sorted(spans):
        if begin >= end:
            continue
        if boundaries and begin <= boundaries[-1]:
            boundaries[-1] = max(boundaries[-1], end)
        else:
            boundaries += (begin, end)
    if not boundaries:
        raise InvalidRequest(f"The calendar {calendar_id} would never be open.", "calendar")
    if len(boundaries) > 2 * MOST_SPANS:
        raise InvalidRequest(f"The calendar {calendar_id} has more than {MOST_SPANS:,} spans.", "calendar")
    return Calendar(calendar_id, timezone, _revision(boundaries), tuple(boundaries))


@lru_cache(maxsize=4_096)
def open_in_all(only: tuple[Calendar, ...], never: tuple[Calendar, ...]) -> Calendar | None:
    """Open where all of the first are and none of the second is; None if there are no calendars.

    Without one of the first it is open from the beginning of time but for the second. It may be open
    nowhere: whoever writes it asks first.
    """
    if not only and not never:
        return None
    edges: list[tuple[datetime, int]] = []
    for one in only:
        edges += [(moment, -1 if place % 2 else 1) for place, moment in enumerate(one.boundaries)]
    for one in never:
        edges += [(moment, 1 if place % 2 else -1) for place, moment in enumerate(one.boundaries)]
    boundaries, wanted, have = [] if only else [EARLIEST], len(only), 0
    for at, step in sorted(edges):
        was_open, have = have == wanted, have + step
        if was_open is (have == wanted):
            continue
        if boundaries and boundaries[-1] == at:
            boundaries.pop()
        else:
            boundaries.append(at)
    if len(boundaries) % 2:
        boundaries.append(LATEST)
    zone = (*only, *never)[0].timezone
    return Calendar(
        " ".join(one.id for one in (*only, *never)), zone, _revision(boundaries), tuple(boundaries)
    )


EARLIEST, LATEST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)


def _revision(boundaries: list[datetime]) -> str:
    micros = b"".join(((one - EPOCH) // MICROSECOND).to_bytes(8, "big", signed=True) for one in boundaries)
    return blake2b(micros, digest_size=12).hexdigest()
