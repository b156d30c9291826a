"""Times on the wall as moments, in every zone whose clocks change."""

from datetime import UTC, date, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.local_time import (
    ClockChange,
    clock_changes,
    first_moment,
    last_moment,
    whole_days,
    zone_named,
)

SINCE, UNTIL = datetime(2026, 1, 1, tzinfo=UTC), datetime(2028, 1, 1, tzinfo=UTC)
HOUR, MINUTE, SECOND = timedelta(hours=1), timedelta(minutes=1), timedelta(seconds=1)


@cache
def changing() -> list[tuple[ZoneInfo, ClockChange]]:
    """Each change of clocks in two years, in one zone for each set of changes."""
    found: dict[tuple[ClockChange, ...], ZoneInfo] = {}
    for name in sorted(available_timezones() - {"localtime"}):
        zone = ZoneInfo(name)
        if len({at.astimezone(zone).utcoffset() for at in quarters()}) > 1:
            found.setdefault(tuple(clock_changes(zone, SINCE, UNTIL)), zone)
    return [(zone, change) for changes, zone in found.items() for change in changes]


def quarters() -> list[datetime]:
    return [SINCE + month * timedelta(days=11) for month in range(67)]


def shown(at: datetime, zone: ZoneInfo) -> datetime:
    return at.astimezone(zone).replace(tzinfo=None)


def near(change: ClockChange) -> int:
    """So many seconds before or after a change, all times are shown that are an hour from it."""
    return (HOUR + abs(change.after - change.before)) // SECOND + 2


def literal_first(wall: datetime, around: ClockChange, zone: ZoneInfo) -> datetime:
    """The first second near a change at which clocks show this time or a later one."""
    seconds = range(-near(around), near(around))
    return next(at for at in (around.at + number * SECOND for number in seconds) if shown(at, zone) >= wall)


def literal_last(wall: datetime, around: ClockChange, zone: ZoneInfo) -> datetime:
    """The second after the last one near a change at which clocks show an earlier time."""
    seconds = range(near(around), -near(around), -1)
    earlier = (at for at in (around.at + number * SECOND for number in seconds) if shown(at, zone) < wall)
    return next(earlier) + SECOND


def test_some_zones_change_their_clocks() -> None:
    assert len(changing()) > 60


@settings(max_examples=40, deadline=None)
@given(st.data(), st.sampled_from((-HOUR, -SECOND, 0 * HOUR, SECOND, 30 * MINUTE, HOUR - SECOND, HOUR)))
def test_a_time_near_a_change_is_where_a_literal_clock_has_it(data: st.DataObject, off: timedelta) -> None:
    zone, change = data.draw(st.sampled_from(changing()))
    wall = shown(change.at, zone) + off
    assert first_moment(wall, zone) == literal_first(wall, change, zone)
    assert last_moment(wall, zone) == literal_last(wall, change, zone)


def test_days_of_all_zones_adjoin_and_are_as_long_as_the_change_makes_them() -> None:
    for zone, change in changing():
        day = shown(change.at - SECOND, zone).date()
        begin, end = whole_days(day, day, zone)
        following = day + timedelta(days=1)
        assert whole_days(following, following, zone)[0] == end
        both = whole_days(day, following, zone)
        assert both[1] - both[0] == timedelta(days=2) - (change.after - change.before)
        assert begin < change.at <= both[1]


def test_a_day_has_23_hours_in_spring_and_25_in_autumn() -> None:
    berlin = ZoneInfo("Europe/Berlin")
    lengths = []
    for day in (date(2027, 3, 28), date(2027, 10, 31), date(2027, 6, 1)):
        begin, end = whole_days(day, day, berlin)
        lengths.append((end - begin) / HOUR)
    assert lengths == [23, 25, 24]


def test_a_date_that_a_zone_skips_is_empty() -> None:
    apia = ZoneInfo("Pacific/Apia")
    skipped = date(2011, 12, 30)
    begin, end = whole_days(skipped, skipped, apia)
    assert begin == end == datetime(2011, 12, 30, 10, tzinfo=UTC)


def test_changes_of_clocks_are_found_to_the_second() -> None:
    changes = clock_changes(ZoneInfo("Europe/Berlin"), SINCE, datetime(2027, 1, 1, tzinfo=UTC))
    assert [one.at.isoformat() for one in changes] == [
        "2026-03-29T01:00:00+00:00",
        "2026-10-25T01:00:00+00:00",
    ]
    assert [one.after - one.before for one in changes] == [HOUR, -HOUR]


@pytest.mark.parametrize("name", ["Mars/Olympus", "posix/Europe/Berlin", "localtime", "../etc/passwd", ""])
def test_what_is_no_zone_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequest, match="Europe/Berlin"):
        zone_named(name)
