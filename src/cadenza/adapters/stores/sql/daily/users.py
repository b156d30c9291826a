"""Users with a daily window, the verdicts of their days, and the gaps between them."""

from collections.abc import Sequence
from datetime import date, datetime
from functools import partial
from typing import Any

from cadenza.adapters.stores.common import not_found
from cadenza.adapters.stores.sql.daily.programmes import check_programmes
from cadenza.adapters.stores.sql.daily.rows import (
    CHANGED,
    GAP,
    KEY,
    USER,
    VERDICT,
    read_date,
    read_due,
    read_gap,
    read_user,
    read_verdict,
    write_gap,
    write_user,
    write_verdict,
)
from cadenza.adapters.stores.sql.database import BATCH, Connection, Database, Dialect, delete_in_batches
from cadenza.adapters.stores.sql.given_rows import assigned, columns_of, parameter_table
from cadenza.adapters.stores.sql.rows import Read, Row
from cadenza.domain.agents.users import UserKey
from cadenza.domain.daily.keys import DAILY, DailyKey, ProgrammeKey
from cadenza.domain.daily.user import DailyGap, DailyUser, Enrollment, Finalization, Verdict
from cadenza.ports.catalog import FIRST_PAGE, Page
from cadenza.ports.daily import Enroll, Finalize, PendingDay

# Always in the same order, so that two transactions do not wait for each other.
GET_USERS = f"""
SELECT {", ".join(f"u.{column}" for column in USER)} FROM {parameter_table("g", *KEY)}
CROSS JOIN daily_users u
WHERE u.tenant_id = g.tenant_id AND u.programme_id = g.programme_id AND u.user_id = g.user_id
ORDER BY u.tenant_id, u.programme_id, u.user_id FOR UPDATE OF u
"""
LAST_DATES = f"""
SELECT g.tenant_id, g.programme_id, g.user_id, (
    SELECT max(v.service_date) FROM daily_verdicts v
    WHERE v.tenant_id = g.tenant_id AND v.programme_id = g.programme_id AND v.user_id = g.user_id
) FROM {parameter_table("g", *KEY)}
"""
ADD_USERS = f"""
INSERT INTO daily_users ({", ".join(USER)}) SELECT {", ".join(USER)} FROM {parameter_table("g", *USER)}
WHERE true ORDER BY tenant_id, programme_id, user_id ON CONFLICT DO NOTHING
RETURNING tenant_id, programme_id, user_id
"""
CHANGE_USERS = f"""
UPDATE daily_users AS u SET {assigned("g", *CHANGED)} FROM {parameter_table("g", *KEY, *CHANGED)}
WHERE u.tenant_id = g.tenant_id AND u.programme_id = g.programme_id AND u.user_id = g.user_id
"""
OF_KEY = "WHERE tenant_id = $1 AND programme_id = $2 AND user_id = $3"
GET_USER = f"SELECT {', '.join(USER)} FROM daily_users {OF_KEY}"
LIST_USERS = f"""
SELECT {", ".join(USER)} FROM daily_users
WHERE tenant_id = $1 AND programme_id = $2 AND user_id > $3 ORDER BY user_id LIMIT $4
"""
REMOVE_USER = f"DELETE FROM daily_users {OF_KEY} RETURNING user_id"
REMOVE_VERDICTS = f"DELETE FROM daily_verdicts {OF_KEY}"
REMOVE_GAPS = f"DELETE FROM daily_gaps {OF_KEY}"
PENDING = ("next_cutoff", *KEY, "next_date", "opens_at", "due")
OPENING = f"""
SELECT {", ".join(PENDING)} FROM daily_users WHERE shard = $1 AND opens_at <= $2
ORDER BY opens_at, tenant_id, programme_id, user_id LIMIT $3
"""
OPENING_AFTER = f"""
SELECT {", ".join(PENDING)} FROM daily_users
WHERE shard = $1 AND opens_at <= $2 AND (opens_at, tenant_id, programme_id, user_id) > ($4, $5, $6, $7)
ORDER BY opens_at, tenant_id, programme_id, user_id LIMIT $3
"""
# `WHERE true`: without it SQLite reads ON CONFLICT as the condition of a join.
ADD_VERDICTS = f"""
INSERT INTO daily_verdicts ({", ".join(VERDICT)}) SELECT {", ".join(VERDICT)}
FROM {parameter_table("g", *VERDICT)}
WHERE true ON CONFLICT DO NOTHING RETURNING tenant_id, programme_id, user_id, service_date
"""
ADD_GAPS = f"""
INSERT INTO daily_gaps ({", ".join(GAP)}) SELECT {", ".join(GAP)} FROM {parameter_table("g", *GAP)}
WHERE true ON CONFLICT DO NOTHING RETURNING tenant_id, programme_id, user_id, from_date
"""
RESET_CONTEXTS = f"""
UPDATE users AS u SET context_reset_at = g.decided_at
FROM {parameter_table("g", "tenant_id", "user_id", "decided_at")}
WHERE u.tenant_id = g.tenant_id AND u.id = g.user_id
    AND (u.context_reset_at IS NULL OR u.context_reset_at < g.decided_at)
"""
VERDICTS_OF = f"""
SELECT {", ".join(VERDICT)} FROM daily_verdicts
{OF_KEY} AND service_date < $4 ORDER BY service_date DESC LIMIT $5
"""
AFTER_ALL_DATES = "A"
"""Sorts behind every date."""
VERDICTS_ON = f"""
SELECT {", ".join(VERDICT)} FROM daily_verdicts
WHERE tenant_id = $1 AND programme_id = $2 AND service_date = $3 AND user_id > $4 ORDER BY user_id LIMIT $5
"""
GAPS_OF = f"""
SELECT {", ".join(GAP)} FROM daily_gaps {OF_KEY} ORDER BY from_date DESC
"""
NEXT_PROGRAMME = """
SELECT tenant_id, programme_id FROM daily_verdicts WHERE (tenant_id, programme_id) > ($1, $2)
ORDER BY tenant_id, programme_id LIMIT 1
"""
DELETE_OLD_VERDICTS = """
DELETE FROM daily_verdicts WHERE (tenant_id, programme_id, user_id, service_date) IN (
    SELECT tenant_id, programme_id, user_id, service_date FROM daily_verdicts
    WHERE tenant_id = $1 AND programme_id = $2 AND service_date < $3 ORDER BY service_date LIMIT $4
) RETURNING user_id
"""
DELETE_OLD_GAPS = {
    Dialect.POSTGRES: """
DELETE FROM daily_gaps WHERE (tenant_id, programme_id, user_id, from_date) IN (
    SELECT tenant_id, programme_id, user_id, from_date FROM daily_gaps WHERE to_date < $1 LIMIT $2
) RETURNING user_id
""",
    # The index by day holds no users: by key, SQLite would read the table whole.
    Dialect.SQLITE: """
DELETE FROM daily_gaps WHERE rowid IN (SELECT rowid FROM daily_gaps WHERE to_date < $1 LIMIT $2)
RETURNING user_id
""",
}


