"""Users with a daily job, and their verdicts, in dictionaries."""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Sequence
from datetime import date, datetime
from itertools import islice
from threading import RLock

from cadenza.adapters.stores.common import missing
from cadenza.domain.agents.users import UserKey
from cadenza.domain.daily.rules import SHARDS, shard_of
from cadenza.domain.daily.user import DailyGap, DailyUser, Enrollment, Finalization, Verdict
from cadenza.ports.catalog import FIRST_PAGE, Page
from cadenza.ports.daily import Enroll, Finalize, PendingDay


class MemoryDaily:
    """Each shard's users in the order of their next cutoffs, so that nobody else is looked at."""

    _lock: RLock
    _reset_at: dict[UserKey, datetime]

    def __init__(self) -> None:
        super().__init__()
        self._daily: dict[UserKey, DailyUser] = {}
        self._daily_owed: list[list[PendingDay]] = [[] for _ in range(SHARDS)]
        self._daily_verdicts: dict[UserKey, dict[date, Verdict]] = defaultdict(dict)
        self._daily_gaps: dict[UserKey, dict[date, DailyGap]] = defaultdict(dict)

    async def enroll(self, wanted: Sequence[Enrollment], decide: Enroll) -> list[DailyUser]:
        with self._lock:
            users = [decide(one, self._daily.get(one.key), self._last_daily_date(one.key)) for one in wanted]
            for user in users:
                self._keep_user(user)
            return users

    async def daily_user(self, key: UserKey) -> DailyUser:
        with self._lock:
            if key not in self._daily:
                raise missing("daily user", key.id)
            return self._daily[key]

    async def daily_users(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[DailyUser]:
        with self._lock:
            keys = sorted(key for key in self._daily if key.tenant_id == tenant_id)
            later = (key for key in keys if page.after is None or key.id > page.after)
            return [self._daily[key] for key in islice(later, page.limit)]

    async def remove_daily_user(self, key: UserKey, *, with_days: bool = False) -> None:
        with self._lock:
            if key not in self._daily:
                raise missing("daily user", key.id)
            if with_days:
                self._forget_daily(key)
            else:
                self._unlist(self._daily.pop(key))

    async def pending_days(
        self, shard: int, *, until: datetime, limit: int, after: PendingDay | None = None
    ) -> list[PendingDay]:
        with self._lock:
            waiting = self._daily_owed[shard]
            start = 0 if after is None else bisect_left(waiting, after)
            later = (one for one in waiting[start : start + limit + 1] if after is None or one > after)
            return [one for one in islice(later, limit) if one.cutoff <= until]

    async def finalize_days(self, keys: Sequence[UserKey], rule: Finalize) -> list[Finalization | None]:
        with self._lock:
            users = [self._daily.get(key) for key in keys]
            finalizations = [None if user is None else rule(user) for user in users]
            return [
                None if finalization is None else self._write_ruling(finalization)
                for finalization in finalizations
            ]

    async def verdicts_of(self, key: UserKey, page: Page = FIRST_PAGE) -> list[Verdict]:
        with self._lock:
            mine = list(self._daily_verdicts.get(key, {}).values())
        newest = sorted(mine, key=lambda one: one.service_date, reverse=True)
        later = (one for one in newest if page.after is None or one.service_date.isoformat() < page.after)
        return list(islice(later, page.limit))

    async def verdicts_on(self, tenant_id: str, day: date, page: Page = FIRST_PAGE) -> list[Verdict]:
        with self._lock:
            keys = sorted(key for key, days in self._daily_verdicts.items() if day in days)
            wanted = (key for key in keys if key.tenant_id == tenant_id and key.id > (page.after or ""))
            return [self._daily_verdicts[key][day] for key in islice(wanted, page.limit)]

    async def gaps_of(self, key: UserKey) -> list[DailyGap]:
        with self._lock:
            mine = list(self._daily_gaps.get(key, {}).values())
        return sorted(mine, key=lambda gap: gap.from_date, reverse=True)

    async def forget_days(self, before: date) -> int:
        with self._lock:
            old = [(days, day) for days in self._daily_verdicts.values() for day in days if day < before]
            for days, day in old:
                del days[day]
            gaps = [(gaps, gap) for gaps in self._daily_gaps.values() for gap in gaps.values()]
            over = [(gaps, gap.from_date) for gaps, gap in gaps if gap.to_date < before]
            for of_user, day in over:
                del of_user[day]
            return len(old) + len(over)

    def _write_ruling(self, finalization: Finalization) -> Finalization:
        user, verdicts, gap = finalization
        self._keep_user(user)
        days, gaps = self._daily_verdicts[user.key], self._daily_gaps[user.key]
        new = tuple(one for one in verdicts if one.service_date not in days)
        days |= {one.service_date: one for one in new}
        if gap is not None and gaps.setdefault(gap.from_date, gap) is not gap:
            gap = None
        written = Finalization(user, new, gap)
        if (fresh_from := written.fresh_from) is not None:
            self._reset_at[user.key] = max(fresh_from, self._reset_at.get(user.key, fresh_from))
        return written

    def _forget_daily(self, key: UserKey) -> None:
        """Forget all that is about a user."""
        if key in self._daily:
            self._unlist(self._daily.pop(key))
        self._daily_verdicts.pop(key, None)
        self._daily_gaps.pop(key, None)

    def _keep_user(self, user: DailyUser) -> None:
        before = self._daily.get(user.key)
        if before is not None:
            self._unlist(before)
        self._daily[user.key] = user
        insort(self._daily_owed[shard_of(user.key)], PendingDay(user.next_cutoff, *user.key))

    def _unlist(self, user: DailyUser) -> None:
        waiting = self._daily_owed[shard_of(user.key)]
        del waiting[bisect_left(waiting, PendingDay(user.next_cutoff, *user.key))]

    def _last_daily_date(self, key: UserKey) -> date | None:
        return max(self._daily_verdicts.get(key, {}), default=None)
