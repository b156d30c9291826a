"""The rules of daily windows: who is enrolled for which day, and what becomes of the day."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import date, datetime, time
from typing import NamedTuple
from zlib import crc32

from cadenza.domain.agents.users import UserKey
from cadenza.domain.daily.user import (
    Cause,
    DailyUser,
    DayStatus,
    DueChange,
    Enrollment,
    Gap,
    Ruling,
    Verdict,
    due_among,
)
from cadenza.domain.daily.window import DAY, cutoff, has_opened, is_over, service_date

MOST_OWED = 7
"""So many days are given verdicts of their own after a time without service."""


class Service(NamedTuple):
    """Since when users have been served without a break, and what was the matter before."""

    since: datetime
    cause: Cause = Cause.DOWN


def enrolled(wanted: Enrollment, now: datetime, last_date: date | None = None) -> DailyUser:
    """A new user: the first day is the first whose cutoff is ahead, and that has no verdict from earlier."""
    day = service_date(wanted.due, now)
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


def rescheduled(user: DailyUser, due: time, now: datetime) -> DailyUser:
    """A user whose due time changes: from the first day whose window is ahead, and whose new cutoff is.

    So a window that has opened stays as it is, and no day gets a second cutoff.
    """
    day = max(user.next_date, now.date() - DAY)
    while has_opened(user.cutoff_on(day), now) or is_over(cutoff(due, day), now):
        day += DAY
    if day == user.next_date:
        return replace(user, next_cutoff=cutoff(due, day), changes=())
    kept = tuple(change for change in user.changes if change.from_date < day)
    if due_among(kept, day, user.due) == due:
        return replace(user, changes=kept)
    return replace(user, changes=(*kept, DueChange(day, due)))


def enroll(wanted: Enrollment, user: DailyUser | None, last_date: date | None, now: datetime) -> DailyUser:
    """A user as somebody wants it: new, or with another due time."""
    if user is None:
        return enrolled(wanted, now, last_date)
    return user if user.wanted_due == wanted.due else rescheduled(user, wanted.due, now)


def succeeded(user: DailyUser, day: date, returned_at: datetime) -> Ruling | None:
    """What a success comes to.

    1. If its day has a verdict, nothing: it is late.
    2. If it arrived before the cutoff, the day is a success.
    3. Otherwise the day has been cut off, and that is written down now.
    """
    if user.next_date != day:
        return None
    if not is_over(user.next_cutoff, returned_at):
        return _ruled(user, DayStatus.SUCCESS, returned_at)
    return _ruled(user, DayStatus.CUTOFF_REACHED, returned_at)


def cut_off(user: DailyUser, now: datetime, service: Service) -> Ruling | None:
    """The verdicts of all days whose cutoffs have passed; None if there is no such day.

    1. Each gets its own, late if nobody was there at the cutoff.
    2. Days before the last seven get one gap together instead.
    """
    if not is_over(user.next_cutoff, now):
        return None
    last = now.date() if is_over(user.cutoff_on(now.date()), now) else now.date() - DAY
    first = max(user.next_date, last - (MOST_OWED - 1) * DAY)
    days = [first + count * DAY for count in range((last - first).days + 1)]
    gap = None if first == user.next_date else _gap(user, first - DAY, now, service)
    return Ruling(
        _moved_on(user, last, DayStatus.CUTOFF_REACHED),
        tuple(_missed(user, day, now, service) for day in days),
        gap,
    )


def _ruled(user: DailyUser, status: DayStatus, at: datetime) -> Ruling:
    after = _moved_on(user, user.next_date, status)
    if status is DayStatus.SUCCESS:
        after = replace(after, last_run_at=at)
    return Ruling(after, (Verdict(*user.key, user.next_date, status, user.due, at),))


def _missed(user: DailyUser, day: date, now: datetime, service: Service) -> Verdict:
    due, late = user.due_on(day), user.cutoff_on(day) < service.since
    cause = service.cause if late else None
    return Verdict(*user.key, day, DayStatus.CUTOFF_REACHED, due, now, late, cause)


def _gap(user: DailyUser, to_date: date, now: datetime, service: Service) -> Gap:
    return Gap(*user.key, user.next_date, to_date, now, service.cause)


def _moved_on(user: DailyUser, last: date, status: DayStatus) -> DailyUser:
    day = last + DAY
    return replace(
        user,
        next_cutoff=user.cutoff_on(day),
        changes=tuple(change for change in user.changes if change.from_date > day),
        last_date=last,
        status=status,
    )


SHARDS = 32
"""Users are spread over so many shards for good: the number stands in every database."""


def shard_of(key: UserKey) -> int:
    """The shard of a user, the same in every process."""
    return crc32("\0".join(key).encode()) % SHARDS


def lanes(max_concurrency: int) -> int:
    """Into how many lanes the shards are bundled: each is served by one process, and can run a job."""
    return min(SHARDS, max_concurrency)


def shards_of_lane(lane: int, of: int) -> frozenset[int]:
    """The shards of one of so many lanes."""
    return frozenset(range(lane, SHARDS, of))


def lane_of(shard: int, of: int) -> int:
    """Which of so many lanes a shard belongs to."""
    return shard % of


def share(held: Iterable[int], max_concurrency: int) -> int:
    """How many jobs may run at once for these lanes; all lanes together have just `max_concurrency`."""
    of = lanes(max_concurrency)
    return sum(max_concurrency // of + (lane < max_concurrency % of) for lane in held)
