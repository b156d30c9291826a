"""Which functions processes have declared, and the endpoints of those that none has."""

from collections.abc import Collection, Sequence
from datetime import datetime
from functools import partial

from cadenza.adapters.stores.sql.database import Connection, Database
from cadenza.adapters.stores.sql.given_rows import columns_of, parameter_table
from cadenza.adapters.stores.sql.rows import SELECT_ENDPOINT, read_endpoint
from cadenza.adapters.stores.sql.scheduling.endpoints import EndpointTables
from cadenza.domain.scheduling.abandon import all_requirements, function_of
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.steer import ChangedEndpoint, EndpointChange
from cadenza.domain.scheduling.target import CALLABLE, PROBE_CALLABLE

REQUIREMENTS_PRESENT = """WITH RECURSIVE present (requirement) AS (
    SELECT '' COLLATE "C" UNION ALL
    SELECT (SELECT requirement FROM endpoint_states WHERE requirement > p.requirement
        AND claimable_at IS NOT NULL ORDER BY requirement LIMIT 1)
    FROM present p WHERE p.requirement IS NOT NULL
)"""
"""A table `present` of the requirements of all that can be claimed, by jumping through the index."""

_FUNCTION = parameter_table("g", "name", "declared_at")
DECLARE = f"""
INSERT INTO functions (name, declared_at) SELECT g.name, g.declared_at FROM {_FUNCTION} WHERE true
ON CONFLICT (name) DO UPDATE SET declared_at = excluded.declared_at
"""
FIRST_FOUND = f"""
INSERT INTO functions (name, declared_at) SELECT g.name, g.declared_at FROM {_FUNCTION} WHERE true
ON CONFLICT DO NOTHING
"""
IN_USE = f"{REQUIREMENTS_PRESENT} SELECT requirement FROM present WHERE requirement > ''"
DECLARED = "SELECT name, declared_at FROM functions"
DECLARED_AT = "SELECT declared_at FROM functions WHERE name = $1"
RETIRED = f"""
{SELECT_ENDPOINT} WHERE s.next_source = '{Source.RETIRED.value}' AND s.requirement = ANY ($1::text[])
ORDER BY s.tenant_id, s.endpoint_id FOR UPDATE OF s, e
"""
WAITING = f"""
{SELECT_ENDPOINT} WHERE s.requirement = ANY ($1::text[]) AND s.claimable_at IS NOT NULL
LIMIT $2 FOR UPDATE OF s, e SKIP LOCKED
"""


class SqlFunctions:
    """Functions and when they were last declared, on both databases."""

    def __init__(self, database: Database, endpoint_tables: EndpointTables) -> None:
        self._database = database
        self._endpoint_tables = endpoint_tables

    async def declare(
        self, names: Collection[str], *, now: datetime, bring_back: EndpointChange
    ) -> list[ChangedEndpoint]:
        return await self._database.write(
            partial(self._declare, names=sorted(names), now=now, bring_back=bring_back)
        )

    async def retire(
        self, *, now: datetime, undeclared_since: datetime, limit: int, retire: EndpointChange
    ) -> list[ChangedEndpoint]:
        read = self._database.read_moment
        declared = {row[0]: read(row[1]) for row in await self._database.read(DECLARED)}
        required = [function_of(row[0]) for row in await self._database.read(IN_USE)]
        in_use = {name: declared.get(name) for name in required if name is not None}
        found = [name for name, declared_at in in_use.items() if declared_at is None]
        stale = [name for name, at in in_use.items() if at is not None and at < undeclared_since]
        if not found and not stale:
            return []
        work = partial(self._retire, found=found, stale=stale, now=now, limit=limit, retire=retire)
        return await self._database.write(work)

    async def declared_at(self, name: str) -> datetime | None:
        rows = await self._database.read(DECLARED_AT, name)
        return self._database.read_moment(rows[0][0]) if rows else None

    async def _declare(
        self, connection: Connection, names: list[str], now: datetime, bring_back: EndpointChange
    ) -> list[ChangedEndpoint]:
        if not names:
            return []
        await connection.execute(DECLARE, *columns_of([(name, now) for name in names]))
        return await self._amend(connection, RETIRED, names, change=bring_back)

    async def _retire(
        self,
        connection: Connection,
        *,
        found: list[str],
        stale: list[str],
        now: datetime,
        limit: int,
        retire: EndpointChange,
    ) -> list[ChangedEndpoint]:
        if found:
            await connection.execute(FIRST_FOUND, *columns_of([(name, now) for name in found]))
        return await self._amend(connection, WAITING, stale, limit, change=retire) if stale else []

    async def _amend(
        self,
        connection: Connection,
        statement: str,
        names: Sequence[str],
        *values: int,
        change: EndpointChange,
    ) -> list[ChangedEndpoint]:
        required = [f"{kind}{name}" for name in names for kind in (CALLABLE, PROBE_CALLABLE)]
        rows = await connection.fetch(statement, all_requirements(required), *values)
        before = [read_endpoint(row, self._database.read_moment) for row in rows]
        changed = [(endpoint, change(endpoint)) for endpoint in before]
        return await self._endpoint_tables.amend(connection, changed) if changed else []
