"""Operations on daily users: create, list, show and delete."""

from collections.abc import Sequence
from datetime import date, datetime, time
from functools import partial
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field

from cadenza.domain.access.key import Scope
from cadenza.domain.daily.keys import DailyKey, daily_key
from cadenza.domain.daily.programme import Programme
from cadenza.domain.daily.rules import enroll, next_served_date
from cadenza.domain.daily.user import (
    A_DUE_TIME,
    DUE_TIME_FORM,
    DailyUser,
    DayStatus,
    DueChange,
    enrollment,
)
from cadenza.domain.daily.zones import check_timezone
from cadenza.domain.errors import InvalidRequest
from cadenza.operations.context import RequestContext
from cadenza.operations.daily.programmes import OfProgramme, served_programme, window_of
from cadenza.operations.fields import Flag, Id, Listed, Paged, Put, ZoneName, split_page
from cadenza.operations.operation import NO_CONTENT, Command, Nothing, View, operation

MOST_AT_ONCE = 1_000
Day = date


def _due_time(value: Any) -> Any:
    if isinstance(value, str) and A_DUE_TIME.fullmatch(value):
        return value
    raise ValueError(f"must be {DUE_TIME_FORM}")


def _timezone(value: str) -> str:
    try:
        return check_timezone(value)
    except InvalidRequest:
        raise ValueError("must be a time zone such as Europe/Berlin") from None


WrittenDue = Annotated[str, Field(pattern=f"^{A_DUE_TIME.pattern}$")]
DueTime = Annotated[str, BeforeValidator(_due_time, json_schema_input_type=WrittenDue)]
Timezone = Annotated[ZoneName, AfterValidator(_timezone)]


class DailyUserEntry(Command):
    """A user to be served daily, among others of one programme."""

    user_id: Id
    due_time: DueTime
    """`HH:MM` in the time zone: until then, from when the window opens, an hour before unless it is set
    otherwise."""
    timezone: Timezone | None = None
    """An IANA name such as Europe/Berlin; null keeps the one that the user has here, which is UTC at first.

    The zone of a user of agents is not taken over."""


class OneDailyUser(OfProgramme):
    """The user who is meant, in one programme."""

    user_id: Id


class PutDailyUser(DailyUserEntry, OfProgramme, Put):
    """A user to be served daily."""


class ListDailyUsers(OfProgramme, Paged):
    """Whose users."""


class PutDailyUsers(OfProgramme):
    """Many of them, in one commit."""

    users: Annotated[list[DailyUserEntry], Field(min_length=1, max_length=MOST_AT_ONCE)]


class DeleteDailyUser(OneDailyUser):
    """The daily user to delete."""

    with_days: Flag = False
    """Whether the verdicts of past days are deleted, too."""


class DueChangeView(View):
    """A due time that later days have."""

    from_date: date
    due_time: str
    timezone: str

    @classmethod
    def of(cls, change: DueChange) -> Self:
        """The view of a change."""
        return cls(from_date=change.from_date, due_time=spelled(change.due), timezone=change.timezone)


class ServedDayView(View):
    """A day that a programme serves, and its window."""

    date: Day
    """In the time zone of the user."""
    opens_at: datetime
    cutoff: datetime


class DailyUserView(View):
    """A daily user, in one programme."""

    user_id: str
    programme: str
    due_time: str
    """What was asked for last; it may begin with a later day."""
    timezone: str
    """The time zone of that due time."""
    next_date: date
    """The first day without a verdict: a date in the time zone, which the programme may pass over."""
    next_opens_at: datetime
    next_cutoff: datetime
    next_served: ServedDayView | None
    """The first such day that the programme serves, by its weekdays and calendars; null if there is none
    within 400 days."""
    changes: list[DueChangeView]
    last_date: date | None
    """The newest day that has a verdict."""
    status: DayStatus | None
    """That verdict."""
    last_run_at: datetime | None
    """When a daily run last succeeded in time."""
    added_at: datetime | None

    @classmethod
    def of(cls, user: DailyUser, next_served: ServedDayView | None) -> Self:
        """The view of a user."""
        due, timezone = user.wanted
        return cls(
            user_id=user.user_id,
            programme=user.programme_id,
            due_time=spelled(due),
            timezone=timezone,
            next_date=user.next_date,
            next_opens_at=user.opens_at,
            next_cutoff=user.next_cutoff,
            next_served=next_served,
            changes=[DueChangeView.of(one) for one in user.changes],
            last_date=user.last_date,
            status=user.status,
            last_run_at=user.last_run_at,
            added_at=user.added_at,
        )


