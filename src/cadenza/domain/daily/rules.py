"""The rules of daily windows: enrollment, changes of the due time, verdicts, shards and lanes."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple
from zlib import crc32

from cadenza.domain.agents.users import UserKey
from cadenza.domain.daily.programme import DAILY_PROGRAMME, Programme
from cadenza.domain.daily.user import (
    Cause,
    DailyGap,
    DailyUser,
    DayStatus,
    DueChange,
    Enrollment,
    Finalization,
    LocalDue,
    Verdict,
    due_among,
)
from cadenza.domain.daily.window import DAY, WINDOW, has_opened, is_over

MOST_LATE_VERDICTS = 7
"""The last days that get a verdict each after a time without service; earlier ones are a gap."""
LOOK_AHEAD = 400
"""In so many days the next date is sought that a programme serves."""


class ServicePeriod(NamedTuple):
    """Since when users have been served without interruption, and the cause of the one before."""

    since: datetime
    cause: Cause = Cause.DOWN


def new_daily_user(
    wanted: Enrollment, now: datetime, last_date: date | None = None, *, window: timedelta = WINDOW
) -> DailyUser:
    """A new user, from the first day whose cutoff is ahead and that has no verdict yet."""
    local_due = wanted.local_due()
    day = now.date() - DAY
    while is_over(local_due.cutoff(day), now):
        day += DAY
    if last_date is not None:
        day = max(day, last_date + DAY)
    day = local_due.next_from(day)
    cutoff = local_due.cutoff(day)
    tenant_id, programme_id, user_id = wanted.key
    return DailyUser(
        tenant_id=tenant_id,
        programme_id=programme_id,
        user_id=user_id,
        next_date=day,
        due=wanted.due,
        timezone=local_due.timezone,
        next_cutoff=cutoff,
        opens_at=cutoff - window,
        added_at=now,
        last_date=last_date,
    )


def change_due_time(
    user: DailyUser, wanted: LocalDue, now: datetime, *, window: timedelta = WINDOW
) -> DailyUser:
    """The user with another due time or zone, from the first day on for which all of this holds.

    1. The new zone has the date.
    2. By the old due time, neither its window nor a later one has opened.
    3. Its new cutoff is ahead.
    4. That is later than the cutoff of the last day that must keep the old due time, by 1 to 3.

    So a window that has opened stays as it is, no day gets a second cutoff, and cutoffs only increase:
    a day between whose old cutoff would not come before the new one is left out.
    """
    day = _first_changed_day(user, wanted, now, window)
    cutoff = wanted.cutoff(day)
    if day == user.next_date or user.next_cutoff >= cutoff:
        due, timezone = wanted
        moved = replace(user, next_date=day, due=due, timezone=timezone, changes=())
        return replace(moved, next_cutoff=cutoff, opens_at=cutoff - window)
    kept = tuple(change for change in user.changes if change.from_date < day)
    if due_among(kept, day, user.local_due) == wanted:
        return replace(user, changes=kept)
    return replace(user, changes=(*kept, DueChange(day, *wanted)))


def _first_changed_day(user: DailyUser, wanted: LocalDue, now: datetime, window: timedelta) -> date:
    day = max(user.next_date, now.date() - 2 * DAY)
    while _keeps_due_time(user, wanted, day, now=now, window=window):
        day += DAY
    previous = _cutoff_before(user, day)
    while not wanted.has(day) or (previous is not None and wanted.cutoff(day) <= previous):
        day += DAY
    return day


def _keeps_due_time(
    user: DailyUser, wanted: LocalDue, day: date, *, now: datetime, window: timedelta
) -> bool:
    opens_at = user.opens_on(_next_from(user, day), window)
    return has_opened(opens_at, now) or not wanted.has(day) or is_over(wanted.cutoff(day), now)


def _cutoff_before(user: DailyUser, day: date) -> datetime | None:
    """The cutoff of the last day before this one, by the old due time."""
    while day > user.next_date:
        day -= DAY
        if user.has(day):
            return user.cutoff_on(day)
    return user.previous_cutoff


def _next_from(user: DailyUser, day: date) -> date:
    while not user.has(day):
        day += DAY
    return day


def enroll(
    wanted: Enrollment,
    user: DailyUser | None,
    last_date: date | None,
    *,
    now: datetime,
    window: timedelta = WINDOW,
) -> DailyUser:
    """The user's record after an enrollment: new, or with another due time or zone."""
    if user is None:
        return new_daily_user(wanted, now, last_date, window=window)
    local_due = wanted.local_due(user.wanted.timezone)
    if user.wanted == local_due:
        return user
    return change_due_time(user, local_due, now, window=window)


