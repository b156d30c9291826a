"""The rules of daily windows: enrollment, changes of the due time, verdicts, shards and lanes."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import date, datetime, time, timedelta
from typing import NamedTuple
from zlib import crc32

from cadenza.domain.agents.users import UserKey
from cadenza.domain.daily.user import (
    Cause,
    DailyGap,
    DailyUser,
    DayStatus,
    DueChange,
    Enrollment,
    Finalization,
    Verdict,
    due_among,
)
from cadenza.domain.daily.window import DAY, WINDOW, cutoff, has_opened, is_over, service_date

MOST_LATE_VERDICTS = 7
"""The most days that get their own verdict after a time without service; earlier ones are a gap."""


class ServicePeriod(NamedTuple):
    """Since when users have been served without interruption, and the cause of the one before."""

    since: datetime
    cause: Cause = Cause.DOWN


def new_daily_user(
    wanted: Enrollment, now: datetime, last_date: date | None = None, *, window: timedelta = WINDOW
) -> DailyUser:
    """A new user, from the first day whose cutoff is ahead and that has no verdict yet."""
    day = service_date(wanted.due, now, window)
    if is_over(cutoff(wanted.due, day), now):
        day += DAY
    if last_date is not None:
        day = max(day, last_date + DAY)
    tenant_id, user_id = wanted.key
    return DailyUser(
        tenant_id=tenant_id,
        user_id=user_id,
        next_cutoff=cutoff(wanted.due, day),
        added_at=now,
        last_date=last_date,
    )


def change_due_time(user: DailyUser, due: time, now: datetime, *, window: timedelta = WINDOW) -> DailyUser:
    """The user with another due time, from the first day whose window and new cutoff are both ahead.

    A window that has opened stays as it is, and no day gets a second cutoff.
    """
    day = max(user.next_date, now.date() - DAY)
    while has_opened(user.cutoff_on(day), now, window) or is_over(cutoff(due, day), now):
        day += DAY
    if day == user.next_date:
        return replace(user, next_cutoff=cutoff(due, day), changes=())
    kept = tuple(change for change in user.changes if change.from_date < day)
    if due_among(kept, day, user.due) == due:
        return replace(user, changes=kept)
    return replace(user, changes=(*kept, DueChange(day, due)))


def enroll(
    wanted: Enrollment,
    user: DailyUser | None,
    last_date: date | None,
    *,
    now: datetime,
    window: timedelta = WINDOW,
) -> DailyUser:
    """The user's record after an enrollment: new, or with another due time."""
    if user is None:
        return new_daily_user(wanted, now, last_date, window=window)
    return user if user.wanted_due == wanted.due else change_due_time(user, wanted.due, now, window=window)


def finalize_success(user: DailyUser, day: date, returned_at: datetime) -> Finalization | None:
    """The verdict of a successful run.

    1. If its day has a verdict already, there is none: the success is late.
    2. If it returned before the cutoff, the day is a success.
    3. Otherwise the cutoff was reached.
    """
    if user.next_date != day:
        return None
    if not is_over(user.next_cutoff, returned_at):
        return _one_day(user, DayStatus.SUCCESS, returned_at)
    return _one_day(user, DayStatus.CUTOFF_REACHED, returned_at)


def finalize_cutoffs(user: DailyUser, now: datetime, service: ServicePeriod) -> Finalization | None:
    """The verdicts of all days whose cutoff has passed; None if there is no such day.

    1. Each of the last seven days gets its own, late if the user was not served at its cutoff.
    2. All earlier days together become one gap.
    """
    if not is_over(user.next_cutoff, now):
        return None
    last = now.date() if is_over(user.cutoff_on(now.date()), now) else now.date() - DAY
    first = max(user.next_date, last - (MOST_LATE_VERDICTS - 1) * DAY)
    days = [first + count * DAY for count in range((last - first).days + 1)]
    gap = None if first == user.next_date else _gap(user, first - DAY, now, service)
    return Finalization(
        _advance(user, last, DayStatus.CUTOFF_REACHED),
        tuple(_cutoff_verdict(user, day, now, service) for day in days),
        gap,
    )


def _one_day(user: DailyUser, status: DayStatus, at: datetime) -> Finalization:
    after = _advance(user, user.next_date, status)
    if status is DayStatus.SUCCESS:
        after = replace(after, last_run_at=at)
    return Finalization(after, (Verdict(*user.key, user.next_date, status, user.due, at),))


def _cutoff_verdict(user: DailyUser, day: date, now: datetime, service: ServicePeriod) -> Verdict:
    due, late = user.due_on(day), user.cutoff_on(day) < service.since
    cause = service.cause if late else None
    return Verdict(*user.key, day, DayStatus.CUTOFF_REACHED, due, now, late, cause)


def _gap(user: DailyUser, to_date: date, now: datetime, service: ServicePeriod) -> DailyGap:
    return DailyGap(*user.key, user.next_date, to_date, now, service.cause)


def _advance(user: DailyUser, last: date, status: DayStatus) -> DailyUser:
    day = last + DAY
    return replace(
        user,
        next_cutoff=user.cutoff_on(day),
        changes=tuple(change for change in user.changes if change.from_date > day),
        last_date=last,
        status=status,
    )


SHARDS = 32
"""The number of shards that users are spread over. It cannot change: every database relies on it."""


def shard_of(key: UserKey) -> int:
    """The user's shard, the same in every process."""
    return crc32("\0".join(key).encode()) % SHARDS


def lane_count(max_concurrency: int) -> int:
    """The number of lanes: groups of shards, each served by one process, with at least one run at a time."""
    return min(SHARDS, max_concurrency)


def shards_of_lane(lane: int, of: int) -> frozenset[int]:
    """The shards of a lane, when there are `of` lanes."""
    return frozenset(range(lane, SHARDS, of))


def lane_of(shard: int, of: int) -> int:
    """The lane of a shard, when there are `of` lanes."""
    return shard % of


def concurrency_of_lanes(held: Iterable[int], max_concurrency: int) -> int:
    """How many runs these lanes may have at once; all lanes together have `max_concurrency`."""
    of = lane_count(max_concurrency)
    return sum(max_concurrency // of + (lane < max_concurrency % of) for lane in held)
