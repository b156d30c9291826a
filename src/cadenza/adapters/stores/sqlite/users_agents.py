"""Users, agents and the schedules of users, in a SQLite file."""

import sqlite3
from collections.abc import Iterable
from datetime import date
from functools import partial
from typing import Any

from cadenza.adapters.stores.common import missing
from cadenza.adapters.stores.memory.wakeup import Belfry
from cadenza.adapters.stores.sql.agent_rows import (
    alerts_of,
    read_agent,
    read_user,
    replies_of,
    write_agent,
    write_user,
)
from cadenza.adapters.stores.sql.agent_statements import BELONGINGS, OF_AGENT, OF_USER
from cadenza.adapters.stores.sql.agent_statements import SQLITE as SQL
from cadenza.adapters.stores.sql.rows import from_micros, read_endpoint
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.endpoints import add, get
from cadenza.adapters.stores.sqlite.settle import in_micros
from cadenza.domain.agents.users import Agent, AgentKey, User, UserKey
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.ports.agents import AgentSpent, Decide
from cadenza.ports.catalog import FIRST_PAGE, Page

ALL = 2**31


class SqlitePeople:
    """Everybody who talks."""

    _file: SqliteFile
    _belfry: Belfry

    async def put_user(self, user: User) -> User:
        row = in_micros(write_user(user))
        kept = await self._file.write(lambda file: file.execute(SQL.put_user, row).fetchone())
        return read_user(kept, from_micros)

    async def user(self, key: UserKey) -> User:
        row = await self._file.read(lambda file: file.execute(SQL.get_user, key).fetchone())
        if row is None:
            raise missing("user", key.id)
        return read_user(row, from_micros)

    async def users(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[User]:
        rows = await self._page(SQL.users, tenant_id, page)
        return [read_user(row, from_micros) for row in rows]

    async def remove_user(self, key: UserKey) -> None:
        await self._file.write(partial(_remove_user, key=key))

    async def spent_by_user(self, key: UserKey, day: date) -> AgentSpent:
        asked = (key.tenant_id, day.isoformat(), key.id)
        row = await self._file.read(lambda file: file.execute(SQL.spent_by_user, asked).fetchone())
        return AgentSpent(*(row or (0, 0)))

    async def spent_by_users(self, tenant_id: str, day: date) -> AgentSpent:
        asked = (tenant_id, day.isoformat())
        return AgentSpent(
            *await self._file.read(lambda file: file.execute(SQL.spent_by_tenant, asked).fetchone())
        )

    async def put_agent(self, agent: Agent) -> Agent:
        row = in_micros(write_agent(agent))
        kept = await self._file.write(lambda file: file.execute(SQL.put_agent, row).fetchone())
        return read_agent(kept, from_micros)

    async def agent(self, key: AgentKey) -> Agent:
        row = await self._file.read(lambda file: file.execute(SQL.get_agent, key).fetchone())
        if row is None:
            raise missing("agent", key.id)
        return read_agent(row, from_micros)

    async def agents(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[Agent]:
        rows = await self._page(SQL.agents, tenant_id, page)
        return [read_agent(row, from_micros) for row in rows]

    async def remove_agent(self, key: AgentKey) -> None:
        await self._file.write(partial(_remove_agent, key=key))

    async def add_schedule(self, user: UserKey, decide: Decide) -> Endpoint:
        kept = await self._file.write(partial(_add_schedule, user=user, decide=decide))
        self._belfry.ring()
        return kept

    async def schedules(
        self, user: UserKey, *, active_only: bool = True, page: Page = FIRST_PAGE
    ) -> list[Endpoint]:
        return await self._file.read(partial(_schedules, user=user, active_only=active_only, page=page))

    async def _page(self, statement: str, tenant_id: str, page: Page) -> list[Any]:
        asked = (tenant_id, page.after or "", page.limit)
        return await self._file.read(lambda file: file.execute(statement, asked).fetchall())


def _schedules(file: sqlite3.Connection, user: UserKey, *, active_only: bool, page: Page) -> list[Endpoint]:
    rows = file.execute(SQL.schedules, (*user, page.after or "", active_only, page.limit)).fetchall()
    return [read_endpoint(row, from_micros) for row in rows]


def _add_schedule(file: sqlite3.Connection, user: UserKey, decide: Decide) -> Endpoint:
    if file.execute(SQL.get_user, user).fetchone() is None:
        raise missing("user", user.id)
    active = {one.key: one for one in _schedules(file, user, active_only=True, page=Page(ALL))}
    decided = decide(list(active.values()))
    if decided.key in active:
        return active[decided.key]
    add(file, decided)
    return get(file, decided.key)


def _remove_user(file: sqlite3.Connection, key: UserKey) -> None:
    if file.execute(SQL.get_user, key).fetchone() is None:
        raise missing("user", key.id)
    _drop_endpoints(file, key.tenant_id, [row[0] for row in file.execute(SQL.of_user, key)])
    for table in OF_USER:
        file.execute(f"DELETE FROM {table} WHERE tenant_id = ? AND user_id = ?", key)
    file.execute(SQL.forget_replies_of, replies_of(key))
    file.execute("DELETE FROM users WHERE tenant_id = ? AND id = ?", key)


def _remove_agent(file: sqlite3.Connection, key: AgentKey) -> None:
    if file.execute(SQL.get_agent, key).fetchone() is None:
        raise missing("agent", key.id)
    _drop_endpoints(file, key.tenant_id, [row[0] for row in file.execute(SQL.of_agent, key)])
    for table in OF_AGENT:
        file.execute(f"DELETE FROM {table} WHERE tenant_id = ? AND agent_id = ?", key)
    file.execute("DELETE FROM agents WHERE tenant_id = ? AND id = ?", key)


def _drop_endpoints(file: sqlite3.Connection, tenant_id: str, ids: Iterable[str]) -> None:
    """Forget endpoints as if they had never been."""
    rows = [(tenant_id, id_) for id_ in ids]
    for table in BELONGINGS:
        file.executemany(f"DELETE FROM {table} WHERE tenant_id = ? AND endpoint_id = ?", rows)
    file.executemany(SQL.forget_alerts_of, [alerts_of(*row) for row in rows])
    file.executemany("DELETE FROM endpoints WHERE tenant_id = ? AND id = ?", rows)
