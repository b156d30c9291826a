"""Windows, timetables and trust, as rules."""

from datetime import UTC, date, datetime, time, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadenza.domain.agents.users import UserKey
from cadenza.domain.daily.clock_trust import ClockTrust
from cadenza.domain.daily.rules import (
    SHARDS,
    ServicePeriod,
    concurrency_of_lanes,
    enroll,
    finalize_cutoffs,
    finalize_success,
    lane_count,
    new_daily_user,
    shard_of,
    shards_of_lane,
)
from cadenza.domain.daily.user import Cause, DailyUser, LocalDue, enrollment
from cadenza.domain.daily.window import WINDOW, cutoff, opens, service_date
from cadenza.domain.errors import InvalidRequest

START = datetime(2026, 3, 10, tzinfo=UTC)
SECOND = timedelta(seconds=1)
DUES = st.integers(0, 1_439).map(lambda minute: time(minute // 60, minute % 60))
DAYS = st.dates(date(2024, 1, 1), date(2030, 12, 31))
WINDOWS = st.one_of(st.just(60), st.integers(1, 1_440), st.sampled_from([1, 1_439, 1_440])).map(
    lambda minutes: timedelta(minutes=minutes)
)


@given(due=DUES, day=DAYS, window=WINDOWS)
def test_a_day_begins_when_its_window_opens_and_ends_when_the_next_one_does(
    due: time, day: date, window: timedelta
) -> None:
    first, last = opens(due, day, window), opens(due, day + timedelta(days=1), window) - SECOND
    assert service_date(due, first, window) == service_date(due, last, window) == day
    assert service_date(due, first - SECOND, window) == day - timedelta(days=1)
    assert first + window == cutoff(due, day)
    assert cutoff(due, day).date() == service_date(due, cutoff(due, day) - SECOND, window) == day


def test_a_window_is_an_hour_unless_it_is_set_otherwise() -> None:
    assert cutoff(time(9), START.date()) - opens(time(9), START.date()) == timedelta(hours=1)


def a_daily_user(due: time, now: datetime = START, window: timedelta = WINDOW) -> DailyUser:
    return new_daily_user(enrollment("north", "ann", due), now, window=window)


@given(due=DUES, days=st.integers(0, 30), minutes=st.integers(0, 1_439))
def test_each_pending_day_is_in_a_verdict_or_in_the_gap_and_never_in_both(
    due: time, days: int, minutes: int
) -> None:
    user, now = a_daily_user(due), START + timedelta(days=days, minutes=minutes)
    finalization = finalize_cutoffs(user, now, ServicePeriod(now, Cause.CLOCK))
    past = [START.date() + timedelta(days=n) for n in range(-1, 32)]
    past = [day for day in past if START < cutoff(due, day) <= now]
    assert (finalization is None) == (not past)
    if finalization is None:
        return
    told = [one.service_date for one in finalization.verdicts]
    assert told == past[-7:]
    assert finalization.user.next_date == past[-1] + timedelta(days=1)
    assert {one.cause for one in finalization.verdicts if one.late} <= {Cause.CLOCK}
    assert (finalization.gap is None) == (len(past) <= 7)
    if finalization.gap is not None:
        assert (finalization.gap.from_date, finalization.gap.to_date) == (past[0], past[-8])


@pytest.mark.parametrize("off_s", [-1, 0, 1])
def test_a_success_counts_by_when_it_arrives(off_s: int) -> None:
    user = a_daily_user(time(10))
    finalization = finalize_success(user, START.date(), user.next_cutoff + timedelta(seconds=off_s))
    assert finalization is not None
    assert finalization.user.status == ("success" if off_s < 0 else "cutoff_reached")
    assert (finalization.fresh_from is None) == (off_s < 0)
    assert finalize_success(finalization.user, START.date(), START) is None


@pytest.mark.parametrize("due", [time(10, 0, 1), time(10, tzinfo=UTC).replace(microsecond=1)], ids=str)
def test_a_due_time_is_a_whole_minute(due: time) -> None:
    with pytest.raises(InvalidRequest, match="HH:MM"):
        enrollment("north", "ann", due)


@pytest.mark.parametrize(
    ("steps_s", "trusted"),
    [
        ([], True),
        ([300], True),
        ([-300], True),
        ([301], False),
        ([-301], False),
        ([301, 0, 0], False),
        ([301, 0, 0, 0], True),
        ([301, 0, 0, 6, 0, 0], False),
        ([301, 0, 0, 5, 0], True),
        ([301, 0, 0, 301, 0, 0], False),
    ],
    ids=str,
)
def test_trust_is_lost_in_one_step_and_won_back_in_three_ticks(steps_s: list[int], trusted: bool) -> None:  # noqa: FBT001
    trust, wall = ClockTrust().observed(START, 0), START
    for number, step in enumerate(steps_s, 1):
        wall += timedelta(seconds=60 + step)
        trust = trust.observed(wall, number * 60_000)
    assert trust.trusted is trusted
    assert trust.trusts(wall, len(steps_s) * 60_000) is trusted


@given(st.integers(1, 500))
def test_all_lanes_together_have_every_shard_and_every_slot_once(max_concurrency: int) -> None:
    of = lane_count(max_concurrency)
    assert sum(concurrency_of_lanes([lane], max_concurrency) for lane in range(of)) == max_concurrency
    assert all(concurrency_of_lanes([lane], max_concurrency) >= 1 for lane in range(of))
    shards = [shard for lane in range(of) for shard in shards_of_lane(lane, of)]
    assert sorted(shards) == list(range(SHARDS))


def test_users_stay_in_their_shards_for_good() -> None:
    found = [shard_of(UserKey("north", f"user-{number}")) for number in range(8)]
    assert found == [20, 2, 24, 14, 13, 27, 1, 23]
    assert len({shard_of(UserKey("north", f"user-{number}")) for number in range(1_000)}) == SHARDS


def test_who_gets_another_due_time_keeps_the_zone() -> None:
    user = enroll(enrollment("north", "ann", time(7), timezone="Asia/Tokyo"), None, None, now=START)
    later = enroll(enrollment("north", "ann", time(9)), user, None, now=START)
    assert later.wanted == LocalDue(time(9), "Asia/Tokyo")
    back = enroll(enrollment("north", "ann", time(9), timezone="UTC"), later, None, now=START)
    assert back.wanted == LocalDue(time(9), "UTC")
