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

    def times(self, at_s: float) -> float:
        """How many times more often changes come at this hour."""
        hour = hour_of_week(at_s)
        return self.week[hour].times(self.day[hour % DAY_H].times(1.0))

    def share(self, at_s: float) -> float:
        """How much more than usual is to be spent at this hour: as much as the square root of its changes.

        Over the hours known so far it is 1 on average, each counting alike since all are equally long:
        however the hours differ, no more is spent in a day.
        """
        roots = [sqrt(hour.times(1.0)) for hour in self.day if hour.due]
        return sqrt(self.times(at_s)) * len(roots) / sum(roots) if roots else 1.0

    def counted(self, at_s: float, *, came: float, due: float) -> "Profile":
        hour = hour_of_week(at_s)
        of_day = hour % DAY_H
        day = (*self.day[:of_day], self.day[of_day].plus(came, due), *self.day[of_day + 1 :])
        week = (*self.week[:hour], self.week[hour].plus(came, due), *self.week[hour + 1 :])
        return Profile(day, week)


def hour_of_week(at_s: float) -> int:
    """From 0, on Monday at midnight UTC, to 167."""
    return (int(at_s // HOUR_S) + EPOCH_H) % WEEK_H
