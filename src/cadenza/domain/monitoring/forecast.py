"""Forecasts of the runs to come, if every endpoint goes on as it is scheduled now."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import chain
from typing import NamedTuple, assert_never

from cadenza.domain.scheduling.baseline import Baseline, Cron, DayParts, Every, Once
from cadenza.domain.scheduling.calendars.day_part_planning import stretch_at, stretches
from cadenza.domain.scheduling.calendars.gate import RUN_AT_END, first_open
from cadenza.domain.scheduling.calendars.rules import NO_RULES, CalendarRules
from cadenza.domain.scheduling.due import opens_at
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.governor import CronClock, plan_next_run
from cadenza.domain.scheduling.hint import IntervalHint
from cadenza.domain.scheduling.nudge import not_before_quota
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.steer import without_stale_hints

MS = timedelta(milliseconds=1)
MOST_FIRES = 1_000
"""Cron fires that are computed for one forecast; later ones are left out."""
MOST_PARTS = 5_000
"""How often a forecast goes from one day part to the next; after that, endpoints stay in theirs."""


class UpcomingRun(NamedTuple):
    """When an endpoint comes due next, and the schedule it follows then."""

    at: datetime
    baseline: Baseline
    interval_hint: IntervalHint | None
    calendar_rules: CalendarRules = NO_RULES


class DueForecast(NamedTuple):
    """How many runs come due in each span of equal length."""

    begin: datetime
    span: timedelta
    overdue: int
    """Runs that are due already and wait."""
    due: list[int]


class DueForecaster:
    """Counts the runs that come due in each span; in whole milliseconds, since it counts for thousands.

    1. A run that is due before the beginning is overdue; it runs at once, and the next follow from there.
    2. An interval repeats: the hint's until it expires, then the baseline's.
    3. A cron baseline fires by its expression; a one-time baseline runs once.
    4. Day parts follow each other, each with its cadence.
    5. While its calendars are closed an endpoint runs nothing; what runs at the end does so once they open.
    """

    def __init__(self, cron: CronClock, *, begin: datetime, span: timedelta, spans: int) -> None:
        self._cron = cron
        self._begin = begin
        self._span = span // MS
        self._end = self._span * spans
        self._due = [0] * spans
        self._fires = MOST_FIRES
        self._parts = MOST_PARTS
        self._rules = NO_RULES
        self._opening: int | None = None
        """When the calendars opened that an endpoint was counted last for."""

    def forecast(self, upcoming: Sequence[UpcomingRun]) -> DueForecast:
        """The forecast for these endpoints."""
        overdue = 0
        for run in upcoming:
            overdue += run.at < self._begin
            self._count_endpoint(run)
        return DueForecast(self._begin, self._span * MS, overdue, self._due)

    def _count_endpoint(self, run: UpcomingRun) -> None:
        hint, at = run.interval_hint, max(self._ms(run.at), 0)
        self._rules, self._opening = run.calendar_rules, None
        if hint is not None:
            at = self._repeat(at, hint.interval_ms, min(self._ms(hint.expires_at), self._end))
        match run.baseline:
            case Every(interval_ms):
                self._repeat(at, interval_ms, self._end)
            case Cron() as cron:
                self._count_cron(at, cron)
            case Once():
                self._count(at)
            case DayParts() as day_parts:
                self._count_parts(at, day_parts)
            case _:
                assert_never(run.baseline)

    def _repeat(self, at: int, step: int, end: int) -> int:
        """Count from a moment on in steps; the first moment that is not before the end."""
        if self._rules is not NO_RULES:
            return self._repeat_while_open(at, step, end)
        return self._repeat_always(at, step, end)

    def _repeat_while_open(self, at: int, step: int, end: int) -> int:
        """Go on in the same steps when calendars open, or with a step at the opening."""
        while at < end:
            opening = self._opens(at)
            if opening is None:
                return self._end
            if opening > at:
                at = opening if self._runs_at_end else at - (at - opening) // step * step
            else:
                at = self._repeat_always(at, step, min(self._closes(at), end))
        return at

    def _repeat_always(self, at: int, step: int, end: int) -> int:
        span, due = self._span, self._due
        while at < end:
            place = at // span
            border = min(span * (place + 1), end)
            steps = (border - at + step - 1) // step
            due[place] += steps
            at += step * steps
        return at

    def _count_cron(self, at: int, cron: Cron) -> None:
        self._count(at)
        moment = self._begin + at * MS
        while at < self._end and self._fires > 0:
            self._fires -= 1
            moment = self._cron.next(cron.expression, moment, cron.timezone)
            at = self._ms(moment)
            self._count(at)

    def _count_parts(self, at: int, day_parts: DayParts) -> None:
        """Count in steps while a part is in force; a fire of a cron line is counted alone."""
        if at >= self._end:
            return
        end, first = self._begin + self._end * MS, stretch_at(day_parts, self._begin + at * MS)
        for stretch in chain((first,), stretches(day_parts, last=first.last, until=end, cron=self._cron)):
            self._parts -= 1
            closes = self._end if self._parts <= 0 else min(self._ms(stretch.closes), self._end)
            if stretch.step < MS:
                self._count(self._ms(stretch.first))
            else:
                self._repeat(self._ms(stretch.first), stretch.step // MS, closes)
            if self._parts <= 0:
                return

    def _count(self, at: int) -> None:
        """Count a run, or the one at the opening that stands for all while closed."""
        if self._rules is not NO_RULES:
            opening = self._opens(at)
            if opening is None or (opening > at and not self._runs_at_end) or opening == self._opening:
                return
            self._opening = opening if opening > at else None
            at = opening
        if 0 <= at < self._end:
            self._due[at // self._span] += 1

    @property
    def _runs_at_end(self) -> bool:
        return self._rules.when_closed is RUN_AT_END

    def _opens(self, at: int) -> int | None:
        """The first millisecond from this one on at which calendars let it run; None if there is none."""
        moment = self._begin + at * MS
        opening = first_open(self._rules, moment)
        return None if opening is None else -((self._begin - opening) // MS)

    def _closes(self, at: int) -> int:
        """When calendars, or its end, let it run no longer."""
        moment, rules = self._begin + at * MS, self._rules
        closes = None if rules.open_times is None else rules.open_times.closes_at(moment)
        ends = [self._ms(one) for one in (closes, rules.ends_at) if one is not None]
        return max(at + 1, min(ends, default=self._end))

    def _ms(self, moment: datetime) -> int:
        return (moment - self._begin) // MS


class ForecastRun(NamedTuple):
    """A run to come, and which rule sets its time."""

    at: datetime
    source: Source


def forecast_runs(endpoint: Endpoint, *, now: datetime, cron: CronClock, most: int) -> list[ForecastRun]:
    """The next runs of an endpoint, at most `most`.

    1. The stored next run comes first, once a pause or quota allows it; an overdue one runs now.
    2. Each run starts on time and takes no time; the count of failures stays as it is.
    3. The governor plans each following one, with the hints that are valid then.
    4. A slot that is to be skipped while calendars are closed is among them (`closed`).
    """
    found: list[ForecastRun] = []
    state = evolve(endpoint, lease=None)
    while len(found) < most and (moment := opens_at(state)) is not None:
        at = max(moment, now)
        found.append(ForecastRun(at, state.next_source))
        state = _after(state, at, cron)
    return found


def _after(endpoint: Endpoint, at: datetime, cron: CronClock) -> Endpoint:
    is_skipped = endpoint.next_source is Source.CLOSED
    ran = evolve(endpoint, **{"skipped_at" if is_skipped else "last_run_at": at}, open_slot=None)
    tidy, _ = without_stale_hints(ran, at)
    plan = plan_next_run(at, tidy, cron)
    return evolve(tidy, next_run_at=not_before_quota(tidy, plan.next_run_at), next_source=plan.source)
