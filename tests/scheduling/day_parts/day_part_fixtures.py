"""Day parts over a few hours in whole minutes, and a second model that looks at each minute."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from hypothesis import strategies as st
from tests.scheduling.scheduling_fixtures import EPOCH, MINUTE, NOW

from cadenza.domain.scheduling.baseline import Cadence, Cron, DayPart, DayParts, Every
from cadenza.domain.scheduling.calendars.calendar import Calendar, calendar_of
from cadenza.domain.scheduling.plan import Candidate, Source

A_MINUTE = timedelta(minutes=1)
LONGEST = 24 * 60
INTERVALS = (1, 2, 7, 15, 45, 90)
STEPS = (1, 5, 15, 60)
Spans = list[tuple[datetime, datetime]]


def minute(offset: int) -> datetime:
    return NOW + offset * A_MINUTE


def a_calendar(name: str, *spans: tuple[int, int]) -> Calendar:
    """A calendar that is open in spans of minutes from the moment at which all tests begin."""
    return calendar_of(name, "UTC", [(minute(begin), minute(end)) for begin, end in spans])


def every(minutes: int) -> Every:
    return Every(minutes * MINUTE)


class Written(NamedTuple):
    """Day parts, and the spans of their calendars as they were drawn."""

    day_parts: DayParts
    spans: list[Spans]


def cadences() -> st.SearchStrategy[Cadence]:
    return st.sampled_from([every(one) for one in INTERVALS] + [Cron(f"*/{one} * * * *") for one in STEPS])


def spans() -> st.SearchStrategy[Spans]:
    """Some spans around now, also ones that overlap or touch."""
    one = st.tuples(st.integers(-180, 360), st.integers(1, 120))
    several = st.lists(one, min_size=1, max_size=5)
    return several.map(lambda drawn: [(minute(begin), minute(begin + long)) for begin, long in drawn])


@st.composite
def written(draw: st.DrawFn) -> Written:
    parts = draw(st.lists(st.tuples(spans(), cadences()), min_size=1, max_size=3))
    calendars = [calendar_of(f"c{place}", "UTC", of_part) for place, (of_part, _) in enumerate(parts)]
    made = (DayPart(calendar, cadence) for calendar, (_, cadence) in zip(calendars, parts, strict=True))
    return Written(DayParts(tuple(made), draw(cadences())), [of_part for of_part, _ in parts])


def in_force(one: Written, at: datetime) -> Cadence:
    """The cadence of the first part with a span around a moment."""
    for part, of_part in zip(one.day_parts.parts, one.spans, strict=True):
        if any(begin <= at < end for begin, end in of_part):
            return part.cadence
    return one.day_parts.otherwise


def literal(
    one: Written, *, last: datetime, after: datetime, not_before: datetime | None = None, times: int = 1
) -> Candidate:
    """The first minute at which the cadence in force then wants a run; intervals are multiplied."""
    at = last if not_before is None else max(last, not_before)
    while True:
        match in_force(one, at):
            case Every(interval_ms):
                if at - last >= timedelta(milliseconds=interval_ms * times):
                    return Candidate(at, Source.BASELINE_INTERVAL)
            case Cron(expression):
                if at > after and is_fire(at, expression):
                    return Candidate(at, Source.BASELINE_CRON)
        at += A_MINUTE


def is_fire(at: datetime, expression: str) -> bool:
    step = int(expression.split(maxsplit=1)[0].removeprefix("*/"))
    return (at - EPOCH) % (step * A_MINUTE) == timedelta(0)


def one_by_one(one: Written, last: datetime, until: datetime) -> Iterator[datetime]:
    """The runs after a run, up to a moment, if each starts in time."""
    while (following := literal(one, last=last, after=last).at) <= until:
        yield following
        last = following
