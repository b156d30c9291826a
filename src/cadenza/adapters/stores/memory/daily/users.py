"""Users with a daily window, and their verdicts."""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from datetime import date, datetime
from itertools import islice
from operator import itemgetter

from cadenza.adapters.stores.common import not_found
from cadenza.adapters.stores.memory.tables import MemoryTables
from cadenza.domain.agents.users import UserKey
from cadenza.domain.daily.keys import DAILY, DailyKey
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
            for programme in {one.key.programme for one in wanted}:
                if programme.id != DAILY and programme not in self._tables.programmes:
                    raise not_found("programme", programme.id)
            users = [
                decide(one, self._tables.daily_users.get(one.key), self._last_daily_date(one.key))
                for one in wanted
            ]
            for user in users:
                self._keep_user(user)
            return users

    async def daily_user(self, key: DailyKey) -> DailyUser:
        with self._lock:
            if key not in self._tables.daily_users:
                raise not_found("daily user", key.user_id)
            return self._tables.daily_users[key]

    async def daily_users(
        self, tenant_id: str, page: Page = FIRST_PAGE, *, programme_id: str = DAILY
    ) -> list[DailyUser]:
        with self._lock:
            keys = sorted(key for key in self._tables.daily_users if key[:2] == (tenant_id, programme_id))
            later = (key for key in keys if page.after is None or key.user_id > page.after)
            return [self._tables.daily_users[key] for key in islice(later, page.limit)]

    async def remove_daily_user(self, key: DailyKey, *, with_days: bool = False) -> None:
        with self._lock:
            if key not in self._tables.daily_users:
                raise not_found("daily user", key.user_id)
            if with_days:
                forget_daily_user(self._tables, key)
            else:
                _unlist(self._tables, self._tables.daily_users.pop(key))

    async def pending_days(
        self, shard: int, *, until: datetime, limit: int, after: PendingDay | None = None
    ) -> list[PendingDay]:
        with self._lock:
            waiting = self._tables.daily_openings[shard]
            start = 0 if after is None else bisect_right(waiting, (after.opens_at, after.key))
            found = waiting[start : min(start + limit, bisect_right(waiting, until, key=itemgetter(0)))]
            return [PendingDay.of(self._tables.daily_users[key]) for _, key in found]

    async def finalize_days(self, keys: Sequence[DailyKey], rule: Finalize) -> list[Finalization | None]:
        with self._lock:
            users = [self._tables.daily_users.get(key) for key in keys]
            finalizations = [None if user is None else rule(user) for user in users]
            return [
                None if finalization is None else self._write_finalization(finalization)
                for finalization in finalizations
            ]

    async def verdicts_of(self, key: DailyKey, page: Page = FIRST_PAGE) -> list[Verdict]:
        with self._lock:
            mine = list(self._tables.daily_verdicts.get(key, {}).values())
        newest = sorted(mine, key=lambda one: one.service_date, reverse=True)
        later = (one for one in newest if page.after is None or one.service_date.isoformat() < page.after)
        return list(islice(later, page.limit))

    async def verdicts_on(
        self, tenant_id: str, day: date, page: Page = FIRST_PAGE, *, programme_id: str = DAILY
    ) -> list[Verdict]:
        with self._lock:
            keys = sorted(key for key, days in self._tables.daily_verdicts.items() if day in days)
            mine = (key for key in keys if key[:2] == (tenant_id, programme_id))
            wanted = (key for key in mine if key.user_id > (page.after or ""))
            return [self._tables.daily_verdicts[key][day] for key in islice(wanted, page.limit)]

    async def gaps_of(self, key: DailyKey) -> list[DailyGap]:
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
        user, verdicts, gap, _ = finalization
        self._keep_user(user)
        days, gaps = self._tables.daily_verdicts[user.key], self._tables.daily_gaps[user.key]
        new = tuple(one for one in verdicts if one.service_date not in days)
        days |= {one.service_date: one for one in new}
        if gap is not None and gaps.setdefault(gap.from_date, gap) is not gap:
            gap = None
        written = finalization._replace(verdicts=new, gap=gap)
        if (fresh_from := written.fresh_from) is not None:
            resets = self._tables.context_resets
            resets[user.key.user] = max(fresh_from, resets.get(user.key.user, fresh_from))
        return written

    def _keep_user(self, user: DailyUser) -> None:
        before = self._tables.daily_users.get(user.key)
        if before is not None:
            _unlist(self._tables, before)
        self._tables.daily_users[user.key] = user
        insort(self._tables.daily_openings[shard_of(user.key.user)], (user.opens_at, user.key))

    def _last_daily_date(self, key: DailyKey) -> date | None:
        return max(self._tables.daily_verdicts.get(key, {}), default=None)


def forget_daily_user(tables: MemoryTables, key: DailyKey) -> None:
    """Delete a daily user with all verdicts and gaps; with the lock held."""
    if key in tables.daily_users:
        _unlist(tables, tables.daily_users.pop(key))
    tables.daily_verdicts.pop(key, None)
    tables.daily_gaps.pop(key, None)


def forget_person(tables: MemoryTables, user: UserKey) -> None:
    """Delete a user from all programmes, with all verdicts and gaps; with the lock held."""
    everywhere = {*tables.daily_users, *tables.daily_verdicts, *tables.daily_gaps}
    for key in [key for key in everywhere if key.user == user]:
        forget_daily_user(tables, key)


def _unlist(tables: MemoryTables, user: DailyUser) -> None:
    openings = tables.daily_openings[shard_of(user.key.user)]
    del openings[bisect_left(openings, (user.opens_at, user.key))]