def finalize_success(
    user: DailyUser, day: date, returned_at: datetime, *, programme: Programme = DAILY_PROGRAMME
) -> Finalization | None:
    """The verdict of a successful run.

    1. If its day has a verdict already, or was passed over, there is none: the success is late.
    2. If it returned before the cutoff, the day is a success.
    3. Otherwise the cutoff was reached.
    """
    if user.next_date != day:
        return None
    in_time = not is_over(user.next_cutoff, returned_at)
    status = DayStatus.SUCCESS if in_time else DayStatus.CUTOFF_REACHED
    ran_at = returned_at if in_time else user.last_run_at
    after = _advance(user, day, programme, last_date=day, status=status, last_run_at=ran_at)
    verdict = Verdict(*user.key, day, status, user.due, returned_at)
    return Finalization(after, (verdict,), None, programme.resets_conversation)


def finalize_cutoffs(
    user: DailyUser, now: datetime, service: ServicePeriod, *, programme: Programme = DAILY_PROGRAMME
) -> Finalization | None:
    """The verdicts of all days whose cutoff has passed; None if there is no such day.

    1. Dates that the programme does not serve are passed over.
    2. Each other one of the last seven days gets its own verdict, late if the user was not served at its
       cutoff.
    3. All earlier days together become one gap, from the first to the last that the programme serves.
    """
    if not is_over(user.next_cutoff, now):
        return None
    last = _last_over(user, now)
    first = max(user.next_date, last - (MOST_LATE_VERDICTS - 1) * DAY)
    verdicts = tuple(
        _cutoff_verdict(user, day, now, service)
        for day in _days(first, last)
        if _is_owed(user, day, programme)
    )
    told = {"last_date": verdicts[-1].service_date, "status": DayStatus.CUTOFF_REACHED} if verdicts else {}
    after = _advance(user, last, programme, **told)
    earlier = [day for day in _days(user.next_date, first - DAY) if _is_owed(user, day, programme)]
    gap = DailyGap(*user.key, earlier[0], earlier[-1], now, service.cause) if earlier else None
    return Finalization(after, verdicts, gap, programme.resets_conversation)


def pass_over(user: DailyUser, now: datetime, programme: Programme) -> Finalization | None:
    """The record moved past a date that the programme does not serve, once its window would have opened.

    Without a verdict, as nothing is owed; None if the date is served, or its window is ahead.
    """
    if not has_opened(user.opens_at, now) or programme.serves(user.next_date, user.due):
        return None
    return Finalization(_advance(user, user.next_date, programme), ())


def next_served_date(user: DailyUser, programme: Programme) -> date | None:
    """The next date that the programme serves for this user; None if there is none within 400 days."""
    if programme.is_over(user.next_date):
        return None
    days = _days(user.next_date, user.next_date + (LOOK_AHEAD - 1) * DAY)
    return next((day for day in days if _is_owed(user, day, programme)), None)


def _days(first: date, last: date) -> Iterable[date]:
    return (first + count * DAY for count in range((last - first).days + 1))


def _is_owed(user: DailyUser, day: date, programme: Programme) -> bool:
    return user.has(day) and programme.serves(day, user.due_on(day))


def _last_over(user: DailyUser, now: datetime) -> date:
    """The last day whose cutoff has passed; dates east of UTC begin earlier."""
    day = max(user.next_date, now.date() + DAY)
    while not is_over(user.cutoff_on(day), now) or not user.has(day):
        day -= DAY
    return day


def _cutoff_verdict(user: DailyUser, day: date, now: datetime, service: ServicePeriod) -> Verdict:
    due, late = user.due_on(day), user.cutoff_on(day) < service.since
    cause = service.cause if late else None
    return Verdict(*user.key, day, DayStatus.CUTOFF_REACHED, due, now, late, cause)


def _advance(user: DailyUser, last: date, programme: Programme, **told: Any) -> DailyUser:
    """The record behind a day, with the next one, all that holds for it, and what is told of the day."""
    day = _next_from(user, last + DAY)
    due, timezone = user.local_due_on(day)
    cutoff = user.cutoff_on(day)
    return replace(
        user,
        next_date=day,
        due=due,
        timezone=timezone,
        next_cutoff=cutoff,
        opens_at=cutoff - programme.window,
        previous_cutoff=user.cutoff_on(last),
        changes=tuple(change for change in user.changes if change.from_date > day),
        **told,
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
