"""What will come due, counted as one would by hand."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from cadenza.adapters.cron import CronsimCron
from cadenza.domain.monitoring.forecast import DueForecast, DueForecaster, UpcomingRun
from cadenza.domain.scheduling.baseline import Cron, Every, Once
from cadenza.domain.scheduling.calendars.calendar import calendar_of
from cadenza.domain.scheduling.calendars.rules import NO_RULES, CalendarRules, WhenClosed
from cadenza.domain.scheduling.hint import IntervalHint
from cadenza.domain.validation import milliseconds

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)
SPAN, SPANS = timedelta(seconds=30), 20
END = NOW + SPAN * SPANS


def forecast(*courses: UpcomingRun) -> DueForecast:
    return DueForecaster(CronsimCron(), begin=NOW, span=SPAN, spans=SPANS).forecast(courses)


def by_hand(course: UpcomingRun) -> list[int]:
    """One step after the other."""
    due, at, hint = [0] * SPANS, max(course.at, NOW), course.interval_hint
    assert isinstance(course.baseline, Every)
    while at < END:
        due[(at - NOW) // SPAN] += 1
        fresh = hint is not None and at < hint.expires_at
        at += milliseconds(hint.interval_ms if hint and fresh else course.baseline.interval_ms)
    return due


moments = st.integers(-600_000, 900_000).map(lambda ms: NOW + milliseconds(ms))
intervals = st.integers(1_000, 400_000)
hints = st.none() | st.builds(IntervalHint, intervals, moments)
courses = st.builds(UpcomingRun, moments, st.builds(Every, intervals), hints, st.just(NO_RULES))


@given(courses)
def test_intervals_go_on_as_if_counted_one_by_one(course: UpcomingRun) -> None:
    assert forecast(course).due == by_hand(course)


@given(st.lists(courses, max_size=5))
def test_what_several_owe_is_the_sum_of_what_each_owes(several: list[UpcomingRun]) -> None:
    together = forecast(*several)
    alone = [forecast(one) for one in several]
    assert together.due == [sum(one.due[place] for one in alone) for place in range(SPANS)]
    assert together.overdue == sum(one.overdue for one in alone) == sum(one.at < NOW for one in several)


def test_a_cron_line_fires_when_it_fires_and_once_is_once() -> None:
    line = UpcomingRun(NOW + timedelta(minutes=1), Cron("*/2 * * * *"), None)
    assert [place for place, due in enumerate(forecast(line).due) if due] == [2, 4, 8, 12, 16]
    once = UpcomingRun(NOW + timedelta(seconds=31), Once(NOW), None)
    assert forecast(once).due == [0, 1, *[0] * 18]
    assert sum(forecast(UpcomingRun(END, Once(END), None)).due) == 0


OPEN = calendar_of("work", "UTC", [(NOW, NOW + 4 * SPAN), (NOW + 8 * SPAN, NOW + 40 * SPAN)])


def test_while_its_calendars_are_closed_an_endpoint_runs_nothing() -> None:
    at_end = CalendarRules(only_during=OPEN, when_closed=WhenClosed.RUN_AT_END)
    for rules, expected in ((CalendarRules(only_during=OPEN), [1, 3, 9]), (at_end, [1, 3, 8, 10])):
        run = UpcomingRun(NOW + SPAN * 1.5, Every(60_000), None, rules)
        assert [place for place, due in enumerate(forecast(run).due) if due][: len(expected)] == expected
    ended = UpcomingRun(NOW, Every(30_000), None, CalendarRules(ends_at=NOW + 3 * SPAN))
    assert sum(forecast(ended).due) == 3


def test_a_cron_line_that_runs_at_the_end_runs_once_when_its_calendars_open() -> None:
    line = Cron("* * * * *")
    skipped = forecast(UpcomingRun(NOW, line, None, CalendarRules(only_during=OPEN)))
    assert [place for place, due in enumerate(skipped.due) if due] == [0, 2, 8, 10, 12, 14, 16, 18]
    apart = calendar_of("work", "UTC", [(NOW, NOW + 4 * SPAN), (NOW + 9 * SPAN, NOW + 40 * SPAN)])
    rules = CalendarRules(only_during=apart, when_closed=WhenClosed.RUN_AT_END)
    at_end = forecast(UpcomingRun(NOW, line, None, rules))
    assert at_end.due == [1, 0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0]
