"""Figures of daily jobs, counted anew each time."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from itertools import islice
from threading import RLock

from cadenza.domain.agents.users import UserKey
from cadenza.domain.daily.user import DayCounts, DayStatus, Verdict
from cadenza.domain.monitoring.statistics import FIRST_MISS, DayTotal, Missed, Tally, Waiting
from cadenza.ports.daily import Owed


class MemoryDailyFigures:
    """Counts what there is."""

    _lock: RLock
    _daily_owed: list[list[Owed]]
    _daily_verdicts: dict[UserKey, dict[date, Verdict]]

    async def tallies(self, tenant_id: str, day: date) -> list[Tally]:
        with self._lock:
            of_day = [one for one in self._verdicts_in(tenant_id) if one.service_date == day]
        dues = sorted({one.due_bucket for one in of_day})
        return [Tally(due, _counts(one for one in of_day if one.due_bucket == due)) for due in dues]

    async def day_totals(self, tenant_id: str, *, since: date, until: date) -> list[DayTotal]:
        days = defaultdict(list)
        with self._lock:
            for one in self._verdicts_in(tenant_id):
                if since <= one.service_date <= until:
                    days[one.service_date].append(one)
        return [DayTotal(day, _counts(days[day])) for day in sorted(days, reverse=True)]

    async def waiting(self, tenant_id: str, *, since: datetime, until: datetime, each: int) -> Waiting:
        users: Counter[datetime] = Counter()
        ends = []
        with self._lock:
            for owed in self._daily_owed:
                read = list(islice((one for one in owed if since <= one.cutoff < until), each))
                users.update(one.cutoff for one in read if one.tenant_id == tenant_id)
                if len(read) == each:
                    ends.append(read[-1].cutoff)
        known_before = min(ends, default=None)
        known = {at: count for at, count in users.items() if known_before is None or at < known_before}
        return Waiting(known, known_before)

    async def misses(
        self, tenant_id: str, day: date, *, limit: int, after: Missed = FIRST_MISS
    ) -> list[Verdict]:
        with self._lock:
            missed = [
                one
                for one in self._verdicts_in(tenant_id)
                if one.service_date == day and one.status is not DayStatus.SUCCESS and _place(one) > after
            ]
        return sorted(missed, key=_place)[:limit]

    def _verdicts_in(self, tenant_id: str) -> Iterator[Verdict]:
        mine = (days for key, days in self._daily_verdicts.items() if key.tenant_id == tenant_id)
        return (one for days in mine for one in days.values())


def _place(verdict: Verdict) -> Missed:
    return Missed(verdict.due_bucket, verdict.user_id)


def _counts(verdicts: Iterable[Verdict]) -> DayCounts:
    return DayCounts.of((one.status, one.late, 1) for one in verdicts)
