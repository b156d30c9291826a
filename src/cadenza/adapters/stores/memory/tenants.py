"""Tenants, their limits and their counters in dictionaries."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from itertools import islice
from threading import RLock

from cadenza.domain.access.tenant import Spent, Standing, Tenant, charges, month_of
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.settle import SettledRun
from cadenza.ports.access import MonthSpent

NOTHING = Spent()


class MemoryTenants:
    """Owners, and what they have spent."""

    _lock: RLock
    _endpoints: dict[EndpointKey, Endpoint]

    def __init__(self) -> None:
        super().__init__()
        self._tenants: dict[str, Tenant] = {}
        self._spent: dict[tuple[str, str], Spent] = {}

    async def put_tenant(self, tenant: Tenant) -> None:
        with self._lock:
            self._tenants[tenant.id] = tenant

    async def tenant(self, tenant_id: str) -> Tenant:
        with self._lock:
            return self._tenants.get(tenant_id) or Tenant(id=tenant_id, name=tenant_id)

    async def standings(self, tenant_ids: Collection[str], month: str) -> Mapping[str, Standing]:
        with self._lock:
            return {tenant_id: self._standing(tenant_id, month) for tenant_id in tenant_ids}

    async def spend_tokens(self, tenant_id: str, tokens: int, now: datetime) -> None:
        with self._lock:
            self._spend(tenant_id, month_of(now), tokens=tokens)

    async def spending(self, tenant_id: str, months: int) -> list[MonthSpent]:
        with self._lock:
            spent = [
                MonthSpent(month, spent)
                for (owner, month), spent in sorted(self._spent.items(), reverse=True)
                if owner == tenant_id and any(spent)
            ]
        return spent[:months]

    async def count_endpoints(self, tenant_id: str, most: int) -> int:
        with self._lock:
            endpoints = (one for one in self._endpoints.values() if one.tenant_id == tenant_id)
            return len(list(islice((one for one in endpoints if one.live), most)))

    def _count_runs(self, settled: Iterable[SettledRun]) -> None:
        """Charge runs to their tenants; who calls holds the lock."""
        for tenant_id, month, runs in charges(settled):
            self._spend(tenant_id, month, runs=runs)

    def _spend(self, tenant_id: str, month: str, *, runs: int = 0, tokens: int = 0) -> None:
        before = self._spent.get((tenant_id, month), NOTHING)
        self._spent[tenant_id, month] = Spent(before.runs + runs, before.planner_tokens + tokens)

    def _standing(self, tenant_id: str, month: str) -> Standing:
        spent = self._spent.get((tenant_id, month), NOTHING)
        tenant = self._tenants.get(tenant_id)
        return Standing(spent=spent) if tenant is None else Standing(tenant.limits, spent)
