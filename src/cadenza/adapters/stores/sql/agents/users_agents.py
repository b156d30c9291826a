"""Users and agents, and all that goes when one is removed."""

from collections.abc import Sequence
from datetime import date
from typing import Any

import orjson

from cadenza.adapters.stores.common import not_found
from cadenza.adapters.stores.sql.database import KEYS, NOTIFY, Connection, Database
from cadenza.adapters.stores.sql.given_rows import beginning_with
from cadenza.adapters.stores.sql.monitoring.conditions import DROP_MESSAGES
from cadenza.adapters.stores.sql.rows import Read, Row, document
from cadenza.adapters.stores.sql.scheduling.endpoints import LOCK_TENANT, EndpointTables
from cadenza.adapters.stores.sql.scheduling.labels_and_uses import drop_uses
from cadenza.domain.agents.users import Agent, AgentKey, Runtime, User, UserKey, agent_target
from cadenza.domain.daily.keys import DAILY
from cadenza.domain.monitoring.alert import about_endpoint
from cadenza.domain.monitoring.condition import endpoint_condition
from cadenza.domain.scheduling.target import HttpTarget
from cadenza.ports.access import user_reply_prefix
from cadenza.ports.agents import AgentUsage
from cadenza.ports.catalog import FIRST_PAGE, Page

USER = "tenant_id, id, timezone, created_at"
AGENT = "tenant_id, id, name, instructions, model, runtime, target, created_at"
PUT_USER = f"""
INSERT INTO users ({USER}) VALUES ($1, $2, $3, $4)
ON CONFLICT (tenant_id, id) DO UPDATE SET timezone = excluded.timezone RETURNING {USER}
"""
GET_USER = f"SELECT {USER} FROM users WHERE tenant_id = $1 AND id = $2"
LOCK_USER = f"{GET_USER} FOR NO KEY UPDATE"
LIST_USERS = f"SELECT {USER} FROM users WHERE tenant_id = $1 AND id > $2 ORDER BY id LIMIT $3"
REMOVE_USER = "DELETE FROM users WHERE tenant_id = $1 AND id = $2 RETURNING id"
PUT_AGENT = f"""
INSERT INTO agents ({AGENT}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (tenant_id, id) DO UPDATE
SET name = excluded.name, instructions = excluded.instructions, model = excluded.model,
    runtime = excluded.runtime, target = excluded.target RETURNING {AGENT}
"""
GET_AGENT = f"SELECT {AGENT} FROM agents WHERE tenant_id = $1 AND id = $2"
LIST_AGENTS = f"SELECT {AGENT} FROM agents WHERE tenant_id = $1 AND id > $2 ORDER BY id LIMIT $3"
REMOVE_AGENT = "DELETE FROM agents WHERE tenant_id = $1 AND id = $2 RETURNING id"
SPENT_BY_USER = "SELECT fires, tokens FROM agent_usage WHERE tenant_id = $1 AND day = $2 AND user_id = $3"
SPENT_BY_TENANT = """
SELECT coalesce(sum(fires), 0)::bigint, coalesce(sum(tokens), 0)::bigint
FROM agent_usage WHERE tenant_id = $1 AND day = $2
"""

ENDPOINTS_OF_USER = "SELECT id FROM endpoints WHERE tenant_id = $1 AND user_id = $2 ORDER BY id"
ENDPOINTS_OF_AGENT = "SELECT id FROM endpoints WHERE tenant_id = $1 AND agent_id = $2 ORDER BY id"
REMOVE_REPLIES = "DELETE FROM replies WHERE tenant_id = $1 AND key >= $2 AND key < $3"
REMOVE_ALERTS = "DELETE FROM alerts WHERE key >= $1 AND key < $2 AND (facts ->> 'endpoint_id') = $3"
REMOVE_CONDITION = "DELETE FROM alert_conditions WHERE tenant_id = $1 AND id = $2"
TABLES_OF_ENDPOINT = ("endpoint_states", "runs", "notes")
TABLES_OF_USER = ("daily_users", "daily_verdicts", "daily_gaps")
"""Those without a foreign key; from all others the database deletes by itself."""
REMOVE_DAILY = {
    table: f"""
DELETE FROM {table} WHERE tenant_id = $1 AND user_id = $2
    AND programme_id IN (SELECT $3 UNION ALL SELECT id FROM daily_programmes WHERE tenant_id = $1)
"""
    for table in TABLES_OF_USER
}
"""By the key, in which the programme comes before the user."""


