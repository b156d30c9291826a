"""Monthly quotas of tenants, counted locally and read from the store at most once a second."""

import asyncio
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from cadenza.domain.access.tenant import QuotaUsage, month_of, next_month
from cadenza.domain.monitoring.alert import quota_level
from cadenza.ports.access import QuotaAnswer, QuotaKind, QuotaRequest, TenantStore
from cadenza.ports.clock import Clock
from cadenza.ports.telemetry import QUOTA_SPENT, Telemetry

CACHED = timedelta(seconds=1)
"""For how long the usage of a tenant with a limit is cached."""
CACHED_UNLIMITED = timedelta(seconds=10)
GENERATION = timedelta(minutes=1)


class QuotaCounter:
    """One kind of usage: its limit, the stored count, and what was allowed and is not counted yet.

    What was allowed is counted when the run ends. Until the stored count has grown by
    as much, it is added on top; what is not counted within two generations is given up.
    """

    __slots__ = ("_counted", "_earlier", "_lately", "_limit")

    def __init__(self, limit: int | None, counted: int) -> None:
        self._limit = limit
        self._counted = counted
        self._earlier = self._lately = 0

    def allows(self, cost: int) -> bool:
        """Whether this much may be used; if so, it counts as used."""
        if self._limit is None:
            return True
        if self._counted + self._earlier + self._lately + cost > self._limit:
            return False
        self._lately += cost
        return True

    def read(self, limit: int | None, counted: int, *, generations: int) -> None:
        """Take the newly read count, and give up what was allowed too long ago."""
        grown = max(0, counted - self._counted)
        self._limit, self._counted = limit, counted
        self._lately = max(0, self._lately - max(0, grown - self._earlier))
        self._earlier = max(0, self._earlier - grown)
        if generations:
            self._earlier, self._lately = (self._lately if generations == 1 else 0), 0


class TenantQuota:
    """The counters of a tenant in one month."""

    def __init__(self, usage: QuotaUsage, month: str, now: datetime) -> None:
        limits, spent = usage
        self._month = month
        self._read_at = self._began_at = now
        self._counters = {
            QuotaKind.ENDPOINT: QuotaCounter(limits.runs_per_month, spent.runs),
            QuotaKind.AI: QuotaCounter(limits.planner_tokens_per_month, spent.planner_tokens),
        }
        self._fresh_for = _fresh_for(usage)

    def allows(self, kind: QuotaKind, cost: int) -> bool:
        """Whether this much may be used; if so, it counts as used."""
        return self._counters[kind].allows(cost)

    def fresh(self, month: str, now: datetime) -> bool:
        """Whether the cached usage is still valid."""
        return self._month == month and abs(now - self._read_at) < self._fresh_for

    def read(self, usage: QuotaUsage, month: str, now: datetime) -> "TenantQuota":
        """The quota after a new reading; a new month starts from zero."""
        if month != self._month:
            return TenantQuota(usage, month, now)
        limits, spent = usage
        generations = max(0, (now - self._began_at) // GENERATION)
        if generations:
            self._began_at = now
        self._counters[QuotaKind.ENDPOINT].read(limits.runs_per_month, spent.runs, generations=generations)
        self._counters[QuotaKind.AI].read(
            limits.planner_tokens_per_month, spent.planner_tokens, generations=generations
        )
        self._read_at, self._fresh_for = now, _fresh_for(usage)
        return self


def _fresh_for(usage: QuotaUsage) -> timedelta:
    limits = (usage.limits.runs_per_month, usage.limits.planner_tokens_per_month)
    return CACHED_UNLIMITED if limits == (None, None) else CACHED


TENANTS = 10_000
"""Tenants whose usage is cached."""
ALLOWED = QuotaAnswer()


class CountedQuota:
    """Enforces the monthly limits of runs and planner tokens.

    The stored counts are read at most once a second, and what this process has allowed
    is added on top until it is counted there. So a limit is exceeded by no more than
    what other processes allow between two readings.
    """

    def __init__(self, store: TenantStore, clock: Clock, telemetry: Telemetry | None = None) -> None:
        self._store = store
        self._clock = clock
        self._telemetry = telemetry
        self._quotas: OrderedDict[str, TenantQuota] = OrderedDict()
        self._reading = asyncio.Lock()

    async def check(self, requests: Sequence[QuotaRequest]) -> list[QuotaAnswer]:
        """Answer all requests, in their order; what is allowed counts as spent."""
        now = self._clock.now()
        quotas = await self._fresh({request.tenant_id for request in requests}, now)
        refused = QuotaAnswer(next_month(now))
        return [
            ALLOWED if quotas[tenant_id].allows(kind, cost) else refused for kind, tenant_id, cost in requests
        ]

    async def _fresh(self, tenant_ids: Iterable[str], now: datetime) -> Mapping[str, TenantQuota]:
        """The quotas of these tenants, read again where the cache has expired."""
        month = month_of(now)
        while self._stale(tenant_ids, month, now):
            async with self._reading:
                await self._read(self._stale(tenant_ids, month, now), month, now)
        found = {tenant_id: self._quotas[tenant_id] for tenant_id in tenant_ids}
        self._drop_least_used(found)
        return found

    async def _read(self, stale: Collection[str], month: str, now: datetime) -> None:
        quota_usage = await self._store.quota_usage(stale, month) if stale else {}
        for tenant_id, usage in quota_usage.items():
            self._report_levels(tenant_id, usage, month)
            before = self._quotas.get(tenant_id)
            self._quotas[tenant_id] = (
                TenantQuota(usage, month, now) if before is None else before.read(usage, month, now)
            )

    def _report_levels(self, tenant_id: str, usage: QuotaUsage, month: str) -> None:
        """Emit an event for each limit whose alert level is reached; its subscriber alerts once."""
        if self._telemetry is None:
            return
        for resource, spent, limit in usage.limited():
            if quota_level(spent, limit) is not None:
                about = {"tenant_id": tenant_id, "resource": resource, "month": month}
                self._telemetry.emit(QUOTA_SPENT, {"spent": spent, "limit": limit}, about)

    def _stale(self, tenant_ids: Iterable[str], month: str, now: datetime) -> list[str]:
        return [
            tenant_id
            for tenant_id in tenant_ids
            if (quota := self._quotas.get(tenant_id)) is None or not quota.fresh(month, now)
        ]

    def _drop_least_used(self, used: Iterable[str]) -> None:
        """Drop the least recently used, when there are too many."""
        for tenant_id in used:
            self._quotas.move_to_end(tenant_id)
        while len(self._quotas) > TENANTS:
            self._quotas.popitem(last=False)
