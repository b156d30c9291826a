"""A quota by what tenants have spent this month, which asks the store once in a while."""

import asyncio
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from cadenza.domain.access.tenant import Standing, month_of, next_month
from cadenza.domain.monitoring.alert import quota_level
from cadenza.ports.access import QuotaAnswer, QuotaRequest, Spending, TenantStore
from cadenza.ports.clock import Clock
from cadenza.ports.telemetry import QUOTA_SPENT, Telemetry

LIMITED = timedelta(seconds=1)
"""So long is remembered what a tenant with a limit has spent."""
UNLIMITED = timedelta(seconds=10)
GENERATION = timedelta(minutes=1)


class Tally:
    """One kind of spending: its limit, what is counted, and what was allowed and is not counted yet.

    What was allowed is counted when it ends. It stays on top of the counter until the
    counter has grown by as much; what does not come within two generations is taken
    for lost.
    """

    __slots__ = ("_counted", "_earlier", "_lately", "_limit")

    def __init__(self, limit: int | None, counted: int) -> None:
        self._limit = limit
        self._counted = counted
        self._earlier = self._lately = 0

    def allows(self, cost: int) -> bool:
        """May it be spent? If so, it counts as spent."""
        if self._limit is None:
            return True
        if self._counted + self._earlier + self._lately + cost > self._limit:
            return False
        self._lately += cost
        return True

    def read(self, limit: int | None, counted: int, *, generations: int) -> None:
        """Take in a new reading of the counter, and forget what was allowed too long ago."""
        grown = max(0, counted - self._counted)
        self._limit, self._counted = limit, counted
        self._lately = max(0, self._lately - max(0, grown - self._earlier))
        self._earlier = max(0, self._earlier - grown)
        if generations:
            self._earlier, self._lately = (self._lately if generations == 1 else 0), 0


class Account:
    """The tallies of a tenant in one month."""

    def __init__(self, standing: Standing, month: str, now: datetime) -> None:
        limits, spent = standing
        self._month = month
        self._read_at = self._began_at = now
        self._tallies = {
            Spending.ENDPOINT: Tally(limits.runs_per_month, spent.runs),
            Spending.AI: Tally(limits.planner_tokens_per_month, spent.planner_tokens),
        }
        self._fresh_for = _fresh_for(standing)

    def allows(self, kind: Spending, cost: int) -> bool:
        """May it be spent? If so, it counts as spent."""
        return self._tallies[kind].allows(cost)

    def fresh(self, month: str, now: datetime) -> bool:
        """Need it not be read again?"""
        return self._month == month and abs(now - self._read_at) < self._fresh_for

    def read(self, standing: Standing, month: str, now: datetime) -> "Account":
        """The account after a new reading; in a new month it begins anew."""
        if month != self._month:
            return Account(standing, month, now)
        limits, spent = standing
        generations = max(0, (now - self._began_at) // GENERATION)
        if generations:
            self._began_at = now
        self._tallies[Spending.ENDPOINT].read(limits.runs_per_month, spent.runs, generations=generations)
        self._tallies[Spending.AI].read(
            limits.planner_tokens_per_month, spent.planner_tokens, generations=generations
        )
        self._read_at, self._fresh_for = now, _fresh_for(standing)
        return self


def _fresh_for(standing: Standing) -> timedelta:
    limits = (standing.limits.runs_per_month, standing.limits.planner_tokens_per_month)
    return UNLIMITED if limits == (None, None) else LIMITED


TENANTS = 10_000
"""So many are remembered."""
ALLOWED = QuotaAnswer()


class CountedQuota:
    """Holds tenants to their limits of runs and planner tokens a month.

    The counters are read at most once a second, and what this process has allowed is
    added on top of them until it is counted there. So a limit is exceeded by no more
    than what other processes allow before it is read again.
    """

    def __init__(self, store: TenantStore, clock: Clock, telemetry: Telemetry | None = None) -> None:
        self._store = store
        self._clock = clock
        self._telemetry = telemetry
        self._accounts: OrderedDict[str, Account] = OrderedDict()
        self._reading = asyncio.Lock()

    async def check(self, requests: Sequence[QuotaRequest]) -> list[QuotaAnswer]:
        """Answer all requests, in their order; what is allowed counts as spent."""
        now = self._clock.now()
        accounts = await self._known({request.tenant_id for request in requests}, now)
        refused = QuotaAnswer(next_month(now))
        return [
            ALLOWED if accounts[tenant_id].allows(kind, cost) else refused
            for kind, tenant_id, cost in requests
        ]

    async def _known(self, tenant_ids: Iterable[str], now: datetime) -> Mapping[str, Account]:
        """The accounts of these tenants, all of them fresh."""
        month = month_of(now)
        while self._stale(tenant_ids, month, now):
            async with self._reading:
                await self._read(self._stale(tenant_ids, month, now), month, now)
        known = {tenant_id: self._accounts[tenant_id] for tenant_id in tenant_ids}
        self._forget_others(known)
        return known

    async def _read(self, stale: Collection[str], month: str, now: datetime) -> None:
        standings = await self._store.standings(stale, month) if stale else {}
        for tenant_id, standing in standings.items():
            self._tell(tenant_id, standing, month)
            before = self._accounts.get(tenant_id)
            self._accounts[tenant_id] = (
                Account(standing, month, now) if before is None else before.read(standing, month, now)
            )

    def _tell(self, tenant_id: str, standing: Standing, month: str) -> None:
        """Tell of limits that come near; whoever listens tells people once."""
        if self._telemetry is None:
            return
        for resource, spent, limit in standing.levels():
            if quota_level(spent, limit) is not None:
                about = {"tenant_id": tenant_id, "resource": resource, "month": month}
                self._telemetry.emit(QUOTA_SPENT, {"spent": spent, "limit": limit}, about)

    def _stale(self, tenant_ids: Iterable[str], month: str, now: datetime) -> list[str]:
        return [
            tenant_id
            for tenant_id in tenant_ids
            if (account := self._accounts.get(tenant_id)) is None or not account.fresh(month, now)
        ]

    def _forget_others(self, used: Iterable[str]) -> None:
        """Forget those that were not used for longest, when there are too many."""
        for tenant_id in used:
            self._accounts.move_to_end(tenant_id)
        while len(self._accounts) > TENANTS:
            self._accounts.popitem(last=False)
