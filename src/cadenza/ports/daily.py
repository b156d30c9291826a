"""What the daily runner needs: stored users and verdicts, lanes, and the target it runs for each user."""

from collections.abc import Callable, Collection, Sequence
from datetime import date, datetime, time
from typing import NamedTuple, Protocol

from cadenza.domain.daily.keys import DAILY, DailyKey, ProgrammeKey
from cadenza.domain.daily.programme import Programme
from cadenza.domain.daily.user import DailyGap, DailyRunResult, DailyUser, Enrollment, Finalization, Verdict
from cadenza.domain.monitoring.statistics import (
    BEFORE_FIRST_MISS,
    DayTotal,
    DueMinuteCounts,
    MissCursor,
    UndecidedUsers,
)
from cadenza.ports.catalog import FIRST_PAGE, Page


class PendingDay(NamedTuple):
    """The next day of a user that has no verdict yet; the soonest cutoff sorts first."""

    cutoff: datetime
    tenant_id: str
    programme_id: str
    user_id: str
    service_date: date
    opens_at: datetime
    due: time

    @property
    def key(self) -> DailyKey:
        """The user, in a programme."""
        return DailyKey(self.tenant_id, self.programme_id, self.user_id)

    @classmethod
    def of(cls, user: DailyUser) -> "PendingDay":
        """The pending day of a record."""
        return cls(user.next_cutoff, *user.key, user.next_date, user.opens_at, user.due)


Enroll = Callable[[Enrollment, DailyUser | None, date | None], DailyUser]
"""Decides the new record of a user, given the present one and the newest day that has a verdict, if any."""
Finalize = Callable[[DailyUser], Finalization | None]
"""Decides the verdicts of a user's pending days; None if there are none yet."""


class DailyStore(Protocol):
    """Durable records of daily users, and the verdicts of their days."""

    async def enroll(self, wanted: Sequence[Enrollment], decide: Enroll) -> list[DailyUser]:
        """Store what is decided about these users, new or enrolled before, each given once, in one commit.

        Changes to one user happen one after the other; a decision that raises changes nothing.
        NotFound if a programme does not exist; `daily` always does.
        """
        ...

    async def daily_user(self, key: DailyKey) -> DailyUser:
        """The record as it stands; NotFound if there is none."""
        ...

    async def daily_users(
        self, tenant_id: str, page: Page = FIRST_PAGE, *, programme_id: str = DAILY
    ) -> list[DailyUser]:
        """A programme's users, in the order of their ids."""
        ...

    async def remove_daily_user(self, key: DailyKey, *, with_days: bool = False) -> None:
        """Serve a user in this programme no more; NotFound if there is none.

        The verdicts stay, so that a user who is enrolled again gets no second verdict for a
        day; with `with_days` they are deleted, too.
        """
        ...

    async def pending_days(
        self, shard: int, *, until: datetime, limit: int, after: PendingDay | None = None
    ) -> list[PendingDay]:
        """The pending days of a shard's users whose window opens at or before a moment, first opened first.

        No user whose next window opens later is read.
        """
        ...

    async def finalize_days(self, keys: Sequence[DailyKey], rule: Finalize) -> list[Finalization | None]:
        """Decide on the present records of these users, each given once, and write it in one commit.

        A verdict or gap that exists already stays as it is, and is left out of the
        result. Results come in the order of the keys; None for a user who was removed, or
        for whom nothing was decided.
        """
        ...

    async def verdicts_of(self, key: DailyKey, page: Page = FIRST_PAGE) -> list[Verdict]:
        """A user's verdicts in a programme, newest day first; a page goes on after a date."""
        ...

    async def verdicts_on(
        self, tenant_id: str, day: date, page: Page = FIRST_PAGE, *, programme_id: str = DAILY
    ) -> list[Verdict]:
        """A programme's verdicts of a date, in the order of the users' ids."""
        ...

    async def gaps_of(self, key: DailyKey) -> list[DailyGap]:
        """A user's gaps: days without verdicts of their own, newest first."""
        ...

    async def forget_days(self, before: date) -> int:
        """Delete verdicts and gaps of days before this one; returns how many."""
        ...


