"""The hours of the week: when changes come more often than in the long run."""

from math import sqrt
from typing import NamedTuple

HOUR_S, DAY_H, WEEK_H = 3_600, 24, 168
EPOCH_H = 72
"""The epoch began on a Thursday; hours are counted from Monday."""
GUESSED = 10.0
"""How many changes it takes until an hour is believed to be unlike the others."""
FULL = 1_000.0


class Hour(NamedTuple):
    """Changes that came within an hour of the day or the week, and those that were due."""

    came: float = 0.0
    due: float = 0.0

    def plus(self, came: float, due: float) -> "Hour":
        kept = 1.0 if self.due < FULL else 0.5
        return Hour(self.came * kept + came, self.due * kept + due)

    def times(self, guess: float) -> float:
        return (self.came + GUESSED * guess) / (self.due + GUESSED)


class Profile(NamedTuple):
    """What is known of each hour; the week's hours lean on the day's, and those on the mean."""

    day: tuple[Hour, ...] = (Hour(),) * DAY_H
    week: tuple[Hour, ...] = (Hour(),) * WEEK_H
    roots: float = 0.0
    """The square roots of what the day's hours are counted as, each as often as changes were due in it."""
    due: float = 0.0

    def times(self, at_s: float) -> float:
        """How many times more often changes come at this hour."""
        hour = hour_of_week(at_s)
        return self.week[hour].times(self.day[hour % DAY_H].times(1.0))

    def share(self, at_s: float) -> float:
        """How much more than usual is to be spent at this hour: as much as the square root of its changes."""
        return sqrt(self.times(at_s)) * self.due / self.roots if self.roots else 1.0

    def counted(self, at_s: float, *, came: float, due: float) -> "Profile":
        hour = hour_of_week(at_s)
        of_day = hour % DAY_H
        before, after = self.day[of_day], self.day[of_day].plus(came, due)
        day = (*self.day[:of_day], after, *self.day[of_day + 1 :])
        week = (*self.week[:hour], self.week[hour].plus(came, due), *self.week[hour + 1 :])
        roots = self.roots + after.due * sqrt(after.times(1.0)) - before.due * sqrt(before.times(1.0))
        return Profile(day, week, roots, self.due + after.due - before.due)


def hour_of_week(at_s: float) -> int:
    """From 0, on Monday at midnight UTC, to 167."""
    return (int(at_s // HOUR_S) + EPOCH_H) % WEEK_H
