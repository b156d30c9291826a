"""Users, agents and the schedules of users, in PostgreSQL."""

from collections.abc import Sequence
from datetime import date
from functools import partial

from cadenza.adapters.stores.common import missing
from cadenza.adapters.stores.postgres.arrays import as_it_is
from cadenza.adapters.stores.postgres.catalog_statements import HOLD_TENANT, JOIN_TENANT
from cadenza.adapters.stores.postgres.endpoints import add, locked
from cadenza.adapters.stores.postgres.pool import Connection, PostgresPool
from cadenza.adapters.stores.postgres.statements import GET
from cadenza.adapters.stores.sql.agent_rows import (
    alerts_of,
    read_agent,
    read_user,
    replies_of,
    write_agent,
    write_user,
)
from cadenza.adapters.stores.sql.agent_statements import BELONGINGS, OF_AGENT, OF_USER
from cadenza.adapters.stores.sql.agent_statements import POSTGRES as SQL
from cadenza.adapters.stores.sql.rows import read_endpoint
from cadenza.domain.agents.users import Agent, AgentKey, User, UserKey
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.ports.agents import AgentSpent, Decide
from cadenza.ports.catalog import FIRST_PAGE, Page

ALL = 2**31


class PostgresPeople:
    """Everybody who talks."""

    _pool: PostgresPool

    async def put_user(self, user: User) -> User:
        (row,) = await self._pool.ask(SQL.put_user, *write_user(user))
        return read_user(row, as_it_is)

    async def user(self, key: UserKey) -> User:
        for row in await self._pool.ask(SQL.get_user, *key):
            return read_user(row, as_it_is)
        raise missing("user", key.id)

    async def users(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[User]:
        rows = await self._pool.ask(SQL.users, tenant_id, page.after or "", page.limit)
        return [read_user(row, as_it_is) for row in rows]

    async def remove_user(self, key: UserKey) -> None:
        await self._pool.write(partial(_remove_user, key=key))

    async def spent_by_user(self, key: UserKey, day: date) -> AgentSpent:
        for row in await self._pool.ask(SQL.spent_by_user, key.tenant_id, day.isoformat(), key.id):
            return AgentSpent(*row)
        return AgentSpent()

    async def spent_by_users(self, tenant_id: str, day: date) -> AgentSpent:
        (row,) = await self._pool.ask(SQL.spent_by_tenant, tenant_id, day.isoformat())
        return AgentSpent(*row)

    async def put_agent(self, agent: Agent) -> Agent:
        (row,) = await self._pool.ask(SQL.put_agent, *write_agent(agent))
        return read_agent(row, as_it_is)

    async def agent(self, key: AgentKey) -> Agent:
        for row in await self._pool.ask(SQL.get_agent, *key):
            return read_agent(row, as_it_is)
        raise missing("agent", key.id)

    async def agents(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[Agent]:
        rows = await self._pool.ask(SQL.agents, tenant_id, page.after or "", page.limit)
        return [read_agent(row, as_it_is) for row in rows]

    async def remove_agent(self, key: AgentKey) -> None:
        await self._pool.write(partial(_remove_agent, key=key))

    async def add_schedule(self, user: UserKey, decide: Decide) -> Endpoint:
        return await self._pool.write(partial(_add_schedule, user=user, decide=decide))

    async def schedules(
        self, user: UserKey, *, active_only: bool = True, page: Page = FIRST_PAGE
    ) -> list[Endpoint]:
        rows = await self._pool.ask(SQL.schedules, *user, page.after or "", active_only, page.limit)
        return [read_endpoint(row, as_it_is) for row in rows]


async def _add_schedule(connection: Connection, user: UserKey, decide: Decide) -> Endpoint:
    await connection.fetch(JOIN_TENANT, user.tenant_id)
    if not await connection.fetch(SQL.hold_user, *user):
        raise missing("user", user.id)
    rows = await connection.fetch(SQL.schedules, *user, "", True, ALL)  # noqa: FBT003 - By place, as all are.
    active = {one.key: one for one in (read_endpoint(row, as_it_is) for row in rows)}
    decided = decide(list(active.values()))
    if decided.key in active:
        return active[decided.key]
    await add(connection, decided)
    row = await connection.fetchrow(GET, *decided.key)
    assert row is not None, "it was just added"
    return read_endpoint(row, as_it_is)


async def _remove_user(connection: Connection, key: UserKey) -> None:
    await connection.fetch(HOLD_TENANT, key.tenant_id)
    found = await connection.fetch(SQL.of_user, *key)
    await _drop_endpoints(connection, key.tenant_id, [row[0] for row in found])
    if not await connection.fetch("DELETE FROM users WHERE tenant_id = $1 AND id = $2 RETURNING id", *key):
        raise missing("user", key.id)
    for table in OF_USER:
        await connection.execute(f"DELETE FROM {table} WHERE tenant_id = $1 AND user_id = $2", *key)
    await connection.execute(SQL.forget_replies_of, *replies_of(key))


async def _remove_agent(connection: Connection, key: AgentKey) -> None:
    await connection.fetch(HOLD_TENANT, key.tenant_id)
    found = await connection.fetch(SQL.of_agent, *key)
    await _drop_endpoints(connection, key.tenant_id, [row[0] for row in found])
    if not await connection.fetch("DELETE FROM agents WHERE tenant_id = $1 AND id = $2 RETURNING id", *key):
        raise missing("agent", key.id)
    for table in OF_AGENT:
        await connection.execute(f"DELETE FROM {table} WHERE tenant_id = $1 AND agent_id = $2", *key)


async def _drop_endpoints(connection: Connection, tenant_id: str, ids: Sequence[str]) -> None:
    """Forget endpoints as if they had never been; first they are locked, as by all others."""
    await locked(connection, tenant_id, ids)
    for table in BELONGINGS:
        statement = f"DELETE FROM {table} WHERE tenant_id = $1 AND endpoint_id = ANY ($2::text[])"
        await connection.execute(statement, tenant_id, ids)
    await connection.executemany(SQL.forget_alerts_of, [alerts_of(tenant_id, id_) for id_ in ids])
    await connection.execute(
        "DELETE FROM endpoints WHERE tenant_id = $1 AND id = ANY ($2::text[])", tenant_id, ids
    )