class SqlUsers:
    """Users and what their turns cost."""

    def __init__(self, database: Database, endpoint_tables: EndpointTables) -> None:
        self._database = database
        self._endpoint_tables = endpoint_tables

    async def put_user(self, user: User) -> User:
        row = (user.tenant_id, user.id, user.timezone, user.created_at)
        (written,) = await self._database.ask(PUT_USER, *row)
        return _read_user(written, self._database.read_moment)

    async def user(self, key: UserKey) -> User:
        for row in await self._database.read(GET_USER, *key):
            return _read_user(row, self._database.read_moment)
        raise not_found("user", key.id)

    async def users(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[User]:
        rows = await self._database.read(LIST_USERS, tenant_id, page.after or "", page.limit)
        return [_read_user(row, self._database.read_moment) for row in rows]

    async def remove_user(self, key: UserKey) -> None:
        async def work(connection: Connection) -> None:
            await connection.fetch(LOCK_TENANT, key.tenant_id)
            rows = await connection.fetch(ENDPOINTS_OF_USER, *key)
            await _remove_endpoints(
                connection, self._endpoint_tables, key.tenant_id, [row[0] for row in rows]
            )
            if not await connection.fetch(REMOVE_USER, *key):
                raise not_found("user", key.id)
            for table in TABLES_OF_USER:
                await connection.execute(REMOVE_DAILY[table], *key, DAILY)
            await connection.execute(
                REMOVE_REPLIES, key.tenant_id, *beginning_with(user_reply_prefix(key.id))
            )
            await connection.fetch(NOTIFY, KEYS)

        await self._database.write(work)

    async def usage_of_user(self, key: UserKey, day: date) -> AgentUsage:
        for row in await self._database.read(SPENT_BY_USER, key.tenant_id, day.isoformat(), key.id):
            return AgentUsage(*row)
        return AgentUsage()

    async def usage_of_users(self, tenant_id: str, day: date) -> AgentUsage:
        (row,) = await self._database.read(SPENT_BY_TENANT, tenant_id, day.isoformat())
        return AgentUsage(*row)


class SqlAgents:
    """Agents."""

    def __init__(self, database: Database, tables: EndpointTables) -> None:
        self._database = database
        self._endpoint_tables = tables

    async def put_agent(self, agent: Agent) -> Agent:
        (written,) = await self._database.ask(PUT_AGENT, *_agent_row(agent))
        return _read_agent(written, self._database.read_moment)

    async def agent(self, key: AgentKey) -> Agent:
        for row in await self._database.read(GET_AGENT, *key):
            return _read_agent(row, self._database.read_moment)
        raise not_found("agent", key.id)

    async def agents(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[Agent]:
        rows = await self._database.read(LIST_AGENTS, tenant_id, page.after or "", page.limit)
        return [_read_agent(row, self._database.read_moment) for row in rows]

    async def remove_agent(self, key: AgentKey) -> None:
        async def work(connection: Connection) -> None:
            await connection.fetch(LOCK_TENANT, key.tenant_id)
            rows = await connection.fetch(ENDPOINTS_OF_AGENT, *key)
            await _remove_endpoints(
                connection, self._endpoint_tables, key.tenant_id, [row[0] for row in rows]
            )
            if not await connection.fetch(REMOVE_AGENT, *key):
                raise not_found("agent", key.id)

        await self._database.write(work)


def _read_user(row: Row, read: Read) -> User:
    tenant_id, id_, timezone, created_at = row
    return User(tenant_id=tenant_id, id=id_, timezone=timezone, created_at=read(created_at))


def _agent_row(agent: Agent) -> tuple[Any, ...]:
    """The columns `AGENT`."""
    named = (agent.tenant_id, agent.id, agent.name, agent.instructions, agent.model)
    target = None if agent.target is None else document(_write_target(agent.target))
    return (*named, agent.runtime.value, target, agent.created_at)


def _write_target(target: HttpTarget) -> dict[str, Any]:
    return {"url": target.url, "headers": dict(target.headers), "signing": list(target.signing)}


def _read_agent(row: Row, read: Read) -> Agent:
    tenant_id, id_, name, instructions, model, runtime, target, created_at = row
    return Agent(
        tenant_id=tenant_id,
        id=id_,
        name=name,
        instructions=instructions,
        model=model,
        runtime=Runtime(runtime),
        target=None if target is None else agent_target(**orjson.loads(target)),
        created_at=read(created_at),
    )


async def _remove_endpoints(
    connection: Connection, tables: EndpointTables, tenant_id: str, ids: Sequence[str]
) -> None:
    """Delete endpoints with all that belongs to them; first they are locked, as by all others."""
    await tables.locked(connection, tenant_id, ids)
    for table in TABLES_OF_ENDPOINT:
        statement = f"DELETE FROM {table} WHERE tenant_id = $1 AND endpoint_id = ANY ($2::text[])"
        await connection.execute(statement, tenant_id, ids)
    alerts = [(*beginning_with(about_endpoint(tenant_id, id_)), id_) for id_ in ids]
    await connection.executemany(REMOVE_ALERTS, alerts)
    conditions = [endpoint_condition(tenant_id, id_) for id_ in ids]
    await connection.executemany(REMOVE_CONDITION, conditions)
    await connection.executemany(DROP_MESSAGES, conditions)
    await drop_uses(connection, tenant_id, "endpoint", ids)
    statement = "DELETE FROM endpoints WHERE tenant_id = $1 AND id = ANY ($2::text[])"
    await connection.execute(statement, tenant_id, ids)