class DailyUsersPage(Listed[DailyUserView]):
    """A page of users."""


class DailyUsersPut(View):
    """How many users were stored."""

    kept: int


@operation("PUT /v1/daily/users/{user_id}", Scope.WRITE)
async def put_daily_user(context: RequestContext, command: PutDailyUser) -> DailyUserView:
    """Add or change a daily user. Before the due time, the target is called until it succeeds.

    Without a time zone a user keeps the present one; a new user is served in UTC. A changed due time or
    zone applies from the first date whose window is not open yet.
    """
    find = partial(context.store.daily.daily_user, _key_of(context, command))
    await command.refuse_existing(f"a daily user {command.user_id}", find)
    programme = await served_programme(context, command)
    (user,) = await _enrolled(context, [command], programme)
    return _view(context, user, programme)


@operation("POST /v1/daily/users", Scope.WRITE, agent=False, bulk=True)
async def put_daily_users(context: RequestContext, command: PutDailyUsers) -> DailyUsersPut:
    """Add or change many daily users, all or none. If a user is given twice, the last entry counts."""
    wanted = {one.user_id: one for one in command.users}
    programme = await served_programme(context, command)
    kept = len(await _enrolled(context, list(wanted.values()), programme))
    context.trail.note("daily_user", None, after={"programme": programme.id, "users": kept})
    return DailyUsersPut(kept=kept)


@operation("GET /v1/daily/users", Scope.READ)
async def list_daily_users(context: RequestContext, command: ListDailyUsers) -> DailyUsersPage:
    """List the daily users of a programme, in the order of their ids."""
    programme = await served_programme(context, command)
    found = await context.store.daily.daily_users(
        context.tenant_id, command.page(), programme_id=programme.id
    )
    users, more = split_page(found, command.limit)
    cursor = users[-1].user_id if more else None
    return DailyUsersPage(items=[_view(context, one, programme) for one in users], next_cursor=cursor)


@operation("GET /v1/daily/users/{user_id}", Scope.READ)
async def get_daily_user(context: RequestContext, command: OneDailyUser) -> DailyUserView:
    """Show a daily user: the next window and the last result."""
    programme = await served_programme(context, command)
    return _view(context, await context.store.daily.daily_user(_key_of(context, command)), programme)


@operation("DELETE /v1/daily/users/{user_id}", Scope.WRITE, status=NO_CONTENT)
async def delete_daily_user(context: RequestContext, command: DeleteDailyUser) -> Nothing:
    """Delete a daily user. The results of past days are kept, unless they are to be deleted, too."""
    await served_programme(context, command)
    await context.store.daily.remove_daily_user(_key_of(context, command), with_days=command.with_days)
    return Nothing()


def spelled(due: time) -> str:
    """A due time as it stands on the wire."""
    return f"{due:%H:%M}"


def _key_of(context: RequestContext, command: OneDailyUser | PutDailyUser) -> DailyKey:
    """The key of a user: always the caller's own."""
    return daily_key(context.tenant_id, command.user_id, programme_id=command.programme)


def _view(context: RequestContext, user: DailyUser, programme: Programme) -> DailyUserView:
    day, window = next_served_date(user, programme), window_of(context, programme)
    if day is None:
        return DailyUserView.of(user, None)
    served = ServedDayView(date=day, opens_at=user.opens_on(day, window), cutoff=user.cutoff_on(day))
    return DailyUserView.of(user, served)


async def _enrolled(
    context: RequestContext, wanted: Sequence[DailyUserEntry], programme: Programme
) -> list[DailyUser]:
    enrollments = [
        enrollment(
            context.tenant_id,
            one.user_id,
            time.fromisoformat(one.due_time),
            timezone=one.timezone,
            programme_id=programme.id,
        )
        for one in wanted
    ]
    now, window = context.dependencies.clock.now(), window_of(context, programme)
    return await context.store.daily.enroll(enrollments, partial(enroll, now=now, window=window))


DAILY_USERS = (
    put_daily_user,
    put_daily_users,
    list_daily_users,
    get_daily_user,
    delete_daily_user,
)
