"""Users who move: every date has one cutoff at most, and cutoffs only increase."""

from datetime import UTC, date, datetime, time, timedelta
from itertools import pairwise

import pytest

from cadenza.domain.daily.rules import (
    ServicePeriod,
    change_due_time,
    finalize_cutoffs,
    finalize_success,
    new_daily_user,
)
from cadenza.domain.daily.user import DailyUser, LocalDue, enrollment

NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
TO_THE_EAST = [
    (LocalDue(time(23), "America/Los_Angeles"), LocalDue(time(0, 30), "Asia/Tokyo"), 1),
    (LocalDue(time(20), "America/Los_Angeles"), LocalDue(time(2, 30)), 1),
    (LocalDue(time(12), "Pacific/Honolulu"), LocalDue(time(12), "Pacific/Kiritimati"), 1),
    (LocalDue(time(23, 59), "Pacific/Pago_Pago"), LocalDue(time(0), "Pacific/Kiritimati"), 2),
]
"""By the new due time a date is cut off no later than the one before by the old; how many are left out."""


def a_user(local_due: LocalDue, *, now: datetime = NOON, window: timedelta = HOUR) -> DailyUser:
    wanted = enrollment("default", "ada", local_due.due, timezone=local_due.timezone)
    return new_daily_user(wanted, now, window=window)


def cutoffs(user: DailyUser, *, days: int) -> list[tuple[date, datetime]]:
    """Of the next days, as they are passed one after the other."""
    passed = []
    for _ in range(days):
        passed.append((user.next_date, user.next_cutoff))
        finalization = finalize_cutoffs(user, user.next_cutoff, ServicePeriod(NOON))
        assert finalization is not None
        user = finalization.user
    return passed


@pytest.mark.parametrize(("before", "after", "dates"), TO_THE_EAST, ids=str)
def test_a_move_to_the_east_leaves_dates_out_where_cutoffs_would_not_increase(
    before: LocalDue, after: LocalDue, dates: int
) -> None:
    for hours in range(0, 48, 3):
        now = NOON + hours * HOUR
        moved = change_due_time(a_user(before, now=now), after, now)
        (first, _), *_ = seen = cutoffs(moved, days=6)
        assert all(one < other for (_, one), (_, other) in pairwise(seen))
        left_out = {first + number * DAY for number in range(6 + dates)} - {day for day, _ in seen}
        assert len(left_out) == dates
        assert seen[-1][1] == after.cutoff(seen[-1][0])


def test_a_date_that_a_move_leaves_out_stays_so_after_a_downtime() -> None:
    before, after, _ = TO_THE_EAST[0]
    user = a_user(before, now=NOON)
    moved = change_due_time(user, after, user.opens_at)
    each = [day for day, _ in cutoffs(moved, days=5)]
    late = finalize_cutoffs(moved, after.cutoff(each[-1]), ServicePeriod(NOON + 9 * DAY))
    assert late is not None
    assert [verdict.service_date for verdict in late.verdicts] == each


def test_a_move_never_waits_for_the_next_change_of_the_clocks() -> None:
    before, after = LocalDue(time(9, 59), "America/Santiago"), LocalDue(time(1, 45), "Pacific/Chatham")
    user = a_user(before, now=datetime(2026, 4, 4, 12, tzinfo=UTC))
    settled = finalize_success(user, user.next_date, datetime(2026, 4, 4, 12, tzinfo=UTC))
    assert settled is not None
    moved = change_due_time(settled.user, after, datetime(2026, 4, 4, 12, tzinfo=UTC))
    assert moved.changes[-1].from_date < date(2026, 4, 9)


def test_a_new_user_is_owed_the_first_date_whose_cutoff_is_ahead_however_long_windows_are() -> None:
    """Windows of 24 hours overlap on a day of 23."""
    now = datetime(2026, 3, 28, 21, tzinfo=UTC)
    user = a_user(LocalDue(time(22, 30), "Europe/Berlin"), now=now, window=DAY)
    assert user.next_cutoff == datetime(2026, 3, 28, 21, 30, tzinfo=UTC)


def test_a_due_time_taken_from_a_clock_that_shows_it_again_means_its_first_pass() -> None:
    again = time(2, 30, fold=1)
    user = a_user(LocalDue(again, "Europe/Berlin"), now=datetime(2026, 10, 24, 12, tzinfo=UTC))
    assert user.next_cutoff == datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
