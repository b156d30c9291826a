"""Users with a daily job, and the verdicts of their days, as a store keeps them."""

from collections.abc import Callable, Collection, Sequence
from datetime import date, datetime
from typing import NamedTuple, Protocol

from cadenza.domain.agents.users import UserKey
from cadenza.domain.daily.user import DailyUser, Enrollment, Gap, JobResult, Ruling, Verdict
from cadenza.domain.monitoring.statistics import FIRST_MISS, DayTotal, Missed, Tally, Waiting
from cadenza.ports.catalog import FIRST_PAGE, Page


class Owed(NamedTuple):
    """A day that a user has no verdict for; the soonest cutoff sorts first."""

    cutoff: datetime
    tenant_id: str
    user_id: str

    @property
    def key(self) -> UserKey:
        """Whose day it is."""
        return UserKey(self.tenant_id, self.user_id)

    @property
    def service_date(self) -> date:
        """Which day it is."""
        return self.cutoff.date()


Enroll = Callable[[Enrollment, DailyUser | None, date | None], DailyUser]
"""The record of a user, from the one there is and the newest day that has a verdict, if any."""
Rule = Callable[[DailyUser], Ruling | None]
"""What becomes of a user as it stands; None if nothing."""


class DailyStore(Protocol):
    """Durable records of users, and the verdicts of their days."""

    async def enroll(self, wanted: Sequence[Enrollment], decide: Enroll) -> list[DailyUser]:
        """Keep what is decided about these users, each named once, in one commit; new ones and known ones.

        Changes to one user happen one after the other; a decision that raises changes nothing.
        """
        ...

    async def daily_user(self, key: UserKey) -> DailyUser:
        """The record as it stands; NotFound if there is none."""
        ...

    async def daily_users(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[DailyUser]:
        """A tenant's users, in the order of their ids."""
        ...

    async def remove_daily_user(self, key: UserKey, *, with_days: bool = False) -> None:
        """Serve a user no more; NotFound if there is none.

        The days' verdicts stay, so that whoever comes back has no second success on one
        day; with `with_days` they are forgotten, too.
        """
        ...

    async def owed_days(
        self, shard: int, *, until: datetime, limit: int, after: Owed | None = None
    ) -> list[Owed]:
        """Next days of a shard's users that are cut off at or before a moment, soonest first.

        No user is looked at whose next cutoff is later.
        """
        ...

    async def settle_days(self, keys: Sequence[UserKey], rule: Rule) -> list[Ruling | None]:
        """Write what is ruled about fresh records, each named once, in one commit.

        A verdict or gap that there is already stays as it is, and is left out of the
        answer. The answers come in the order of the keys; None stands for a user who is
        gone, or about whom nothing is ruled.
        """
        ...

    async def verdicts_of(self, key: UserKey, page: Page = FIRST_PAGE) -> list[Verdict]:
        """A user's verdicts, newest day first; a page goes on after a date."""
        ...

    async def verdicts_on(self, tenant_id: str, day: date, page: Page = FIRST_PAGE) -> list[Verdict]:
        """A day's verdicts, in the order of the users' ids."""
        ...

    async def gaps_of(self, key: UserKey) -> list[Gap]:
        """Days of a user that have no verdicts of their own, newest first."""
        ...

    async def forget_days(self, before: date) -> int:
        """Forget verdicts and gaps of days before this one; how many there were."""
        ...


class DailyFigureStore(Protocol):
    """Counts that are kept as verdicts are written, and reads by index."""

    async def tallies(self, tenant_id: str, day: date) -> list[Tally]:
        """How many verdicts of a day there are which, by due minute, earliest first."""
        ...

    async def day_totals(self, tenant_id: str, *, since: date, until: date) -> list[DayTotal]:
        """The same of whole days, first and last included, newest first; days without any are left out."""
        ...

    async def waiting(self, tenant_id: str, *, since: datetime, until: datetime, each: int) -> Waiting:
        """How many users are cut off next within a span, by cutoff, without its end.

        Of each shard so many users are looked at, soonest first, and no more.
        """
        ...

    async def misses(
        self, tenant_id: str, day: date, *, limit: int, after: Missed = FIRST_MISS
    ) -> list[Verdict]:
        """Verdicts of a day that are no success, by due time and user."""
        ...


class LaneServer(Protocol):
    """Serves the users of lanes."""

    def serve(self, held: Collection[int], leaving: Collection[int] = ()) -> None:
        """Serve these lanes alone; what runs for those that are being left may end, all else is cut off."""
        ...

    def done_with(self, leaving: Collection[int]) -> Collection[int]:
        """Those of these lanes that can be given away: nothing of theirs is left to do."""
        ...


class Lanes(Protocol):
    """Of all processes on one database, one serves each lane at a time; with its process, it is free."""

    async def hold(self, server: LaneServer) -> None:
        """Hold a fair share of the lanes until cancelled, and say whenever it changes.

        A lane above the share is given away when its server is done with it; one that
        is lost is served no more as soon as that is known.
        """
        ...


class JobRunner(Protocol):
    """Carries out daily jobs."""

    async def run(self, user_id: str, service_date: date, *, tenant_id: str) -> JobResult:
        """Do a user's job once, and come back when it has really ended.

        There are no retries within: whoever calls tries again. What goes wrong is a
        result; an exception is one of class `unknown`. A job that is cancelled ends as
        soon as it can, and no sooner does this return.
        """
        ...
