"""Figures of daily jobs for people who look, each read within bounds."""

from datetime import date, datetime
from typing import Protocol

from cadenza.domain.daily.user import Verdict
from cadenza.domain.monitoring.daily_figures import FIRST_MISS, DayTotal, Missed, Tally, Waiting


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
