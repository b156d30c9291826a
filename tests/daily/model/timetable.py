"""When each of a user's local dates is cut off, in the plainest way; it shares no rule with the product."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

from tests.daily.model.wall_clocks import DAY, Terms, cutoff

LONGEST = 100
"""Days ahead of which something is known."""


@dataclass
class Timetable:
    """The terms of each date from the first that is owed; one that is not in it is not owed."""

    terms: dict[date, Terms]
    next_day: date
    opens: datetime
    """When the window of the next date opens; said when that date becomes the next."""
    wanted: Terms
    """What was asked for last."""
    settled: datetime | None = None
    """The cutoff of the last date that is settled."""
    not_owed: set[date] = field(default_factory=set)
    """Dates that were left out, or that no clock showed."""

    @classmethod
    def of(cls, terms: Terms, now: datetime, window: timedelta, *, days_ahead: int = LONGEST) -> "Timetable":
        """Of a new user: dates whose cutoffs are ahead."""
        day = now.date() - 2 * DAY
        while not _ahead(terms, day, now):
            day += DAY
        ahead = {day + number * DAY: terms for number in range(days_ahead)}
        timetable = cls(ahead, day, now, terms)
        timetable.becomes_next(window)
        return timetable

    def days(self) -> Iterator[date]:
        """Those that are owed and not settled, in order."""
        return (day for day in sorted(self.terms) if self.is_owed(day))

    def is_owed(self, day: date) -> bool:
        """A date is not, if no clock of its zone shows it, or if the cutoff of a later one comes first."""
        at = cutoff(self.terms[day], day)
        following = [day + number * DAY for number in range(1, 5)]
        later = [cutoff(self.terms[one], one) for one in following if one in self.terms]
        return at is not None and all(one is None or at < one for one in later)

    def cutoff(self, day: date) -> datetime:
        at = cutoff(self.terms[day], day)
        assert at is not None
        return at

    def becomes_next(self, window: timedelta) -> None:
        """However long windows are later, this one opens then; a date that is left out stays so."""
        self.next_day = next(self.days())
        self.not_owed |= {day for day in self.terms if day < self.next_day}
        self.terms = {day: terms for day, terms in self.terms.items() if day not in self.not_owed}
        self.opens = self.cutoff(self.next_day) - window

    def settle(self, day: date, window: timedelta) -> None:
        """It has its verdict, is in a gap, or is passed over."""
        self.settled = self.cutoff(day)
        self.terms = {later: terms for later, terms in self.terms.items() if later > day}
        self.becomes_next(window)

    def opened(self, day: date, now: datetime, window: timedelta) -> bool:
        return (self.opens if day == self.next_day else self.cutoff(day) - window) <= now

    def change(self, new: Terms, now: datetime, window: timedelta) -> None:
        """Each date is asked by itself; once one has changed, so have all that follow.

        1. A date keeps its terms if its window has opened, or if its new cutoff is past.
        2. The first one that changes is cut off later than the last one that keeps its terms.
        """
        if new == self.wanted:
            return
        self.wanted = new
        last_kept = self.settled
        days = iter(sorted(self.terms))
        day = next(days)
        while self._keeps(day, new, now, window):
            last_kept = self.cutoff(day) if self.is_owed(day) else last_kept
            day = next(days)
        while not _later(new, day, last_kept):
            day = next(days)
        self.terms |= {later: new for later in self.terms if later >= day}
        if next(self.days()) != self.next_day or day <= self.next_day:
            self.becomes_next(window)

    def _keeps(self, day: date, new: Terms, now: datetime, window: timedelta) -> bool:
        """A date that is not owed as yet lies before the next one that is."""
        owed = next(later for later in self.days() if later >= day)
        return self.opened(owed, now, window) or not _ahead(new, day, now)


def _ahead(terms: Terms, day: date, now: datetime) -> bool:
    at = cutoff(terms, day)
    return at is not None and at > now


def _later(terms: Terms, day: date, than: datetime | None) -> bool:
    at = cutoff(terms, day)
    return at is not None and (than is None or at > than)
