"""When a baseline of day parts has its endpoint run."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.scheduling.baseline import Cadence, CadenceInForce, Cron, DayParts, Every
from cadenza.domain.scheduling.plan import Candidate, Source
from cadenza.domain.validation import milliseconds

if TYPE_CHECKING:  # The governor asks this module.
    from cadenza.domain.scheduling.governor import CronClock

INSTANT = timedelta(microseconds=1)
MOST_JUMPS = 400
"""How often the search for a fire of a cron line goes on where its part is in force again; then it ends."""
AS_WRITTEN: Callable[[int], int] = int
"""An interval as its owner wrote it, not stretched by failures."""


def propose(
    day_parts: DayParts,
    *,
    last: datetime,
    after: datetime,
    cron: "CronClock",
    interval_of: Callable[[int], int] = AS_WRITTEN,
    not_before: datetime | None = None,
) -> Candidate | None:
    """The first moment at which the part that is in force then has a run; None if there is none.

    1. An interval counts from the last run, whichever part that was in; if its part is not in force then,
       it runs as soon as the part is.
    2. A cron line fires strictly after `after`, and only while its part is in force.
    3. The earliest wins. No two can be equal, as only one part is in force at a time.
    """
    best: Candidate | None = None
    for cadence, open_times in day_parts.in_turn:
        if type(cadence) is Every:
            at = last + milliseconds(interval_of(cadence.interval_ms))
            opening = open_times.opens_at(at if not_before is None else max(at, not_before))
            if opening is not None and (best is None or opening < best.at):
                best = Candidate(opening, Source.BASELINE_INTERVAL)
    lines = [one for one in day_parts.in_turn if type(one.cadence) is Cron]
    for one in sorted(lines, key=lambda one: _is_apart(one, after, cron)) if len(lines) > 1 else lines:
        fire = _first_fire(one, after, None if best is None else best.at, cron)
        best = best if fire is None else Candidate(fire, Source.BASELINE_CRON)
    return best


def _is_apart(part: CadenceInForce, after: datetime, cron: "CronClock") -> bool:
    """Does the next fire of a cron line come while its part is not in force? Then it is looked for last.

    What others found by then bounds the search.
    """
    line, open_times = part
    assert type(line) is Cron, "only cron lines fire"
    return not open_times.is_open(cron.next(line.expression, after, line.timezone))


def _first_fire(
    part: CadenceInForce, after: datetime, before: datetime | None, cron: "CronClock"
) -> datetime | None:
    """The first fire of a part's cron line while it is in force; None if there is none before a moment.

    From a fire while it is not in force, the search goes on where it is again.
    """
    line, open_times = part
    assert type(line) is Cron, "only cron lines fire"
    for _ in range(MOST_JUMPS):
        fire = cron.next(line.expression, after, line.timezone)
        opening = open_times.opens_at(fire)
        if opening is None or (before is not None and opening >= before):
            return None
        if opening == fire:
            return fire
        after = opening - INSTANT
    return None


def cadences_by_path(day_parts: DayParts) -> dict[str, Cadence]:
    """The cadences by where they stand in a document."""
    paths = [f"parts.{place}.cadence" for place in range(len(day_parts.parts))]
    return dict(zip((*paths, "otherwise"), (one.cadence for one in day_parts.in_turn), strict=True))


def check_day_parts(day_parts: DayParts, now: datetime, cron: "CronClock") -> None:
    """InvalidRequest if one of its cadences would never run from now on."""
    names = (*(f"The day part {one.id}" for one in day_parts.calendars), "The cadence otherwise")
    for name, path, part in zip(names, cadences_by_path(day_parts), day_parts.in_turn, strict=True):
        if type(part.cadence) is Cron:
            first = _first_fire(part, now, None, cron)
        else:
            first = part.open_times.opens_at(now)
        if first is None:
            what = "change its calendar, its cron line or the order of the parts"
            raise InvalidRequest(f"{name} would never run: {what}.", path)


class Stretch(NamedTuple):
    """Runs at equal distances while one part is in force; a fire of a cron line is one alone."""

    first: datetime
    closes: datetime
    """All of them are earlier."""
    step: timedelta

    def count_until(self, until: datetime) -> int:
        """How many of its runs are not later than a moment."""
        if self.first > until:
            return 0
        return min(self.runs, (until - self.first) // self.step + 1)

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return -((self.first - self.closes) // self.step)

    @property
    def last(self) -> datetime:
        """The last run."""
        return self.first + (self.runs - 1) * self.step


def stretches(
    day_parts: DayParts,
    *,
    last: datetime,
    until: datetime,
    cron: "CronClock",
    interval_of: Callable[[int], int] = AS_WRITTEN,
) -> Iterator[Stretch]:
    """The runs that follow a run, if each starts in time, until one that would be later than a moment.

    The last of them may go on after it.
    """
    while last < until:
        found = propose(day_parts, last=last, after=last, cron=cron, interval_of=interval_of)
        if found is None or found.at > until:
            return
        stretch = stretch_at(day_parts, found.at, interval_of)
        yield stretch
        if stretch.closes > until and stretch.step > INSTANT:
            return
        last = stretch.last


def stretch_at(
    day_parts: DayParts, first: datetime, interval_of: Callable[[int], int] = AS_WRITTEN
) -> Stretch:
    """The runs from a run on, while its part is in force."""
    for cadence, open_times in day_parts.in_turn:
        closes = open_times.closes_at(first)
        if type(cadence) is Every and closes is not None and closes > first:
            return Stretch(first, closes, milliseconds(interval_of(cadence.interval_ms)))
    return Stretch(first, first + INSTANT, INSTANT)
