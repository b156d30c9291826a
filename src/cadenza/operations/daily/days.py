"""Operations that show the verdicts of days, by day and by daily user."""

import re
from datetime import date, datetime
from typing import Annotated, Any, Self

from pydantic import AfterValidator, BeforeValidator, Field

from cadenza.domain.access.key import Scope
from cadenza.domain.daily.keys import daily_key
from cadenza.domain.daily.user import Cause, DailyGap, DayCounts, DayStatus, Verdict
from cadenza.operations.context import RequestContext
from cadenza.operations.daily.programmes import OfProgramme, served_programme
from cadenza.operations.daily.users import OneDailyUser, spelled
from cadenza.operations.fields import Listed, Paged, split_page
from cadenza.operations.operation import View, operation

A_DATE = re.compile(r"\d{4}-\d\d-\d\d")


def _a_date(value: Any) -> Any:
    """Refuse numbers: it would be unclear what they count."""
    if isinstance(value, date) or (isinstance(value, str) and A_DATE.fullmatch(value)):
        return value
    raise ValueError("must be a date such as 2030-01-31")


def _in_calendar(day: date) -> date:
    """A day with one before and one after it: its windows reach into them."""
    if not date.min < day < date.max:
        raise ValueError("lies at the end of the calendar")
    return day


Day = date
IsoDate = Annotated[str, Field(json_schema_extra={"format": "date"})]
ServiceDate = Annotated[
    date, BeforeValidator(_a_date, json_schema_input_type=IsoDate), AfterValidator(_in_calendar)
]


class GetDay(OfProgramme, Paged):
    """Which day: the date of its cutoffs, each in the time zone of its user."""

    date: ServiceDate


class ListUserDays(OneDailyUser, Paged):
    """Whose days."""


class VerdictView(View):
    """The verdict of a user's day."""

    user_id: str
    programme: str
    service_date: date
    status: DayStatus
    due_time: str
    decided_at: datetime
    late: bool
    """Whether the user was not served at the cutoff."""
    cause: Cause | None
    """The cause, if it is late."""

    @classmethod
    def of(cls, verdict: Verdict) -> Self:
        """The view of a verdict."""
        return cls(
            user_id=verdict.user_id,
            programme=verdict.programme_id,
            service_date=verdict.service_date,
            status=verdict.status,
            due_time=spelled(verdict.due),
            decided_at=verdict.decided_at,
            late=verdict.late,
            cause=verdict.cause,
        )


class CountsView(View):
    """How many verdicts of a day there are of each status."""

    success: int
    cutoff_reached: int
    late: int
    """How many of `cutoff_reached` are late: the users were not served at the cutoff."""
    in_gaps: int
    """How many of `late` lie in gaps: more than a week without service, with no verdicts of their own."""

    @classmethod
    def of(cls, counts: DayCounts) -> Self:
        """The view of counts."""
        return cls(**counts._asdict())


class DayPage(Listed[VerdictView]):
    """A page of a day's verdicts, in the order of the users' ids."""

    date: Day
    counts: CountsView | None
    """Over all pages; null on every page but the first."""


class GapView(View):
    """Days so long ago that they have no verdicts of their own, first and last included."""

    from_date: date
    to_date: date
    noticed_at: datetime
    cause: Cause

    @classmethod
    def of(cls, gap: DailyGap) -> Self:
        """The view of a gap."""
        return cls(from_date=gap.from_date, to_date=gap.to_date, noticed_at=gap.noticed_at, cause=gap.cause)


class UserDaysPage(Listed[VerdictView]):
    """A page of a user's verdicts, newest day first."""

    gaps: list[GapView]


@operation("GET /v1/daily/days/{date}", Scope.READ)
async def get_day(context: RequestContext, command: GetDay) -> DayPage:
    """Show the results of a date in a programme by user id, with a count of each status.

    Users who have no single result because of an outage over seven days (a gap) are counted, not listed.
    """
    programme = (await served_programme(context, command)).id
    found = await context.store.daily.verdicts_on(
        context.tenant_id, command.date, command.page(), programme_id=programme
    )
    verdicts, more = split_page(found, command.limit)
    counted = command.cursor is None
    counts = CountsView.of(await day_counts(context, command.date, programme)) if counted else None
    return DayPage(
        date=command.date,
        counts=counts,
        items=[VerdictView.of(one) for one in verdicts],
        next_cursor=verdicts[-1].user_id if more else None,
    )


async def day_counts(context: RequestContext, day: date, programme_id: str) -> DayCounts:
    """How many verdicts of a day there are of each status, in a programme."""
    totals = await context.store.daily_statistics.day_totals(
        context.tenant_id, since=day, until=day, programme_id=programme_id
    )
    return totals[0].counts if totals else DayCounts()


@operation("GET /v1/daily/users/{user_id}/days", Scope.READ)
async def list_user_days(context: RequestContext, command: ListUserDays) -> UserDaysPage:
    """List the daily results of a user, newest first, and the gaps; also of a deleted daily user."""
    await served_programme(context, command)
    key = daily_key(context.tenant_id, command.user_id, programme_id=command.programme)
    verdicts, more = split_page(await context.store.daily.verdicts_of(key, command.page()), command.limit)
    gaps = [] if command.cursor else await context.store.daily.gaps_of(key)
    if not verdicts and not gaps and command.cursor is None:
        await context.store.daily.daily_user(key)
    return UserDaysPage(
        items=[VerdictView.of(one) for one in verdicts],
        next_cursor=verdicts[-1].service_date.isoformat() if more else None,
        gaps=[GapView.of(one) for one in gaps],
    )


DAILY_DAYS = (get_day, list_user_days)
