"""Users with a daily job, and their verdicts, in PostgreSQL."""

from collections.abc import Sequence
from datetime import date, datetime
from functools import partial
from typing import Any

from cadenza.adapters.stores.common import missing
from cadenza.adapters.stores.postgres import daily_statements as sql
from cadenza.adapters.stores.postgres.arrays import as_it_is
from cadenza.adapters.stores.postgres.pool import Connection, PostgresPool
from cadenza.adapters.stores.sql.daily_rows import (
    AFTER_ALL_DATES,
    read_gap,
    read_user,
    read_verdict,
    write_gap,
    write_user,
    write_verdict,
)
from cadenza.adapters.stores.sql.retention import DayForgetting
from cadenza.domain.agents.users import UserKey
from cadenza.domain.daily.user import DailyUser, Enrollment, Gap, Ruling, Verdict
from cadenza.ports.catalog import FIRST_PAGE, Page
from cadenza.ports.daily import Enroll, Owed, Rule


class PostgresDaily(DayForgetting):
    """Durable records of users, and the verdicts of their days."""

    _pool: PostgresPool

    async def enroll(self, wanted: Sequence[Enrollment], decide: Enroll) -> list[DailyUser]:
        return await self._pool.write(partial(_enroll, wanted=wanted, decide=decide))

    async def daily_user(self, key: UserKey) -> DailyUser:
        for row in await self._pool.ask(sql.GET_USER, *key):
            return read_user(row, as_it_is)
        raise missing("daily user", key.id)

    async def daily_users(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[DailyUser]:
        rows = await self._pool.ask(sql.LIST_USERS, tenant_id, page.after or "", page.limit)
        return [read_user(row, as_it_is) for row in rows]

    async def remove_daily_user(self, key: UserKey, *, with_days: bool = False) -> None:
        async def work(connection: Connection) -> None:
            if not await connection.fetch(sql.REMOVE_USER, *key):
                raise missing("daily user", key.id)
            if with_days:
                await connection.execute(sql.REMOVE_VERDICTS, *key)
                await connection.execute(sql.REMOVE_GAPS, *key)

        await self._pool.write(work)

    async def owed_days(
        self, shard: int, *, until: datetime, limit: int, after: Owed | None = None
    ) -> list[Owed]:
        if after is None:
            rows = await self._pool.ask(sql.OWED, shard, until, limit)
        else:
            rows = await self._pool.ask(sql.OWED_AFTER, shard, until, limit, *after)
        return list(map(Owed._make, rows))

    async def settle_days(self, keys: Sequence[UserKey], rule: Rule) -> list[Ruling | None]:
        return await self._pool.write(partial(_settle, keys=keys, rule=rule))

    async def verdicts_of(self, key: UserKey, page: Page = FIRST_PAGE) -> list[Verdict]:
        rows = await self._pool.ask(sql.VERDICTS_OF, *key, page.after or AFTER_ALL_DATES, page.limit)
        return [read_verdict(row, as_it_is) for row in rows]

    async def verdicts_on(self, tenant_id: str, day: date, page: Page = FIRST_PAGE) -> list[Verdict]:
        asked = (tenant_id, day.isoformat(), page.after or "", page.limit)
        return [read_verdict(row, as_it_is) for row in await self._pool.ask(sql.VERDICTS_ON, *asked)]

    async def gaps_of(self, key: UserKey) -> list[Gap]:
        return [read_gap(row, as_it_is) for row in await self._pool.ask(sql.GAPS_OF, *key)]

    async def _forget_gaps(self, before: str, limit: int) -> int:
        return len(await self._pool.ask(sql.FORGET_GAPS, before, limit))

    async def _forget_verdicts(self, tenant_id: str, before: str, limit: int) -> int:
        return len(await self._pool.ask(sql.FORGET_VERDICTS, tenant_id, before, limit))

    async def _tenant_after(self, tenant_id: str) -> str | None:
        ((found,),) = await self._pool.ask(sql.NEXT_TENANT, tenant_id)
        return None if found is None else str(found)


async def _enroll(connection: Connection, wanted: Sequence[Enrollment], decide: Enroll) -> list[DailyUser]:
    """Those whom somebody else adds at the same moment are known when they are looked for again."""
    known = await _held(connection, [one.key for one in wanted])
    strangers = [one.key for one in wanted if one.key not in known]
    lasts = await _last_dates(connection, strangers)
    users = [decide(one, known.get(one.key), lasts.get(one.key)) for one in wanted]
    await _move(connection, [user for user in users if user.key in known])
    new = [write_user(user) for user in users if user.key not in known]
    if new:
        added = await connection.fetch(sql.ADD_USERS, *_columns(new))
        if len(added) < len(new):
            return await _enroll(connection, wanted, decide)
    return users


async def _settle(connection: Connection, keys: Sequence[UserKey], rule: Rule) -> list[Ruling | None]:
    users = await _held(connection, keys)
    rulings = [rule(users[key]) if key in users else None for key in keys]
    ruled = [ruling for ruling in rulings if ruling is not None]
    await _move(connection, [ruling.user for ruling in ruled])
    verdicts = await _added(
        connection, sql.ADD_VERDICTS, [write_verdict(one) for ruling in ruled for one in ruling.verdicts]
    )
    gaps = await _added(connection, sql.ADD_GAPS, [write_gap(one.gap) for one in ruled if one.gap])
    written = [None if ruling is None else _left(ruling, verdicts, gaps) for ruling in rulings]
    await _reset_contexts(connection, [ruling for ruling in written if ruling is not None])
    return written


def _left(ruling: Ruling, verdicts: set[tuple[Any, ...]], gaps: set[tuple[Any, ...]]) -> Ruling:
    """The ruling with what was not there before."""
    user, decided, gap = ruling
    new = tuple(one for one in decided if (*user.key, one.service_date.isoformat()) in verdicts)
    if gap is not None and (*user.key, gap.from_date.isoformat()) not in gaps:
        gap = None
    return Ruling(user, new, gap)


async def _reset_contexts(connection: Connection, written: Sequence[Ruling]) -> None:
    fresh = [(*one.user.key, one.fresh_from) for one in written if one.fresh_from is not None]
    if fresh:
        await connection.execute(sql.RESET_CONTEXTS, *_columns(sorted(fresh)))


async def _held(connection: Connection, keys: Sequence[UserKey]) -> dict[UserKey, DailyUser]:
    if not keys:
        return {}
    rows = await connection.fetch(sql.GET_USERS, *_columns(keys))
    users = [read_user(row, as_it_is) for row in rows]
    return {user.key: user for user in users}


async def _last_dates(connection: Connection, keys: Sequence[UserKey]) -> dict[UserKey, date]:
    if not keys:
        return {}
    rows = await connection.fetch(sql.LAST_DATES, *_columns(keys))
    return {UserKey(row[0], row[1]): date.fromisoformat(row[2]) for row in rows if row[2] is not None}


async def _move(connection: Connection, users: Sequence[DailyUser]) -> None:
    if users:
        await connection.execute(sql.MOVE_USERS, *_columns([write_user(user)[:7] for user in users]))


async def _added(
    connection: Connection, statement: str, rows: Sequence[tuple[Any, ...]]
) -> set[tuple[Any, ...]]:
    return {tuple(row) for row in await connection.fetch(statement, *_columns(rows))} if rows else set()


def _columns(rows: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    return list(zip(*rows, strict=True))
