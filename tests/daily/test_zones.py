"""Local dates and due times as moments, at the edges of each change of clocks of two years."""

from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from typing import NamedTuple
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadenza.domain.daily.rules import ServicePeriod, finalize_cutoffs, finalize_success, new_daily_user
from cadenza.domain.daily.user import enrollment
from cadenza.domain.daily.window import DAY, WINDOW, cutoff, opens, service_date
from cadenza.domain.daily.zones import check_timezone, date_exists, first_moment
from cadenza.domain.errors import InvalidRequest

SECOND, MINUTE, HOUR = timedelta(seconds=1), timedelta(minutes=1), timedelta(hours=1)
SINCE, UNTIL = datetime(2026, 1, 1, tzinfo=UTC), datetime(2028, 1, 1, tzinfo=UTC)
APIA = "Pacific/Apia"
"""It had no 30 December 2011."""


class ClockChange(NamedTuple):
    """The first moment of another offset, in a zone."""

    timezone: str
    at: datetime


@cache
def clock_changes() -> list[ClockChange]:
    """All changes within two years, of all zones that have one."""
    found = []
    for name in sorted(available_timezones() - {"localtime"}):
        zone, at = ZoneInfo(name), SINCE
        while at < UNTIL:
            later = at + 7 * DAY
            if at.astimezone(zone).utcoffset() != later.astimezone(zone).utcoffset():
                found.append(ClockChange(name, _moment_of_change(zone, at, later)))
            at = later
    return found


def _moment_of_change(zone: ZoneInfo, before: datetime, after: datetime) -> datetime:
    offset = before.astimezone(zone).utcoffset()
    while after - before > SECOND:
        middle = before + (after - before) // 2 // SECOND * SECOND
        if middle.astimezone(zone).utcoffset() == offset:
            before = middle
        else:
            after = middle
    return after


def by_the_clock(due: time, day: date, timezone: str) -> datetime:
    """The literal rule: watch the clock of the zone, minute by minute, until it shows this or later."""
    zone, wanted = ZoneInfo(timezone), datetime.combine(day, due)
    at = wanted.replace(tzinfo=UTC) - 15 * HOUR
    while at.astimezone(zone).replace(tzinfo=None) < wanted:
        at += MINUTE
    return at


