"""Every change of a wall clock in two years, in every zone of tzdata."""

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from itertools import pairwise
from typing import NamedTuple
from zoneinfo import available_timezones

from tests.daily.model.wall_clocks import DAY, MINUTE, wall

BEGINS, ENDS = datetime(2026, 1, 1, tzinfo=UTC), datetime(2028, 1, 1, tzinfo=UTC)
HALF_HOUR, WEEK = timedelta(minutes=30), timedelta(days=7)


class ClockChange(NamedTuple):
    """When wall clocks are set: what they would show then, and what they show."""

    at: datetime
    before: datetime
    after: datetime

    @property
    def dues(self) -> set[time]:
        """Times before what is skipped or passed twice, in it and after it, and at its ends."""
        low, high = sorted((self.before, self.after))
        moments = (low - HALF_HOUR, low - MINUTE, low, low + (high - low) / 2, high - MINUTE, high)
        return {moment.time() for moment in (*moments, high + MINUTE, high + HALF_HOUR)}

    @property
    def before_in_and_after(self) -> tuple[time, ...]:
        low, high = sorted((self.before, self.after))
        moments = (low - HALF_HOUR, low + (high - low) / 2, high + HALF_HOUR)
        return tuple(moment.time() for moment in moments)

    @property
    def dates(self) -> Iterable[date]:
        """The date before the change, those of it, and the one after."""
        first, last = sorted((self.before.date(), self.after.date()))
        return (first + number * DAY for number in range(-1, (last - first).days + 2))


@cache
def zones_by_changes() -> dict[tuple[ClockChange, ...], list[str]]:
    """Zones whose clocks are set, together if they are set at the same moments to the same times."""
    found: dict[tuple[ClockChange, ...], list[str]] = {}
    for zone in sorted(available_timezones() - {"localtime"}):
        found.setdefault(tuple(_changes(zone)), []).append(zone)
    del found[()]
    return found


def _changes(zone: str) -> Iterator[ClockChange]:
    """Looked for between weeks; no clock is set twice in one."""
    weeks = [BEGINS + number * WEEK for number in range((ENDS - BEGINS) // WEEK + 1)]
    for (week, shown), (_, next_shown) in pairwise((week, wall(week, zone)) for week in weeks):
        if next_shown - shown != WEEK:
            yield _change_of_week(week, zone)


def _change_of_week(week: datetime, zone: str) -> ClockChange:
    shown = wall(week, zone)
    first = bisect_left(range(7 * 1_440), 1, key=lambda number: _is_set(shown, week, number * MINUTE, zone))
    at = week + first * MINUTE
    return ClockChange(at, shown + first * MINUTE, wall(at, zone))


def _is_set(shown: datetime, week: datetime, later: timedelta, zone: str) -> bool:
    return wall(week + later, zone) - shown != later
