"""Operations that show statistics of daily runs: by due minute, by day, and the misses."""

from datetime import UTC, date, datetime, timedelta
from typing import Annotated

from cadenza.domain.access.key import Scope
from cadenza.domain.daily.user import DayCounts
from cadenza.domain.daily.window import cutoff, due_at_minute
from cadenza.domain.monitoring.statistics import BEFORE_FIRST_MISS, MissCursor, UndecidedUsers
from cadenza.operations.context import RequestContext
from cadenza.operations.daily.days import CountsView, ServiceDate, VerdictView, day_counts
from cadenza.operations.daily.programmes import OfProgramme, served_programme, window_of
from cadenza.operations.daily.users import spelled
from cadenza.operations.fields import Listed, Paged, Whole, no_cursor
from cadenza.operations.operation import View, operation

EACH_SHARD = 1_500
"""Users of a shard that are counted as undecided, at most; later cutoffs are left out."""
LONGEST_HISTORY = 60
Day = date
NOTHING = DayCounts()


class OfDay(OfProgramme):
    """Which day: the date of its cutoffs, each in the time zone of its user; today in UTC, if left out."""

    date: ServiceDate | None = None


class ListMisses(OfDay, Paged):
    """Whose misses: those of a day."""


class GetHistory(OfProgramme):
    """How far back."""

    days: Annotated[int, Whole(1, LONGEST_HISTORY)] = 30


class WindowView(CountsView):
    """The windows that end at one due minute of a day, on the clocks of their users."""

    due_time: str
    opens_at: datetime
    """When the first of them opens: of users who wait, or else in UTC."""
    cutoff: datetime
    """When the last of them ends."""
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
    programme, statistics = await served_programme(context, command), context.store.daily_statistics
    tallied = {
        one.due_bucket: one.counts
        for one in await statistics.tallies(context.tenant_id, day, programme_id=programme.id)
    }
    waiting = await statistics.waiting(context.tenant_id, day, each=EACH_SHARD, programme_id=programme.id)
    windows = _Windows(day, window_of(context, programme), waiting)
    return WindowsView(
        now=now,
        date=day,
        counts=CountsView.of(await day_counts(context, day, programme.id)),
        waiting=sum(waiting.users.values()),
        waiting_until=waiting.known_before,
        windows=[
            windows.view(due, tallied.get(due, NOTHING)) for due in sorted(tallied.keys() | windows.dues)
        ],
    )


class _Windows:
    """The windows of a day, by due minute."""

    def __init__(self, day: date, window: timedelta, waiting: UndecidedUsers) -> None:
        self._day = day
        self._window = window
        self._known_before = waiting.known_before
        self._waiting: dict[int, dict[datetime, int]] = {}
        for (due, ends_at), count in waiting.users.items():
            self._waiting.setdefault(due, {})[ends_at] = count

    @property
    def dues(self) -> frozenset[int]:
        """The due minutes for which users wait."""
        return frozenset(self._waiting)

    def view(self, due: int, counts: DayCounts) -> WindowView:
        """The windows that end at a due minute."""
        in_utc = cutoff(due_at_minute(due), self._day)
        users = self._waiting.get(due, {})
        counted = self._known_before is None or in_utc < self._known_before
        return WindowView(
            due_time=spelled(due_at_minute(due)),
            opens_at=min(users, default=in_utc) - self._window,
            cutoff=max(users, default=in_utc),
            waiting=sum(users.values()) if counted else None,
            **counts._asdict(),
        )


@operation("GET /v1/daily/history", Scope.READ, agent=False)
async def get_history(context: RequestContext, command: GetHistory) -> HistoryView:
    """Show the count of results of each status for the last days."""
    today = context.dependencies.clock.now().astimezone(UTC).date()
    since = today - timedelta(days=command.days - 1)
    tomorrow = today + timedelta(days=1)
    programme = (await served_programme(context, command)).id
    totals = await context.store.daily_statistics.day_totals(
        context.tenant_id, since=since, until=tomorrow, programme_id=programme
    )
    return HistoryView(since=since, items=[DayView(date=day, **counts._asdict()) for day, counts in totals])


@operation("GET /v1/daily/misses", Scope.READ, agent=False)
async def list_misses(context: RequestContext, command: ListMisses) -> MissesPage:
    """List users who were missed on a date, by due time."""
    day = command.date or context.dependencies.clock.now().astimezone(UTC).date()
    programme = (await served_programme(context, command)).id
    found = await context.store.daily_statistics.misses(
        context.tenant_id,
        day,
        limit=command.limit + 1,
        after=_place(command.cursor),
        programme_id=programme,
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


DAILY_FIGURES = (get_windows, get_history, list_misses)
