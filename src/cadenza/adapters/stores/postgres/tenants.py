"""Tenants, their limits and their counters in PostgreSQL."""

from collections.abc import Collection, Mapping
from datetime import datetime

from cadenza.adapters.stores.postgres.catalog_statements import COUNT_LIVE_UP_TO
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.postgres.usage import SHARD
from cadenza.adapters.stores.sql.access_rows import read_limits, write_limits
from cadenza.domain.access.tenant import Spent, Standing, Tenant, month_of
from cadenza.ports.access import MonthSpent

PUT = """
INSERT INTO tenants (id, name, limits) VALUES ($1, $2, $3)
ON CONFLICT (id) DO UPDATE SET name = excluded.name, limits = excluded.limits
"""
GET = "SELECT name, limits FROM tenants WHERE id = $1"
STANDINGS = """
SELECT wanted.id, t.limits, u.runs, u.planner_tokens
FROM unnest($1::text[]) AS wanted (id) LEFT JOIN tenants t ON t.id = wanted.id
CROSS JOIN LATERAL (
    SELECT coalesce(sum(runs), 0)::bigint AS runs, coalesce(sum(planner_tokens), 0)::bigint AS planner_tokens
    FROM usage WHERE tenant_id = wanted.id AND month = $2
) AS u
"""
SPEND = f"""
INSERT INTO usage AS u (tenant_id, month, shard, runs, planner_tokens) VALUES ($1, $2, {SHARD}, 0, $3)
ON CONFLICT (tenant_id, month, shard) DO UPDATE
SET planner_tokens = u.planner_tokens + excluded.planner_tokens
"""
SPENDING = """
SELECT month, sum(runs)::bigint, sum(planner_tokens)::bigint FROM usage WHERE tenant_id = $1 GROUP BY month
HAVING sum(runs) > 0 OR sum(planner_tokens) > 0 ORDER BY month DESC LIMIT $2
"""


class PostgresTenants:
    """Owners, and what they have spent; each method is one statement."""

    _pool: PostgresPool

    async def put_tenant(self, tenant: Tenant) -> None:
        await self._pool.ask(PUT, tenant.id, tenant.name, write_limits(tenant.limits))

    async def tenant(self, tenant_id: str) -> Tenant:
        rows = await self._pool.ask(GET, tenant_id)
        name, limits = rows[0] if rows else (tenant_id, None)
        return Tenant(id=tenant_id, name=name, limits=read_limits(limits))

    async def standings(self, tenant_ids: Collection[str], month: str) -> Mapping[str, Standing]:
        rows = await self._pool.ask(STANDINGS, list(tenant_ids), month)
        return {row[0]: Standing(read_limits(row[1]), Spent(row[2], row[3])) for row in rows}

    async def spend_tokens(self, tenant_id: str, tokens: int, now: datetime) -> None:
        await self._pool.ask(SPEND, tenant_id, month_of(now), tokens)

    async def spending(self, tenant_id: str, months: int) -> list[MonthSpent]:
        rows = await self._pool.ask(SPENDING, tenant_id, months)
        return [MonthSpent(month, Spent(runs, tokens)) for month, runs, tokens in rows]

    async def count_endpoints(self, tenant_id: str, most: int) -> int:
        rows = await self._pool.ask(COUNT_LIVE_UP_TO, tenant_id, most)
        return int(rows[0][0])
