"""Operations on daily users: create, list, show and delete."""

from collections.abc import Sequence
from datetime import date, datetime, time
from functools import partial
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field

from cadenza.domain.access.key import Scope
from cadenza.domain.daily.keys import DailyKey, daily_key
from cadenza.domain.daily.rules import enroll
from cadenza.domain.daily.user import A_DUE_TIME, DUE_TIME_FORM, DailyUser, DayStatus, enrollment
from cadenza.operations.context import RequestContext
from cadenza.operations.fields import Flag, Id, Listed, Paged, Put, split_page
from cadenza.operations.operation import NO_CONTENT, Command, Nothing, View, operation

MOST_AT_ONCE = 1_000


def _due_time(value: Any) -> Any:
    if isinstance(value, str) and A_DUE_TIME.fullmatch(value):
        return value
    raise ValueError(f"must be {DUE_TIME_FORM}")


WrittenDue = Annotated[str, Field(pattern=f"^{A_DUE_TIME.pattern}$")]
DueTime = Annotated[str, BeforeValidator(_due_time, json_schema_input_type=WrittenDue)]


class OneDailyUser(Command):
    """The user who is meant."""

    user_id: Id


class PutOneOfMany(OneDailyUser):
    """A user to be served daily, among others."""

    due_time: DueTime
    """`HH:MM` in UTC: until then, from when the window opens, an hour before unless it is set otherwise."""


class PutDailyUser(PutOneOfMany, Put):
    """A user to be served daily."""


class PutDailyUsers(Command):
    """Many of them, in one commit."""

    users: Annotated[list[PutOneOfMany], Field(min_length=1, max_length=MOST_AT_ONCE)]


class DeleteDailyUser(OneDailyUser):
    """The daily user to delete."""

    with_days: Flag = False
    """Whether the verdicts of past days are deleted, too."""


class DueChangeView(View):
    """A due time that later days have."""

    from_date: date
    due_time: str


class DailyUserView(View):
    """A daily user."""

    user_id: str
    due_time: str
    """What was asked for last; it may begin with a later day."""
    next_date: date
    """The first day without a verdict."""
    next_opens_at: datetime
    next_cutoff: datetime
    changes: list[DueChangeView]
    last_date: date | None
    """The newest day that has a verdict."""
    status: DayStatus | None
    """That verdict."""
    last_run_at: datetime | None
    """When a daily run last succeeded in time."""
    added_at: datetime | None

    @classmethod
    def of(cls, user: DailyUser) -> Self:
        """The view of a user."""
        return cls(
            user_id=user.user_id,
            due_time=spelled(user.wanted_due),
            next_date=user.next_date,
            next_opens_at=user.opens_at,
            next_cutoff=user.next_cutoff,
            changes=[DueChangeView(from_date=day, due_time=spelled(due)) for day, due, _ in user.changes],
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
    """Add or change a daily user. Before the due time (UTC), the target is called until it succeeds.

    A changed due time applies from the first date whose window is not open yet.
    """
    find = partial(context.store.daily.daily_user, key_of(context, command.user_id))
    await command.refuse_existing(f"a daily user {command.user_id}", find)
    (user,) = await _enrolled(context, [command])
    return DailyUserView.of(user)


@operation("POST /v1/daily/users", Scope.WRITE, agent=False, bulk=True)
async def put_daily_users(context: RequestContext, command: PutDailyUsers) -> DailyUsersPut:
    """Add or change many daily users, all or none. If a user is given twice, the last entry counts."""
    wanted = {one.user_id: one for one in command.users}
    kept = len(await _enrolled(context, list(wanted.values())))
    context.trail.note("daily_user", None, after={"users": kept})
    return DailyUsersPut(kept=kept)


@operation("GET /v1/daily/users", Scope.READ)
async def list_daily_users(context: RequestContext, command: Paged) -> DailyUsersPage:
    """List daily users, in the order of their ids."""
    users, more = split_page(
        await context.store.daily.daily_users(context.tenant_id, command.page()), command.limit
    )
    cursor = users[-1].user_id if more else None
    return DailyUsersPage(items=[DailyUserView.of(one) for one in users], next_cursor=cursor)


@operation("GET /v1/daily/users/{user_id}", Scope.READ)
async def get_daily_user(context: RequestContext, command: OneDailyUser) -> DailyUserView:
    """Show a daily user: the next window and the last result."""
    user = await context.store.daily.daily_user(key_of(context, command.user_id))
    return DailyUserView.of(user)


@operation("DELETE /v1/daily/users/{user_id}", Scope.WRITE, status=NO_CONTENT)
async def delete_daily_user(context: RequestContext, command: DeleteDailyUser) -> Nothing:
    """Delete a daily user. The results of past days are kept, unless they are to be deleted, too."""
    await context.store.daily.remove_daily_user(key_of(context, command.user_id), with_days=command.with_days)
    return Nothing()


def key_of(context: RequestContext, user_id: str) -> DailyKey:
    """The key of a user: always the caller's own."""
    return daily_key(context.tenant_id, user_id)


def spelled(due: time) -> str:
    """A due time as it stands on the wire."""
    return f"{due:%H:%M}"


async def _enrolled(context: RequestContext, wanted: Sequence[PutOneOfMany]) -> list[DailyUser]:
    enrollments = [
        enrollment(context.tenant_id, one.user_id, time.fromisoformat(one.due_time)) for one in wanted
    ]
    now, window = context.dependencies.clock.now(), context.dependencies.daily_window
    return await context.store.daily.enroll(enrollments, partial(enroll, now=now, window=window))


DAILY_USERS = (
    put_daily_user,
    put_daily_users,
    list_daily_users,
    get_daily_user,
    delete_daily_user,
)
