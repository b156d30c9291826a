"""A quota by what tenants have spent this month, which asks the store once in a while."""

import asyncio
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from cadenza.adapters.access.allowances import Account
from cadenza.domain.access.tenant import Standing, month_of, next_month
from cadenza.domain.monitoring.alert import reached
from cadenza.ports.access import QuotaAnswer, QuotaRequest, TenantStore
from cadenza.ports.clock import Clock
from cadenza.ports.telemetry import QUOTA_SPENT, Telemetry

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
            if reached(spent, limit) is not None:
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