ZONES = st.sampled_from(sorted(available_timezones() - {"localtime"}))
DUES = st.integers(0, 1_439).map(lambda minute: time(minute // 60, minute % 60))
DAYS = st.dates(date(2024, 1, 1), date(2030, 12, 31))
WINDOWS = st.sampled_from([1, 30, 60, 61, 600, 1_439, 1_440]).map(lambda minutes: timedelta(minutes=minutes))


def test_there_are_clock_changes_to_test_with() -> None:
    zones = {change.timezone for change in clock_changes()}
    assert len(zones) > 100
    assert {"Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca"} <= zones


def test_every_cutoff_near_a_clock_change_is_the_first_moment_of_its_time_or_a_later_one() -> None:
    for timezone, at in clock_changes():
        zone = ZoneInfo(timezone)
        for off in (-2 * HOUR, -HOUR, -30 * MINUTE, -MINUTE, timedelta(), MINUTE, 30 * MINUTE, HOUR):
            local = (at + off).astimezone(zone).replace(second=0, microsecond=0, tzinfo=None)
            found = cutoff(local.time(), local.date(), timezone=timezone)
            clock = found.astimezone(zone).replace(tzinfo=None)
            before = (found - SECOND).astimezone(zone).replace(tzinfo=None)
            assert before < local <= clock, (timezone, local)
            assert clock == local or found == at, (timezone, local)


@given(change=st.integers(0), off=st.integers(-180, 180))
def test_a_skipped_time_is_the_end_of_the_gap_and_a_repeated_one_its_first_pass(
    change: int, off: int
) -> None:
    timezone, at = clock_changes()[change % len(clock_changes())]
    day_and_time = at.replace(tzinfo=None) + (at - SECOND).astimezone(ZoneInfo(timezone)).utcoffset()  # type: ignore[operator]
    local = (day_and_time + timedelta(minutes=off)).replace(second=0)
    found = cutoff(local.time(), local.date(), timezone=timezone)
    assert found == by_the_clock(local.time(), local.date(), timezone)


@pytest.mark.parametrize(
    ("due", "day", "timezone", "expected"),
    [
        (time(2, 30), date(2027, 3, 28), "Europe/Berlin", "2027-03-28T01:00:00+00:00"),
        (time(3, 0), date(2027, 3, 28), "Europe/Berlin", "2027-03-28T01:00:00+00:00"),
        (time(2, 30), date(2026, 10, 25), "Europe/Berlin", "2026-10-25T00:30:00+00:00"),
        (time(2, 15), date(2026, 10, 4), "Australia/Lord_Howe", "2026-10-03T15:30:00+00:00"),
        (time(7, 30), date(2026, 6, 1), "Asia/Kathmandu", "2026-06-01T01:45:00+00:00"),
        (time(12), date(2011, 12, 31), APIA, "2011-12-30T22:00:00+00:00"),
    ],
)
def test_these_due_times_mean_these_moments(due: time, day: date, timezone: str, expected: str) -> None:
    assert cutoff(due, day, timezone=timezone).isoformat() == expected


@given(due=DUES, day=DAYS, zone=ZONES, window=WINDOWS)
def test_cutoffs_of_a_zone_come_one_after_the_other_and_service_dates_agree(
    due: time, day: date, zone: str, window: timedelta
) -> None:
    this, following = (cutoff(due, one, timezone=zone) for one in (day, day + DAY))
    assert this < following
    shown = this.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    is_at_the_end_of_a_gap = shown == datetime.combine(day + DAY, time())  # As in Nuuk, over midnight.
    assert shown.date() == day or is_at_the_end_of_a_gap or not date_exists(day, zone)
    opening = opens(due, day, window, timezone=zone)
    assert opening == this - window
    if date_exists(day, zone):
        assert service_date(due, opening, window, timezone=zone) >= day
        assert service_date(due, opening - SECOND, window, timezone=zone) < day


def test_a_date_that_a_zone_leaves_out_is_not_owed() -> None:
    assert not date_exists(date(2011, 12, 30), APIA)
    now = datetime(2011, 12, 28, 12, tzinfo=UTC)
    user = new_daily_user(enrollment("north", "ann", time(12), timezone=APIA), now)
    finalization = finalize_cutoffs(user, now + 6 * DAY, ServicePeriod(now))
    assert finalization is not None
    days = [one.service_date.day for one in finalization.verdicts]
    assert days == [28, 29, 31, 1, 2, 3]


@given(change=st.integers(0), off=st.sampled_from([-1, 0, 1]), edge=st.sampled_from(["opens", "cutoff"]))
def test_a_success_counts_by_its_second_also_where_clocks_change(change: int, off: int, edge: str) -> None:
    timezone, at = clock_changes()[change % len(clock_changes())]
    local = at.astimezone(ZoneInfo(timezone))
    wanted = enrollment("north", "ann", local.time().replace(second=0, fold=0), timezone=timezone)
    user = new_daily_user(wanted, at - 20 * HOUR)
    returned = (user.opens_at if edge == "opens" else user.next_cutoff) + off * SECOND
    finalization = finalize_success(user, user.next_date, returned)
    assert finalization is not None
    assert finalization.user.status == ("success" if returned < user.next_cutoff else "cutoff_reached")
    after = finalization.user
    assert after.next_date == user.next_date + DAY
    assert after.opens_at == after.next_cutoff - WINDOW
    assert after.previous_cutoff == user.next_cutoff
    assert timedelta(hours=22, minutes=59) < after.next_cutoff - user.next_cutoff < timedelta(hours=26)


@given(zone=ZONES, due=DUES, minutes=st.integers(0, 20 * 1_440))
def test_after_downtime_every_local_date_is_told_once(zone: str, due: time, minutes: int) -> None:
    now = datetime(2026, 10, 20, tzinfo=UTC)
    user = new_daily_user(enrollment("north", "ann", due, timezone=zone), now)
    later = now + timedelta(minutes=minutes)
    finalization = finalize_cutoffs(user, later, ServicePeriod(later))
    days = [user.next_date + number * DAY for number in range(40)]
    over = [day for day in days if date_exists(day, zone) and cutoff(due, day, timezone=zone) <= later]
    assert (finalization is None) == (not over)
    if finalization is not None:
        told = [one.service_date for one in finalization.verdicts]
        assert told == over[-7:]
        gap = finalization.gap
        assert (gap is None) == (len(over) <= 7)
        assert gap is None or (gap.from_date, gap.to_date) == (over[0], over[-8])


@pytest.mark.parametrize("name", ["Mars/Base", "../etc/passwd", "", "Europe", "europe/berlin ", 7])
def test_a_zone_that_does_not_exist_is_refused(name: object) -> None:
    with pytest.raises(InvalidRequest, match="is not a time zone; an example is Europe/Berlin"):
        check_timezone(name)


def test_without_a_zone_a_due_time_is_one_of_utc() -> None:
    day = date(2026, 3, 29)
    assert (
        cutoff(time(2, 30), day)
        == first_moment(day, time(2, 30), "UTC")
        == datetime(2026, 3, 29, 2, 30, tzinfo=UTC)
    )