class SqlDaily:
    """Durable records of users, and the verdicts of their days, in tables of either database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def enroll(self, wanted: Sequence[Enrollment], decide: Enroll) -> list[DailyUser]:
        read = self._database.read_moment
        return await self._database.write(partial(_enroll, wanted=wanted, decide=decide, read=read))

    async def daily_user(self, key: DailyKey) -> DailyUser:
        for row in await self._database.read(GET_USER, *key):
            return read_user(row, self._database.read_moment)
        raise not_found("daily user", key.user_id)

    async def daily_users(
        self, tenant_id: str, page: Page = FIRST_PAGE, *, programme_id: str = DAILY
    ) -> list[DailyUser]:
        values = (tenant_id, programme_id, page.after or "", page.limit)
        rows = await self._database.read(LIST_USERS, *values)
        return [read_user(row, self._database.read_moment) for row in rows]

    async def remove_daily_user(self, key: DailyKey, *, with_days: bool = False) -> None:
        async def work(connection: Connection) -> None:
            if not await connection.fetch(REMOVE_USER, *key):
                raise not_found("daily user", key.user_id)
            if with_days:
                await connection.execute(REMOVE_VERDICTS, *key)
                await connection.execute(REMOVE_GAPS, *key)

        await self._database.write(work)

    async def pending_days(
        self, shard: int, *, until: datetime, limit: int, after: PendingDay | None = None
    ) -> list[PendingDay]:
        if after is None:
            rows = await self._database.read(OPENING, shard, until, limit)
        else:
            place = (after.opens_at, *after.key)
            rows = await self._database.read(OPENING_AFTER, shard, until, limit, *place)
        return _read_pending(rows, self._database.read_moment)

    async def finalize_days(self, keys: Sequence[DailyKey], rule: Finalize) -> list[Finalization | None]:
        read = self._database.read_moment
        return await self._database.write(partial(_settle, keys=keys, rule=rule, read=read))

    async def verdicts_of(self, key: DailyKey, page: Page = FIRST_PAGE) -> list[Verdict]:
        rows = await self._database.read(VERDICTS_OF, *key, page.after or AFTER_ALL_DATES, page.limit)
        return [read_verdict(row, self._database.read_moment) for row in rows]

    async def verdicts_on(
        self, tenant_id: str, day: date, page: Page = FIRST_PAGE, *, programme_id: str = DAILY
    ) -> list[Verdict]:
        values = (tenant_id, programme_id, day.isoformat(), page.after or "", page.limit)
        rows = await self._database.read(VERDICTS_ON, *values)
        return [read_verdict(row, self._database.read_moment) for row in rows]

    async def gaps_of(self, key: DailyKey) -> list[DailyGap]:
        rows = await self._database.read(GAPS_OF, *key)
        return [read_gap(row, self._database.read_moment) for row in rows]

    async def forget_days(self, before: date) -> int:
        database, old = self._database, before.isoformat()
        deleted = await delete_in_batches(database, DELETE_OLD_GAPS[database.dialect], old, BATCH)
        programme = ProgrammeKey("", "")
        while rows := await database.read(NEXT_PROGRAMME, *programme):
            programme = ProgrammeKey(*rows[0])
            deleted += await delete_in_batches(database, DELETE_OLD_VERDICTS, *programme, old, BATCH)
        return deleted


def _read_pending(rows: Sequence[Row], read: Read) -> list[PendingDay]:
    """The days of rows selected as `PENDING`; what many of them share is read once."""
    moments = {moment: read(moment) for moment in {row[0] for row in rows} | {row[5] for row in rows}}
    dates = {day: read_date(day) for day in {row[4] for row in rows}}
    dues = {due: read_due(due) for due in {row[6] for row in rows}}
    return [
        PendingDay(
            moments[cutoff], tenant_id, programme_id, user_id, dates[day], moments[opens_at], dues[due]
        )
        for cutoff, tenant_id, programme_id, user_id, day, opens_at, due in rows
    ]


async def _enroll(
    connection: Connection, wanted: Sequence[Enrollment], decide: Enroll, read: Read
) -> list[DailyUser]:
    """Users whom another transaction adds meanwhile are found when this is done once more."""
    await check_programmes(connection, {one.key.programme for one in wanted})
    stored = await _locked_users(connection, [one.key for one in wanted], read)
    lasts = await _last_dates(connection, [one.key for one in wanted if one.key not in stored])
    users = [decide(one, stored.get(one.key), lasts.get(one.key)) for one in wanted]
    await _change(connection, [user for user in users if user.key in stored])
    new = [write_user(user) for user in users if user.key not in stored]
    added = await _added(connection, ADD_USERS, new)
    return users if len(added) == len(new) else await _enroll(connection, wanted, decide, read)


async def _settle(
    connection: Connection, keys: Sequence[DailyKey], rule: Finalize, read: Read
) -> list[Finalization | None]:
    users = await _locked_users(connection, keys, read)
    finalizations = [rule(users[key]) if key in users else None for key in keys]
    ruled = [finalization for finalization in finalizations if finalization is not None]
    await _change(connection, [finalization.user for finalization in ruled])
    decided = [write_verdict(verdict) for finalization in ruled for verdict in finalization.verdicts]
    verdicts = await _added(connection, ADD_VERDICTS, decided)
    gaps = await _added(connection, ADD_GAPS, [write_gap(one.gap) for one in ruled if one.gap])
    written = [
        None if finalization is None else _only_new(finalization, verdicts, gaps)
        for finalization in finalizations
    ]
    await _reset_contexts(connection, [finalization for finalization in written if finalization is not None])
    return written


def _only_new(
    finalization: Finalization, verdicts: set[tuple[Any, ...]], gaps: set[tuple[Any, ...]]
) -> Finalization:
    """The ruling without the verdicts and gaps that were there before."""
    user, decided, gap, _ = finalization
    new = tuple(one for one in decided if (*user.key, one.service_date.isoformat()) in verdicts)
    if gap is not None and (*user.key, gap.from_date.isoformat()) not in gaps:
        gap = None
    return finalization._replace(verdicts=new, gap=gap)


async def _reset_contexts(connection: Connection, written: Sequence[Finalization]) -> None:
    fresh: dict[UserKey, datetime] = {}
    for one in written:
        if (at := one.fresh_from) is not None:
            fresh[one.user.key.user] = max(at, fresh.get(one.user.key.user, at))
    if fresh:
        rows = [(*user, at) for user, at in sorted(fresh.items())]
        await connection.execute(RESET_CONTEXTS, *columns_of(rows))


async def _locked_users(
    connection: Connection, keys: Sequence[DailyKey], read: Read
) -> dict[DailyKey, DailyUser]:
    rows = await connection.fetch(GET_USERS, *columns_of(keys)) if keys else []
    users = [read_user(row, read) for row in rows]
    return {user.key: user for user in users}


async def _last_dates(connection: Connection, keys: Sequence[DailyKey]) -> dict[DailyKey, date]:
    rows = await connection.fetch(LAST_DATES, *columns_of(keys)) if keys else []
    return {DailyKey(*key): read_date(last) for *key, last in rows if last is not None}


async def _change(connection: Connection, users: Sequence[DailyUser]) -> None:
    if users:
        await connection.execute(CHANGE_USERS, *columns_of([write_user(user)[:13] for user in users]))


async def _added(
    connection: Connection, statement: str, rows: Sequence[tuple[Any, ...]]
) -> set[tuple[Any, ...]]:
    """Add the rows that are not there yet; the keys of those that were added."""
    return {tuple(row) for row in await connection.fetch(statement, *columns_of(rows))} if rows else set()
