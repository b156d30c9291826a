"""The hours of the week in which changes come more often, or less often, than in the long run."""

from functools import lru_cache
from math import sqrt
from typing import NamedTuple

HOUR_S, DAY_H, WEEK_H = 3_600, 24, 168
EPOCH_H = 72
"""The epoch began on a Thursday; hours are counted from Monday."""
PRIOR_CHANGES = 10.0
"""How many changes it takes until an hour is believed to differ from the others."""
MOST_CHANGES = 1_000.0


class HourCounts(NamedTuple):
    """Changes within an hour of the day or the week, and those expected at the long-run rate."""

    changes: float = 0.0
    expected: float = 0.0

    def plus(self, changes: float, expected: float) -> "HourCounts":
        decay = 1.0 if self.expected < MOST_CHANGES else 0.5
        return HourCounts(self.changes * decay + changes, self.expected * decay + expected)

    def rate_ratio(self, prior: float) -> float:
        return (self.changes + PRIOR_CHANGES * prior) / (self.expected + PRIOR_CHANGES)


class WeeklyPattern(NamedTuple):
    """Counts for each hour.

    The prior of a week's hour is the day's hour, and that one's is the hour before it.
    """

    day: tuple[HourCounts, ...] = (HourCounts(),) * DAY_H
    week: tuple[HourCounts, ...] = (HourCounts(),) * WEEK_H

    def rate_ratio(self, at_s: float) -> float:
        """The rate at this hour by the long-run rate."""
        hour = hour_of_week(at_s)
        before, of_day = self.day[(hour - 1) % DAY_H], self.day[hour % DAY_H]
        return self.week[hour].rate_ratio(of_day.rate_ratio(before.rate_ratio(1.0)))

    def budget_share(self, at_s: float) -> float:
        """The budget at this hour by the mean budget: proportional to the square root of its rate.

        Over the hours of a day that are known so far its mean is 1: however they differ, no more
        is spent in a day.
        """
        at_hour = self.day[hour_of_week(at_s) % DAY_H]
        roots = _roots(self.day)
        return sqrt(at_hour.rate_ratio(1.0)) * len(roots) / sum(roots) if roots else 1.0

    def updated(self, at_s: float, *, changes: float, expected: float) -> "WeeklyPattern":
        hour = hour_of_week(at_s)
        of_day = hour % DAY_H
        day, week = list(self.day), list(self.week)
        day[of_day] = day[of_day].plus(changes, expected)
        week[hour] = week[hour].plus(changes, expected)
        return WeeklyPattern(tuple(day), tuple(week))


@lru_cache(maxsize=1)
def _roots(day: tuple[HourCounts, ...]) -> tuple[float, ...]:
    """The square roots of the rates of those hours that are known; every run asks for them twice."""
    return tuple(
        [
            sqrt((changes + PRIOR_CHANGES) / (expected + PRIOR_CHANGES))
            for changes, expected in day
            if expected
        ]
    )


def hour_of_week(at_s: float) -> int:
    """From 0, on Monday at midnight UTC, to 167."""
    return (int(at_s // HOUR_S) + EPOCH_H) % WEEK_H
