"""The hours of the week in which changes come more often, or less often, than in the long run."""

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
    """Counts for each hour; the prior of a week's hour is the day's hour, and that one's prior is 1."""

    day: tuple[HourCounts, ...] = (HourCounts(),) * DAY_H
    week: tuple[HourCounts, ...] = (HourCounts(),) * WEEK_H

    def rate_ratio(self, at_s: float) -> float:
        """The rate at this hour by the long-run rate."""
        hour = hour_of_week(at_s)
        return self.week[hour].rate_ratio(self.day[hour % DAY_H].rate_ratio(1.0))

    def budget_share(self, at_s: float) -> float:
        """The budget at this hour by the mean budget: proportional to the square root of its rate.

        Over the hours of a day that are known so far its mean is 1: however they differ, no more
        is spent in a day.
        """
        at_hour = self.day[hour_of_week(at_s) % DAY_H]
        # Computed twice with every run, so without a call for each hour.
        roots = [
            sqrt((changes + PRIOR_CHANGES) / (expected + PRIOR_CHANGES))
            for changes, expected in self.day
            if expected
        ]
        return sqrt(at_hour.rate_ratio(1.0)) * len(roots) / sum(roots) if roots else 1.0

    def updated(self, at_s: float, *, changes: float, expected: float) -> "WeeklyPattern":
        hour = hour_of_week(at_s)
        of_day = hour % DAY_H
        day = (*self.day[:of_day], self.day[of_day].plus(changes, expected), *self.day[of_day + 1 :])
        week = (*self.week[:hour], self.week[hour].plus(changes, expected), *self.week[hour + 1 :])
        return WeeklyPattern(day, week)


def hour_of_week(at_s: float) -> int:
    """From 0, on Monday at midnight UTC, to 167."""
    return (int(at_s // HOUR_S) + EPOCH_H) % WEEK_H
