"""Limits of runs: written by their tenants, with what is in use of each."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from cadenza.adapters.stores.common import no_limit, read_limited_by, summed_uses, too_many_limits
from cadenza.adapters.stores.sql.access.limit_rows import LIMIT, read_limit, write_limit
from cadenza.adapters.stores.sql.database import Connection, Database, wake_workers
from cadenza.adapters.stores.sql.scheduling.endpoints import LOCK_TENANT, EndpointTables
from cadenza.adapters.stores.sql.scheduling.functions import REQUIREMENTS_PRESENT
from cadenza.domain.access.run_limit import (
    MOST_LIMITS,
    WINDOW,
    LimitKind,
    LimitUse,
    RunLimit,
    StartedRuns,
    limit_keys,
)
from cadenza.domain.scheduling.endpoint import Endpoint, evolve

COLUMNS = ", ".join(LIMIT)
LIMITS = f"SELECT {COLUMNS} FROM run_limits WHERE tenant_id = $1 ORDER BY kind, name"
COUNT = "SELECT count(*) FROM run_limits WHERE tenant_id = $1"
GET = f"SELECT {COLUMNS} FROM run_limits WHERE tenant_id = $1 AND kind = $2 AND name = $3 FOR UPDATE"
PUT = (
    f"INSERT INTO run_limits ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7)"
    " ON CONFLICT (tenant_id, kind, name) DO UPDATE SET"
    " max_in_flight = excluded.max_in_flight, max_per_minute = excluded.max_per_minute"
)
DROP = "DELETE FROM run_limits WHERE tenant_id = $1 AND kind = $2 AND name = $3"
OF_JOB = "SELECT id FROM endpoints WHERE tenant_id = $1 AND job_id = $2"
MENTIONING = "SELECT id FROM endpoints WHERE tenant_id = $1 AND lower(definition::text) LIKE $2"
"""Endpoints whose definition holds a text: more than those that are meant."""
UNDER = "SELECT endpoint_id FROM endpoint_states WHERE tenant_id = $1 AND limited_by LIKE $2"
IN_FLIGHT = (
    "SELECT limited_by, count(*) FROM endpoint_states"
    " WHERE tenant_id = $1 AND lease_token IS NOT NULL AND limited_by > '' GROUP BY limited_by"
)
STARTED = "SELECT kind, name, at, runs FROM limit_starts WHERE tenant_id = $1 AND at > $2 ORDER BY at"
WAITING = f"""{REQUIREMENTS_PRESENT}
SELECT s.limited_by, count(*), min(s.claimable_at) FROM present p
JOIN endpoint_states s ON s.requirement = p.requirement AND s.tenant_id = $1 AND s.limited_by > ''
WHERE s.claimable_at <= $2 GROUP BY s.limited_by
"""

KeysOf = Callable[[Endpoint], Iterable[str]]


class SqlLimits:
    """Limits. Each change locks the tenant first, so that no endpoint comes under one meanwhile."""

    def __init__(self, database: Database, endpoint_tables: EndpointTables) -> None:
        self._database = database
        self._endpoint_tables = endpoint_tables

    async def limits(self, tenant_id: str) -> list[RunLimit]:
        rows = await self._database.read(LIMITS, tenant_id)
        return [read_limit(row, self._database.read_moment) for row in rows]

    async def put_limit(self, limit: RunLimit) -> RunLimit | None:
        async def work(connection: Connection) -> RunLimit | None:
            await connection.fetch(LOCK_TENANT, limit.tenant_id)
            row = await connection.fetchrow(GET, limit.tenant_id, limit.kind.value, limit.name)
            if row is None and await connection.fetchval(COUNT, limit.tenant_id) >= MOST_LIMITS:
                raise too_many_limits()
            await connection.execute(PUT, *write_limit(limit))
            if row is None:
                await self._bring_under(connection, limit)
            await wake_workers(connection, [limit.tenant_id])
            return None if row is None else read_limit(row, self._database.read_moment)

        return await self._database.write(work)

    async def delete_limit(self, tenant_id: str, kind: LimitKind, name: str) -> RunLimit:
        async def work(connection: Connection) -> RunLimit:
            await connection.fetch(LOCK_TENANT, tenant_id)
            row = await connection.fetchrow(GET, tenant_id, kind.value, name)
            if row is None:
                raise no_limit(kind, name)
            limit = read_limit(row, self._database.read_moment)
            await connection.execute(DROP, tenant_id, kind.value, name)
            await self._set_free(connection, limit)
            await wake_workers(connection, [tenant_id])
            return limit

        return await self._database.write(work)

    async def uses(self, tenant_id: str, now: datetime) -> list[LimitUse]:
        read = self._database.read_moment
        limits = await self.limits(tenant_id)
        if not limits:
            return []
        in_flight = {row[0]: row[1] for row in await self._database.read(IN_FLIGHT, tenant_id)}
        waiting = await self._database.read(WAITING, tenant_id, now)
        started: dict[str, list[StartedRuns]] = defaultdict(list)
        for kind, name, at, runs in await self._database.read(STARTED, tenant_id, now - WINDOW):
            started[f"{kind}:{name}"].append(StartedRuns(read(at), runs))
        return summed_uses(
            limits,
            in_flight=((read_limited_by(keys), runs) for keys, runs in in_flight.items()),
            waiting=((read_limited_by(row[0]), row[1], read(row[2])) for row in waiting),
            started=started,
        )

    async def _bring_under(self, connection: Connection, limit: RunLimit) -> None:
        rows = await connection.fetch(*_mentioning(limit))
        await self._write(
            connection,
            limit,
            [row[0] for row in rows],
            lambda one: {*one.limited_by, limit.key} if limit.key in limit_keys(one) else one.limited_by,
        )

    async def _set_free(self, connection: Connection, limit: RunLimit) -> None:
        rows = await connection.fetch(UNDER, limit.tenant_id, f"%{limit.key}%")
        await self._write(
            connection, limit, [row[0] for row in rows], lambda one: {*one.limited_by} - {limit.key}
        )

    async def _write(self, connection: Connection, limit: RunLimit, ids: Sequence[str], keys: KeysOf) -> None:
        """Write endpoints whose limits are others now, under new versions."""
        endpoints = await self._endpoint_tables.locked(connection, limit.tenant_id, ids)
        after = [evolve(one, limited_by=tuple(sorted(keys(one)))) for one in endpoints]
        changed = [new for old, new in zip(endpoints, after, strict=True) if new.limited_by != old.limited_by]
        await self._endpoint_tables.write_states(connection, changed)


def _mentioning(limit: RunLimit) -> tuple[str, str, str]:
    """The statement that finds what a new limit may be about, and its values."""
    if limit.kind is LimitKind.JOB:
        return OF_JOB, limit.tenant_id, limit.name
    # SQLite knows small letters of ASCII alone.
    pattern = f"%{limit.name.lower()}%" if limit.name.isascii() else "%"
    return MENTIONING, limit.tenant_id, pattern
