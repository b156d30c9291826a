"""Quiet hours go by the clock on the user's wall, also on the days on which it is changed."""

from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cadenza.domain.agents.channels.quiet_hours import QuietHours, quiet_until, zone_of
from cadenza.domain.errors import InvalidRequest

MINUTE = timedelta(minutes=1)
BERLIN = ZoneInfo("Europe/Berlin")
CHANGES = (
    ("Europe/Berlin", datetime(2025, 3, 30, 1, tzinfo=UTC)),
    ("Europe/Berlin", datetime(2025, 10, 26, 1, tzinfo=UTC)),
    ("America/New_York", datetime(2025, 3, 9, 7, tzinfo=UTC)),
    ("America/New_York", datetime(2025, 11, 2, 6, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2025, 4, 5, 15, tzinfo=UTC)),
    ("Australia/Lord_Howe", datetime(2025, 10, 4, 15, 30, tzinfo=UTC)),
    ("Asia/Kolkata", datetime(2025, 6, 1, 12, tzinfo=UTC)),
)
MINUTES = st.integers(0, 240) | st.integers(0, 1439)


def quiet_hours(start: str, end: str) -> QuietHours:
    return QuietHours(time.fromisoformat(start), time.fromisoformat(end))


def until(quiet: QuietHours, wall: str) -> str | None:
    """When it is over, both on the wall in Berlin."""
    over = quiet_until(quiet, datetime.fromisoformat(wall).replace(tzinfo=BERLIN).astimezone(UTC), BERLIN)
    return None if over is None else f"{over.astimezone(BERLIN):%Y-%m-%d %H:%M}"


def test_a_night_is_over_in_the_morning() -> None:
    night = quiet_hours("22:00", "07:00")
    assert until(night, "2025-06-01 21:59") is None
    assert until(night, "2025-06-01 22:00") == "2025-06-02 07:00"
    assert until(night, "2025-06-02 06:59") == "2025-06-02 07:00"
    assert until(night, "2025-06-02 07:00") is None


def test_an_end_that_the_clocks_skip_is_the_moment_at_which_they_skip_it() -> None:
    assert until(quiet_hours("22:00", "02:30"), "2025-03-30 01:00") == "2025-03-30 03:00"


def test_an_hour_that_is_there_twice_is_quiet_twice() -> None:
    night = quiet_hours("02:15", "02:45")
    first = datetime(2025, 10, 26, 0, 30, tzinfo=UTC)
    second = first + timedelta(hours=1)
    assert quiet_until(night, first, BERLIN) == first + 15 * MINUTE
    assert quiet_until(night, second, BERLIN) == second + 15 * MINUTE


def test_clocks_that_go_back_to_before_the_beginning_end_it() -> None:
    now = datetime(2025, 10, 26, 0, 50, tzinfo=UTC)
    assert quiet_until(quiet_hours("02:30", "05:00"), now, BERLIN) == datetime(2025, 10, 26, 1, tzinfo=UTC)


@settings(max_examples=400)
@given(
    change=st.sampled_from(CHANGES),
    ahead=st.integers(-300, 300) | st.integers(-2_000, 2_000),
    seconds=st.integers(0, 59),
    start=MINUTES,
    end=MINUTES,
)
def test_it_is_over_at_the_first_minute_that_is_not_quiet(
    change: tuple[str, datetime], ahead: int, seconds: int, start: int, end: int
) -> None:
    if start == end:
        return
    zone, now = ZoneInfo(change[0]), change[1] + ahead * MINUTE
    quiet = QuietHours(time(start // 60, start % 60), time(end // 60, end % 60))
    found = quiet_until(quiet, now + timedelta(seconds=seconds), zone)
    moment = now
    while quiet.contain(moment.astimezone(zone).time()):
        moment += MINUTE
    assert found == (None if moment == now else moment)


def test_quiet_hours_that_end_when_they_begin_are_refused() -> None:
    with pytest.raises(InvalidRequest):
        quiet_hours("07:00", "07:00")


def test_a_user_without_a_known_zone_lives_in_utc() -> None:
    assert zone_of(None) is UTC
    assert zone_of("Mars/Olympus") is UTC
    assert zone_of("Europe/Berlin") == BERLIN
