"""Tenants, their limits and their counters in a SQLite file."""

from collections.abc import Collection, Mapping
from datetime import datetime

import orjson

from cadenza.adapters.stores.sql.access_rows import read_limits, write_limits
from cadenza.adapters.stores.sqlite.catalog_statements import COUNT_LIVE_UP_TO
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.settle import COUNT, ONLY_SHARD
from cadenza.domain.access.tenant import Spent, Standing, Tenant, month_of
from cadenza.ports.access import MonthSpent

PUT = """
INSERT INTO tenants (id, name, limits) VALUES (?, ?, ?)
ON CONFLICT (id) DO UPDATE SET name = excluded.name, limits = excluded.limits
"""
GET = "SELECT name, limits FROM tenants WHERE id = ?"
STANDINGS = """
SELECT wanted.value, t.limits, coalesce(sum(u.runs), 0), coalesce(sum(u.planner_tokens), 0)
FROM json_each(?) AS wanted LEFT JOIN tenants t ON t.id = wanted.value
LEFT JOIN usage u ON u.tenant_id = wanted.value AND u.month = ?
GROUP BY wanted.value
"""
SPENDING = """
SELECT month, sum(runs), sum(planner_tokens) FROM usage WHERE tenant_id = ? GROUP BY month
HAVING sum(runs) > 0 OR sum(planner_tokens) > 0 ORDER BY month DESC LIMIT ?
"""


class SqliteTenants:
    """Owners, and what they have spent."""

    _file: SqliteFile

    async def put_tenant(self, tenant: Tenant) -> None:
        row = (tenant.id, tenant.name, write_limits(tenant.limits))
        await self._file.write(lambda file: file.execute(PUT, row))

    async def tenant(self, tenant_id: str) -> Tenant:
        row = await self._file.read(lambda file: file.execute(GET, (tenant_id,)).fetchone())
        name, limits = row or (tenant_id, None)
        return Tenant(id=tenant_id, name=name, limits=read_limits(limits))

    async def standings(self, tenant_ids: Collection[str], month: str) -> Mapping[str, Standing]:
        wanted = (orjson.dumps(list(tenant_ids)).decode(), month)
        rows = await self._file.read(lambda file: file.execute(STANDINGS, wanted).fetchall())
        return {row[0]: Standing(read_limits(row[1]), Spent(row[2], row[3])) for row in rows}

    async def spend_tokens(self, tenant_id: str, tokens: int, now: datetime) -> None:
        row = (tenant_id, month_of(now), ONLY_SHARD, 0, tokens)
        await self._file.write(lambda file: file.execute(COUNT, row))

    async def spending(self, tenant_id: str, months: int) -> list[MonthSpent]:
        rows = await self._file.read(lambda file: file.execute(SPENDING, (tenant_id, months)).fetchall())
        return [MonthSpent(month, Spent(runs, tokens)) for month, runs, tokens in rows]

    async def count_endpoints(self, tenant_id: str, most: int) -> int:
        row = await self._file.read(lambda file: file.execute(COUNT_LIVE_UP_TO, (tenant_id, most)).fetchone())
        return int(row[0])
