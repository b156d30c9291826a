"""Tenants, their limits, and counters of what they have spent."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

import orjson

from cadenza.adapters.stores.sql.database import Connection, Database
from cadenza.adapters.stores.sql.given_rows import columns_of
from cadenza.adapters.stores.sql.scheduling.endpoints import COUNT_LIVE_UP_TO
from cadenza.domain.access.tenant import (
    NO_LIMITS,
    Limits,
    MonthlyUsage,
    QuotaUsage,
    Tenant,
    charges,
    month_of,
)
from cadenza.domain.scheduling.settle import SettledRun
from cadenza.ports.access import UsageOfMonth

SHARD = "pg_backend_pid() % 16"
"""Which row of a tenant is counted in: sessions of PostgreSQL would queue for a single one."""
COUNT_RUNS = f"""
INSERT INTO usage AS u (tenant_id, month, shard, runs, planner_tokens)
SELECT tenant_id, month, {SHARD}, runs, 0
FROM unnest($1::text[], $2::text[], $3::bigint[]) AS counted (tenant_id, month, runs)
WHERE true ON CONFLICT (tenant_id, month, shard) DO UPDATE SET runs = u.runs + excluded.runs
"""
"""Parameters: tenants, months, and how many runs each is charged."""
PUT = """
INSERT INTO tenants (id, name, limits) VALUES ($1, $2, $3)
ON CONFLICT (id) DO UPDATE SET name = excluded.name, limits = excluded.limits
"""
GET = "SELECT name, limits FROM tenants WHERE id = $1"
_SPENT = "(SELECT coalesce(sum({}), 0) FROM usage WHERE tenant_id = wanted.id AND month = $2)::bigint"
STANDINGS = f"""
SELECT wanted.id, t.limits, {_SPENT.format("runs")}, {_SPENT.format("planner_tokens")}
FROM unnest($1::text[]) AS wanted (id) LEFT JOIN tenants t ON t.id = wanted.id
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


class SqlTenants:
    """Tenants and their usage; each method is one statement."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put_tenant(self, tenant: Tenant) -> None:
        limits = None if tenant.limits == NO_LIMITS else orjson.dumps(tenant.limits).decode()
        await self._database.ask(PUT, tenant.id, tenant.name, limits)

    async def tenant(self, tenant_id: str) -> Tenant:
        rows = await self._database.read(GET, tenant_id)
        name, limits = rows[0] if rows else (tenant_id, None)
        return Tenant(id=tenant_id, name=name, limits=_read_limits(limits))

    async def quota_usage(self, tenant_ids: Collection[str], month: str) -> Mapping[str, QuotaUsage]:
        rows = await self._database.read(STANDINGS, list(tenant_ids), month)
        return {row[0]: QuotaUsage(_read_limits(row[1]), MonthlyUsage(row[2], row[3])) for row in rows}

    async def spend_tokens(self, tenant_id: str, tokens: int, now: datetime) -> None:
        await self._database.ask(SPEND, tenant_id, month_of(now), tokens)

    async def usage_by_month(self, tenant_id: str, months: int) -> list[UsageOfMonth]:
        rows = await self._database.read(SPENDING, tenant_id, months)
        return [UsageOfMonth(month, MonthlyUsage(runs, tokens)) for month, runs, tokens in rows]

    async def count_endpoints(self, tenant_id: str, most: int) -> int:
        rows = await self._database.read(COUNT_LIVE_UP_TO, tenant_id, most)
        return int(rows[0][0])


def _read_limits(document: str | None) -> Limits:
    return NO_LIMITS if document is None else Limits(**orjson.loads(document))


async def count_runs(connection: Connection, settled: Iterable[SettledRun]) -> None:
    """Add the runs of a batch to what their tenants have spent, in the order of the tenants.

    Sessions that count in the same rows wait for the commit, so this comes last in a transaction.
    """
    counted = charges(settled)
    if counted:
        await connection.execute(COUNT_RUNS, *columns_of(counted))