class ProgrammeStore(Protocol):
    """Daily programmes. Every tenant has `daily`, whether or not anything is stored about it."""

    async def put_programme(self, programme: Programme) -> Programme:
        """Store a programme, new or changed, and return it; one that exists keeps its `created_at`.

        Conflict if the tenant has `MOST_PROGRAMMES` others.
        """
        ...

    async def programme(self, key: ProgrammeKey) -> Programme:
        """A programme; NotFound if there is none."""
        ...

    async def programmes(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[Programme]:
        """A tenant's stored programmes, in the order of their ids."""
        ...

    async def all_programmes(self, *, limit: int, after: ProgrammeKey | None = None) -> list[Programme]:
        """The stored programmes of all tenants, in the order of their keys."""
        ...

    async def delete_programme(self, key: ProgrammeKey, *, with_days: bool = False) -> None:
        """Delete what is stored about a programme; NotFound if nothing is.

        Conflict while users are enrolled in it, or while it has verdicts or gaps, unless these are to
        be deleted with it. Nobody can be enrolled meanwhile. `daily` has its users without being
        stored: of it only the settings go.
        """
        ...


class DailyStatisticsStore(Protocol):
    """Statistics of daily verdicts, counted as they are written or read by index."""

    async def tallies(self, tenant_id: str, day: date, *, programme_id: str = DAILY) -> list[DueMinuteCounts]:
        """How many verdicts of a day there are which, by due minute, earliest first."""
        ...

    async def day_totals(
        self, tenant_id: str, *, since: date, until: date, programme_id: str = DAILY
    ) -> list[DayTotal]:
        """The same of whole days, first and last included, newest first; days without any are left out.

        Days of gaps are counted as late, although they have no verdicts of their own.
        """
        ...

    async def waiting(
        self, tenant_id: str, day: date, *, each: int, programme_id: str = DAILY
    ) -> UndecidedUsers:
        """How many users have this day as their next one, by due minute on their clocks and by cutoff.

        Of each shard so many users of the day are looked at, soonest cutoff first, and no more.
        """
        ...

    async def misses(
        self,
        tenant_id: str,
        day: date,
        *,
        limit: int,
        after: MissCursor = BEFORE_FIRST_MISS,
        programme_id: str = DAILY,
    ) -> list[Verdict]:
        """Verdicts of a day that are no success, by due time and user."""
        ...


class LaneServer(Protocol):
    """Serves the users of lanes."""

    def serve(self, held: Collection[int], leaving: Collection[int] = ()) -> None:
        """Serve these lanes alone; runs of lanes that are `leaving` may end, all others are cancelled."""
        ...

    def done_with(self, leaving: Collection[int]) -> Collection[int]:
        """Those of these lanes that can be released: they have no runs, and no verdicts to write."""
        ...


class DailyLanes(Protocol):
    """The lanes of daily users: of all processes on one database, one holds each lane at a time.

    A process that ends releases its lanes.
    """

    async def hold(self, server: LaneServer) -> None:
        """Hold a fair share of the lanes until cancelled, and tell the server of every change.

        A lane above the share is released when its server is done with it; a lost lane is
        no longer served as soon as the loss is known.
        """
        ...


class DailyTargetRunner(Protocol):
    """Runs the daily target."""

    async def run(self, user_id: str, service_date: date, *, tenant_id: str) -> DailyRunResult:
        """Run the target once for a user and day, and return when it has really ended.

        It does not retry; the caller does. A failure is a result, and an exception counts
        as one of class `unknown`. A cancelled run ends as soon as it can, and this returns
        no sooner.
        """
        ...


class ProgrammeTargets(Protocol):
    """Which target this process runs for a programme."""

    def runner_for(self, programme: Programme) -> DailyTargetRunner | None:
        """The runner of a programme's target; None if this process has none for it."""
        ...
