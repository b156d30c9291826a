"""What will come due: each endpoint goes on as it goes now, unless somebody steers it."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from cadenza.domain.scheduling.baseline import Baseline, Cron, Every
from cadenza.domain.scheduling.due import opens_at
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.governor import CronClock, plan_next_run
from cadenza.domain.scheduling.hint import IntervalHint
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.steer import held_by_quota, without_stale_hints

MS = timedelta(milliseconds=1)
MOST_FIRES = 1_000
"""So many cron fires are looked up for one forecast; what is left goes on as it last did."""


class Course(NamedTuple):
    """When an endpoint comes due next, and what it goes by."""

    at: datetime
    baseline: Baseline
    interval_hint: IntervalHint | None


class Forecast(NamedTuple):
    """How many runs come due in each span of equal length."""

    begin: datetime
    span: timedelta
    overdue: int
    """What is due already, and waits."""
    due: list[int]


class Forecaster:
    """Counts what comes due, span by span; in whole milliseconds, as it counts for thousands.

    1. What is due before the beginning is overdue; it runs at once, and goes on from there.
    2. An interval goes on: the hint's while it is fresh, then the baseline's.
    3. A cron line fires when it fires. What runs once runs once.
    """

    def __init__(self, cron: CronClock, *, begin: datetime, span: timedelta, spans: int) -> None:
        self._cron = cron
        self._begin = begin
        self._span = span // MS
        self._end = self._span * spans
        self._due = [0] * spans
        self._fires = MOST_FIRES

    def forecast(self, courses: Sequence[Course]) -> Forecast:
        """The forecast for these endpoints."""
        overdue = 0
        for course in courses:
            overdue += course.at < self._begin
            self._follow(course)
        return Forecast(self._begin, self._span * MS, overdue, self._due)

    def _follow(self, course: Course) -> None:
        hint, at = course.interval_hint, max(self._ms(course.at), 0)
        if hint is not None:
            at = self._repeat(at, hint.interval_ms, min(self._ms(hint.expires_at), self._end))
        match course.baseline:
            case Every(interval_ms):
                self._repeat(at, interval_ms, self._end)
            case Cron() as line:
                self._fire(at, line)
            case _:
                self._note(at)

    def _repeat(self, at: int, step: int, end: int) -> int:
        """Count from a moment on in steps; the first moment that is not before the end."""
        span, due = self._span, self._due
        while at < end:
            place = at // span
            border = min(span * (place + 1), end)
            steps = (border - at + step - 1) // step
            due[place] += steps
            at += step * steps
        return at

    def _fire(self, at: int, line: Cron) -> None:
        self._note(at)
        moment = self._begin + at * MS
        while at < self._end and self._fires > 0:
            self._fires -= 1
            moment = self._cron.next(line.expression, moment, line.timezone)
            at = self._ms(moment)
            self._note(at)

    def _note(self, at: int) -> None:
        if 0 <= at < self._end:
            self._due[at // self._span] += 1

    def _ms(self, moment: datetime) -> int:
        return (moment - self._begin) // MS


class Foreseen(NamedTuple):
    """A run to come, and what sets its moment."""

    at: datetime
    source: Source


def foreseen(endpoint: Endpoint, *, now: datetime, cron: CronClock, most: int) -> list[Foreseen]:
    """The next runs of an endpoint, at most so many.

    1. The stored next run comes first, when every gate is open; what is overdue runs now.
    2. Each run starts at its moment and takes no time; failures stay as many as they are.
    3. The governor plans each following one, with the hints that are fresh then.
    """
    found: list[Foreseen] = []
    standing = evolve(endpoint, lease=None)
    while len(found) < most and (moment := opens_at(standing)) is not None:
        at = max(moment, now)
        found.append(Foreseen(at, standing.next_source))
        standing = _after(standing, at, cron)
    return found


def _after(endpoint: Endpoint, at: datetime, cron: CronClock) -> Endpoint:
    ran = evolve(endpoint, last_run_at=at, open_slot=None)
    tidy, _ = without_stale_hints(ran, at)
    plan = plan_next_run(at, tidy, cron)
    return evolve(tidy, next_run_at=held_by_quota(tidy, plan.next_run_at), next_source=plan.source)
