"""Owners, their limits, and what they have spent."""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import NamedTuple, Protocol

from cadenza.domain.access.tenant import Spent, Standing, Tenant


class MonthSpent(NamedTuple):
    """What a tenant spent in a month."""

    month: str
    spent: Spent


class TenantStore(Protocol):
    """Tenants and their counters. Runs are counted by `finalize`, in the commit that closes them."""

    async def put_tenant(self, tenant: Tenant) -> None:
        """Keep a tenant, new or changed."""
        ...

    async def tenant(self, tenant_id: str) -> Tenant:
        """The tenant; one that nobody has put is itself without limits."""
        ...

    async def standings(self, tenant_ids: Collection[str], month: str) -> Mapping[str, Standing]:
        """Limits and spending of several tenants in one month, in one round trip."""
        ...

    async def spend_tokens(self, tenant_id: str, tokens: int, now: datetime) -> None:
        """Count what a planner used."""
        ...

    async def spending(self, tenant_id: str, months: int) -> list[MonthSpent]:
        """The months in which something was spent, newest first."""
        ...

    async def count_endpoints(self, tenant_id: str, most: int) -> int:
        """How many live endpoints a tenant has; counted no further than `most`."""
        ...
