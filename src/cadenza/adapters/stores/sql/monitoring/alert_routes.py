"""Alert routes in rows."""

from typing import Any

import orjson

from cadenza.adapters.stores.common import already_exists, not_found, same_route, too_many_routes
from cadenza.adapters.stores.sql.database import Connection, Database
from cadenza.adapters.stores.sql.rows import Read, Row
from cadenza.adapters.stores.sql.scheduling.endpoints import LOCK_TENANT
from cadenza.domain.channel import Channel, ChannelType
from cadenza.domain.monitoring.alert import AlertKind, Severity
from cadenza.domain.monitoring.alert_route import AlertRoute, RouteMatch
from cadenza.ports.alerting import RouteChange
from cadenza.ports.catalog import FIRST_PAGE, Page

ROUTE = "tenant_id, id, name, enabled, definition, created_at"
INSERT = f"INSERT INTO alert_routes ({ROUTE}) VALUES ($1, $2, $3, $4, $5, $6)"
ADD = f"{INSERT} ON CONFLICT DO NOTHING RETURNING id"
PUT = f"""
{INSERT} ON CONFLICT (tenant_id, id) DO UPDATE SET name = excluded.name, enabled = excluded.enabled,
    definition = excluded.definition, created_at = excluded.created_at
"""
GET = f"SELECT {ROUTE} FROM alert_routes WHERE tenant_id = $1 AND id = $2"
LIST = f"SELECT {ROUTE} FROM alert_routes WHERE tenant_id = $1 AND id > $2 ORDER BY id LIMIT $3"
OF_TENANTS = f"SELECT {ROUTE} FROM alert_routes WHERE tenant_id = ANY ($1::text[]) ORDER BY tenant_id, id"
COUNT = "SELECT count(*) FROM alert_routes WHERE tenant_id = $1"
REMOVE = "DELETE FROM alert_routes WHERE tenant_id = $1 AND id = $2 RETURNING id"
DROP_MESSAGES = "DELETE FROM alert_messages WHERE tenant_id = $1 AND route_id = $2"


class SqlAlertRoutes:
    """Routes of tenants; a change of one locks the tenant."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add_route(self, route: AlertRoute, *, most: int) -> None:
        async def work(connection: Connection) -> None:
            await connection.fetch(LOCK_TENANT, route.tenant_id)
            count = await connection.fetchval(COUNT, route.tenant_id)
            if not await connection.fetch(ADD, *write_route(route)):
                raise already_exists("alert route", route.id)
            if count >= most:
                raise too_many_routes(most)

        await self._database.write(work)

    async def route(self, tenant_id: str, route_id: str) -> AlertRoute:
        for row in await self._database.read(GET, tenant_id, route_id):
            return read_route(row, self._database.read_moment)
        raise not_found("alert route", route_id)

    async def routes(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[AlertRoute]:
        rows = await self._database.read(LIST, tenant_id, page.after or "", page.limit)
        return [read_route(row, self._database.read_moment) for row in rows]

    async def amend_route(self, tenant_id: str, route_id: str, change: RouteChange) -> AlertRoute:
        async def work(connection: Connection) -> AlertRoute:
            await connection.fetch(LOCK_TENANT, tenant_id)
            row = await connection.fetchrow(GET, tenant_id, route_id)
            if row is None:
                raise not_found("alert route", route_id)
            before = read_route(row, self._database.read_moment)
            after = same_route(before, change(before))
            await connection.execute(PUT, *write_route(after))
            return after

        return await self._database.write(work)

    async def remove_route(self, tenant_id: str, route_id: str) -> None:
        async def work(connection: Connection) -> None:
            await connection.fetch(LOCK_TENANT, tenant_id)
            if not await connection.fetch(REMOVE, tenant_id, route_id):
                raise not_found("alert route", route_id)
            await connection.execute(DROP_MESSAGES, tenant_id, route_id)

        await self._database.write(work)


def write_route(route: AlertRoute) -> tuple[Any, ...]:
    """The columns `ROUTE`."""
    definition = orjson.dumps({"match": route.match, "channel": route.channel}).decode()
    return (route.tenant_id, route.id, route.name, route.enabled, definition, route.created_at)


def read_route(row: Row, read: Read) -> AlertRoute:
    """The route of a row selected as `ROUTE`."""
    tenant_id, id_, name, enabled, definition, created_at = row
    document = orjson.loads(definition)
    match, channel = document["match"], document["channel"]
    return AlertRoute(
        tenant_id=tenant_id,
        id=id_,
        name=name,
        enabled=bool(enabled),
        match=RouteMatch(
            labels=match["labels"],
            job_ids=tuple(match["job_ids"]),
            kinds=tuple(map(AlertKind, match["kinds"])),
            severities=tuple(map(Severity, match["severities"])),
        ),
        channel=Channel(ChannelType(channel["type"]), channel["url"]),
        created_at=read(created_at),
    )
