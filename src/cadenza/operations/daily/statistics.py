"""Operations that show statistics of daily runs: by due minute, by day, and the misses."""

from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated

from cadenza.domain.access.key import Scope
from cadenza.domain.daily.user import DayCounts
from cadenza.domain.daily.window import cutoff, due_at_minute, minute_of_day, opens
from cadenza.domain.monitoring.statistics import BEFORE_FIRST_MISS, MissCursor
from cadenza.operations.context import RequestContext
from cadenza.operations.daily.days import CountsView, ServiceDate, VerdictView, day_counts
from cadenza.operations.daily.users import spelled
from cadenza.operations.fields import Listed, Paged, Whole, no_cursor
from cadenza.operations.operation import Command, View, operation

EACH_SHARD = 1_500
"""Users of a shard that are counted as undecided, at most; later cutoffs are left out."""
LONGEST_HISTORY = 60
Day = date
NOTHING = DayCounts()


class OfDay(Command):
    """Which day: the UTC date of its cutoffs; today, if left out."""

    date: ServiceDate | None = None


class ListMisses(OfDay, Paged):
    """Whose misses: those of a day."""


class GetHistory(Command):
    """How far back."""

    days: Annotated[int, Whole(1, LONGEST_HISTORY)] = 30


class WindowView(CountsView):
    """The windows that end at one due minute of a day."""

    due_time: str
    opens_at: datetime
    cutoff: datetime
    waiting: int | None
    """How many users have no verdict yet; null where they were not counted."""


class WindowsView(View):
    """A day's windows and their verdicts so far."""

    now: datetime
    date: Day
    counts: CountsView
    """Of the whole day; what lies in gaps belongs to no window."""
    waiting: int
    """How many users have no verdict yet, as far as they were counted."""
    waiting_until: datetime | None
    """Users with this cutoff or a later one were not counted; null if all were."""
    windows: list[WindowView]
    """Windows with at least one user, earliest first."""


class DayView(CountsView):
    """The verdicts of a day, counted."""

    date: Day


class HistoryView(View):
    """The verdicts of days, counted."""

    since: Day
    items: list[DayView]
    """Newest first; days without a verdict are left out."""


class MissesPage(Listed[VerdictView]):
    """A page of a day's misses, by due time."""

    date: Day


@operation("GET /v1/daily/windows", Scope.READ, agent=False)
async def get_windows(context: RequestContext, command: OfDay) -> WindowsView:
    """Show the windows of a date: results by due minute, and how many users are pending."""
    now = context.dependencies.clock.now()
    day = command.date or now.astimezone(UTC).date()
    begin = datetime.combine(day, time(), UTC)
    tallied = {
        one.due_bucket: one.counts
        for one in await context.store.daily_statistics.tallies(context.tenant_id, day)
    }
    waiting = await context.store.daily_statistics.waiting(
        context.tenant_id, since=begin, until=begin + timedelta(days=1), each=EACH_SHARD
    )
    waits = {minute_of_day(at.time()): count for at, count in waiting.users.items()}
    known = None if waiting.known_before is None else minute_of_day(waiting.known_before.time())
    return WindowsView(
        now=now,
        date=day,
        counts=CountsView.of(await day_counts(context, day)),
        waiting=sum(waits.values()),
        waiting_until=waiting.known_before,
        windows=[
            _window(
                opens(due_at_minute(due), day, context.dependencies.daily_window),
                cutoff(due_at_minute(due), day),
                tallied.get(due, NOTHING),
                waits.get(due, 0) if known is None or due < known else None,
            )
            for due in sorted(tallied.keys() | waits)
        ],
    )


@operation("GET /v1/daily/history", Scope.READ, agent=False)
async def get_history(context: RequestContext, command: GetHistory) -> HistoryView:
    """Show the count of results of each status for the last days."""
    today = context.dependencies.clock.now().astimezone(UTC).date()
    since = today - timedelta(days=command.days - 1)
    tomorrow = today + timedelta(days=1)
    totals = await context.store.daily_statistics.day_totals(context.tenant_id, since=since, until=tomorrow)
    return HistoryView(since=since, items=[DayView(date=day, **counts._asdict()) for day, counts in totals])


@operation("GET /v1/daily/misses", Scope.READ, agent=False)
async def list_misses(context: RequestContext, command: ListMisses) -> MissesPage:
    """List users who were missed on a date (UTC), by due time."""
    day = command.date or context.dependencies.clock.now().astimezone(UTC).date()
    found = await context.store.daily_statistics.misses(
        context.tenant_id, day, limit=command.limit + 1, after=_place(command.cursor)
    )
    missed = found[: command.limit]
    more = len(found) > command.limit
    return MissesPage(
        date=day,
        items=[VerdictView.of(one) for one in missed],
        next_cursor=f"{missed[-1].due_bucket}:{missed[-1].user_id}" if more else None,
    )


def _place(cursor: str | None) -> MissCursor:
    if cursor is None:
        return BEFORE_FIRST_MISS
    due, _, user_id = cursor.partition(":")
    if not (due.isascii() and due.isdigit() and len(due) <= len("1439")):
        raise no_cursor()
    return MissCursor(int(due), user_id)


def _window(opens_at: datetime, ends_at: datetime, counts: DayCounts, waiting: int | None) -> WindowView:
    return WindowView(
        due_time=spelled(ends_at.time()),
        opens_at=opens_at,
        cutoff=ends_at,
        waiting=waiting,
        **counts._asdict(),
    )


DAILY_FIGURES = (get_windows, get_history, list_misses)
