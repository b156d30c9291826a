"""Users with a daily window, and their verdicts."""

from bisect import bisect_left, insort
from collections.abc import Sequence
from datetime import date, datetime
from itertools import islice

from cadenza.adapters.stores.common import not_found
from cadenza.adapters.stores.memory.tables import MemoryTables
from cadenza.domain.agents.users import UserKey
from cadenza.domain.daily.rules import shard_of
from cadenza.domain.daily.user import DailyGap, DailyUser, Enrollment, Finalization, Verdict
from cadenza.ports.catalog import FIRST_PAGE, Page
from cadenza.ports.daily import Enroll, Finalize, PendingDay


class MemoryDaily:
    """Daily users and the verdicts of their days."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self._lock = tables.lock

    async def enroll(self, wanted: Sequence[Enrollment], decide: Enroll) -> list[DailyUser]:
        with self._lock:
            users = [
                decide(one, self._tables.daily_users.get(one.key), self._last_daily_date(one.key))
                for one in wanted
            ]
            for user in users:
                self._keep_user(user)
            return users

    async def daily_user(self, key: UserKey) -> DailyUser:
        with self._lock:
            if key not in self._tables.daily_users:
                raise not_found("daily user", key.id)
            return self._tables.daily_users[key]

    async def daily_users(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[DailyUser]:
        with self._lock:
            keys = sorted(key for key in self._tables.daily_users if key.tenant_id == tenant_id)
            later = (key for key in keys if page.after is None or key.id > page.after)
            return [self._tables.daily_users[key] for key in islice(later, page.limit)]

    async def remove_daily_user(self, key: UserKey, *, with_days: bool = False) -> None:
        with self._lock:
            if key not in self._tables.daily_users:
                raise not_found("daily user", key.id)
            if with_days:
                forget_daily_user(self._tables, key)
            else:
                _unlist(self._tables, self._tables.daily_users.pop(key))

    async def pending_days(
        self, shard: int, *, until: datetime, limit: int, after: PendingDay | None = None
    ) -> list[PendingDay]:
        with self._lock:
            waiting = self._tables.daily_cutoffs[shard]
            start = 0 if after is None else bisect_left(waiting, after)
            later = (one for one in waiting[start : start + limit + 1] if after is None or one > after)
            return [one for one in islice(later, limit) if one.cutoff <= until]

    async def finalize_days(self, keys: Sequence[UserKey], rule: Finalize) -> list[Finalization | None]:
        with self._lock:
            users = [self._tables.daily_users.get(key) for key in keys]
            finalizations = [None if user is None else rule(user) for user in users]
            return [
                None if finalization is None else self._write_finalization(finalization)
                for finalization in finalizations
            ]

    async def verdicts_of(self, key: UserKey, page: Page = FIRST_PAGE) -> list[Verdict]:
        with self._lock:
            mine = list(self._tables.daily_verdicts.get(key, {}).values())
        newest = sorted(mine, key=lambda one: one.service_date, reverse=True)
        later = (one for one in newest if page.after is None or one.service_date.isoformat() < page.after)
        return list(islice(later, page.limit))

    async def verdicts_on(self, tenant_id: str, day: date, page: Page = FIRST_PAGE) -> list[Verdict]:
        with self._lock:
            keys = sorted(key for key, days in self._tables.daily_verdicts.items() if day in days)
            wanted = (key for key in keys if key.tenant_id == tenant_id and key.id > (page.after or ""))
            return [self._tables.daily_verdicts[key][day] for key in islice(wanted, page.limit)]

    async def gaps_of(self, key: UserKey) -> list[DailyGap]:
        with self._lock:
            mine = list(self._tables.daily_gaps.get(key, {}).values())
        return sorted(mine, key=lambda gap: gap.from_date, reverse=True)

    async def forget_days(self, before: date) -> int:
        with self._lock:
            old = [
                (days, day) for days in self._tables.daily_verdicts.values() for day in days if day < before
            ]
            for days, day in old:
                del days[day]
            gaps = [(gaps, gap) for gaps in self._tables.daily_gaps.values() for gap in gaps.values()]
            over = [(gaps, gap.from_date) for gaps, gap in gaps if gap.to_date < before]
            for of_user, day in over:
                del of_user[day]
            return len(old) + len(over)

    def _write_finalization(self, finalization: Finalization) -> Finalization:
        user, verdicts, gap = finalization
        self._keep_user(user)
        days, gaps = self._tables.daily_verdicts[user.key], self._tables.daily_gaps[user.key]
        new = tuple(one for one in verdicts if one.service_date not in days)
        days |= {one.service_date: one for one in new}
        if gap is not None and gaps.setdefault(gap.from_date, gap) is not gap:
            gap = None
        written = Finalization(user, new, gap)
        if (fresh_from := written.fresh_from) is not None:
            self._tables.context_resets[user.key] = max(
                fresh_from, self._tables.context_resets.get(user.key, fresh_from)
            )
        return written

    def _keep_user(self, user: DailyUser) -> None:
        before = self._tables.daily_users.get(user.key)
        if before is not None:
            _unlist(self._tables, before)
        self._tables.daily_users[user.key] = user
        insort(self._tables.daily_cutoffs[shard_of(user.key)], PendingDay(user.next_cutoff, *user.key))

    def _last_daily_date(self, key: UserKey) -> date | None:
        return max(self._tables.daily_verdicts.get(key, {}), default=None)


def forget_daily_user(tables: MemoryTables, key: UserKey) -> None:
    """Delete a daily user with all verdicts and gaps; with the lock held."""
    if key in tables.daily_users:
        _unlist(tables, tables.daily_users.pop(key))
    tables.daily_verdicts.pop(key, None)
    tables.daily_gaps.pop(key, None)


def _unlist(tables: MemoryTables, user: DailyUser) -> None:
    cutoffs = tables.daily_cutoffs[shard_of(user.key)]
    del cutoffs[bisect_left(cutoffs, PendingDay(user.next_cutoff, *user.key))]
