"""Local days at each change of the clocks in two years, in every zone of tzdata."""

from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta

import pytest
from tests.daily.model.clock_changes import ClockChange, zones_by_changes
from tests.daily.model.timetable import Timetable
from tests.daily.model.wall_clocks import DAY, Terms, cutoff

from cadenza.domain.daily.rules import ServicePeriod, finalize_cutoffs, new_daily_user
from cadenza.domain.daily.user import LocalDue, enrollment

SECOND = timedelta(seconds=1)
WINDOW = timedelta(minutes=60)
LEFT_OUT = [
    ("Pacific/Apia", date(2011, 12, 30)),
    ("Pacific/Fakaofo", date(2011, 12, 30)),
    ("Pacific/Kiritimati", date(1994, 12, 31)),
    ("Pacific/Kwajalein", date(1993, 8, 21)),
]
"""Dates that zones left out to change sides of the date line."""


def each_date() -> Iterable[tuple[list[str], ClockChange, time, date]]:
    """Every due time and date beside every change; with all zones that set their clocks alike."""
    for changes, zones in zones_by_changes().items():
        for change in changes:
            for due in sorted(change.dues):
                for day in change.dates:
                    yield zones, change, due, day


def test_two_hundred_zones_set_their_clocks_in_two_years_each_at_a_quarter_of_an_hour() -> None:
    assert sum(len(zones) for zones in zones_by_changes().values()) > 150
    changes = [change for changes in zones_by_changes() for change in changes]
    assert {timedelta(minutes=30), timedelta(hours=1), timedelta(hours=2)} == {
        abs(change.after - change.before) for change in changes
    }
    assert all(change.at.minute % 15 == 0 for change in changes)


def test_in_every_zone_a_cutoff_is_when_a_wall_clock_first_shows_it_or_has_jumped_over_it() -> None:
    for zones, _, due, day in each_date():
        expected = cutoff(Terms(due, zones[0]), day)
        for zone in zones:
            local_due = LocalDue(due, zone)
            assert (local_due.cutoff(day), local_due.has(day)) == (expected, True), (zone, day, due)


def test_at_each_second_beside_an_opening_a_cutoff_or_a_change_it_is_the_same_day() -> None:
    for changes, zones in zones_by_changes().items():
        for change in changes:
            for due in change.before_in_and_after:
                for edge in edges(change, Terms(due, zones[0])):
                    for moment in (edge - SECOND, edge, edge + SECOND):
                        a_user_is_owed_the_same_dates(Terms(due, zones[0]), moment)


def edges(change: ClockChange, terms: Terms) -> set[datetime]:
    """The change, and openings and cutoffs beside it."""
    cutoffs = {at for day in change.dates if (at := cutoff(terms, day))}
    return {change.at, *cutoffs, *(at - WINDOW for at in cutoffs)}


def a_user_is_owed_the_same_dates(terms: Terms, now: datetime) -> None:
    """Whoever is enrolled at that second, and whoever was enrolled two days before."""
    wanted = enrollment("default", "ada", terms.due, timezone=terms.zone)
    new, expected = new_daily_user(wanted, now, window=WINDOW), Timetable.of(terms, now, WINDOW, days_ahead=4)
    day, at = expected.next_day, expected.cutoff(expected.next_day)
    assert (new.next_date, new.next_cutoff, new.opens_at) == (day, at, at - WINDOW)
    since = now - timedelta(hours=1)
    enrolled = new_daily_user(wanted, now - 2 * DAY, window=WINDOW)
    ruled = finalize_cutoffs(enrolled, now, ServicePeriod(since))
    assert ruled is not None
    earlier = Timetable.of(terms, now - 2 * DAY, WINDOW, days_ahead=4)
    over = [day for day in earlier.days() if earlier.cutoff(day) <= now]
    assert {verdict.service_date: verdict.late for verdict in ruled.verdicts} == {
        day: earlier.cutoff(day) < since for day in over
    }
    assert (ruled.user.next_date, ruled.user.next_cutoff, ruled.user.opens_at) == (day, at, at - WINDOW)


@pytest.mark.parametrize(("zone", "left_out"), LEFT_OUT)
@pytest.mark.parametrize("due", [time(0), time(0, 30), time(12), time(23, 59)], ids=str)
def test_a_date_that_a_zone_leaves_out_is_not_owed(zone: str, left_out: date, due: time) -> None:
    assert cutoff(Terms(due, zone), left_out) is None
    assert not LocalDue(due, zone).has(left_out)
    before = datetime.combine(left_out - timedelta(days=3), time(12), UTC)
    for hours in range(0, 120, 3):
        a_user_is_owed_the_same_dates(Terms(due, zone), before + timedelta(hours=hours))
