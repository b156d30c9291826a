"""Users with a daily job, and their verdicts, in a SQLite file."""

import sqlite3
from collections.abc import Sequence
from datetime import date, datetime
from functools import partial
from itertools import starmap

from cadenza.adapters.stores.common import missing
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
from cadenza.adapters.stores.sql.rows import from_micros, to_micros
from cadenza.adapters.stores.sqlite import daily_statements as sql
from cadenza.adapters.stores.sqlite.batches import read_many
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.settle import in_micros
from cadenza.domain.agents.users import UserKey
from cadenza.domain.daily.user import DailyUser, Enrollment, Gap, Ruling, Verdict
from cadenza.ports.catalog import FIRST_PAGE, Page
from cadenza.ports.daily import Enroll, Owed, Rule


class SqliteDaily(DayForgetting):
    """Durable records of users, and the verdicts of their days."""

    _file: SqliteFile

    async def enroll(self, wanted: Sequence[Enrollment], decide: Enroll) -> list[DailyUser]:
        return await self._file.write(partial(_enroll, wanted=wanted, decide=decide))

    async def daily_user(self, key: UserKey) -> DailyUser:
        row = await self._file.read(lambda file: file.execute(sql.GET_USER, key).fetchone())
        if row is None:
            raise missing("daily user", key.id)
        return read_user(row, from_micros)

    async def daily_users(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[DailyUser]:
        asked = (tenant_id, page.after or "", page.limit)
        rows = await self._file.read(lambda file: file.execute(sql.LIST_USERS, asked).fetchall())
        return [read_user(row, from_micros) for row in rows]

    async def remove_daily_user(self, key: UserKey, *, with_days: bool = False) -> None:
        def work(file: sqlite3.Connection) -> None:
            if not file.execute(sql.REMOVE_USER, key).rowcount:
                raise missing("daily user", key.id)
            if with_days:
                file.execute(sql.REMOVE_VERDICTS, key)
                file.execute(sql.REMOVE_GAPS, key)

        await self._file.write(work)

    async def owed_days(
        self, shard: int, *, until: datetime, limit: int, after: Owed | None = None
    ) -> list[Owed]:
        last = (-(2**63), "", "") if after is None else in_micros(after)
        asked = (shard, to_micros(until), *last, limit)

        def work(file: sqlite3.Connection) -> list[Owed]:
            rows = file.execute(sql.OWED, asked).fetchall()
            moments = {cutoff: _moment(cutoff) for cutoff in {row[0] for row in rows}}
            return [Owed(moments[cutoff], tenant_id, user_id) for cutoff, tenant_id, user_id in rows]

        return await self._file.read(work)

    async def settle_days(self, keys: Sequence[UserKey], rule: Rule) -> list[Ruling | None]:
        return await self._file.write(partial(_settle, keys=keys, rule=rule))

    async def verdicts_of(self, key: UserKey, page: Page = FIRST_PAGE) -> list[Verdict]:
        asked = (*key, page.after or AFTER_ALL_DATES, page.limit)
        rows = await self._file.read(lambda file: file.execute(sql.VERDICTS_OF, asked).fetchall())
        return [read_verdict(row, from_micros) for row in rows]

    async def verdicts_on(self, tenant_id: str, day: date, page: Page = FIRST_PAGE) -> list[Verdict]:
        asked = (tenant_id, day.isoformat(), page.after or "", page.limit)
        rows = await self._file.read(lambda file: file.execute(sql.VERDICTS_ON, asked).fetchall())
        return [read_verdict(row, from_micros) for row in rows]

    async def gaps_of(self, key: UserKey) -> list[Gap]:
        rows = await self._file.read(lambda file: file.execute(sql.GAPS_OF, key).fetchall())
        return [read_gap(row, from_micros) for row in rows]

    async def _forget_gaps(self, before: str, limit: int) -> int:
        old = (before, limit)
        return await self._file.write(lambda file: file.execute(sql.FORGET_GAPS, old).rowcount)

    async def _forget_verdicts(self, tenant_id: str, before: str, limit: int) -> int:
        old = (tenant_id, before, limit)
        return await self._file.write(lambda file: file.execute(sql.FORGET_VERDICTS, old).rowcount)

    async def _tenant_after(self, tenant_id: str) -> str | None:
        (found,) = await self._file.read(lambda file: file.execute(sql.NEXT_TENANT, (tenant_id,)).fetchone())
        return None if found is None else str(found)


def _moment(micros: int) -> datetime:
    moment = from_micros(micros)
    assert moment is not None, "a cutoff is never missing"
    return moment


def _enroll(file: sqlite3.Connection, wanted: Sequence[Enrollment], decide: Enroll) -> list[DailyUser]:
    known = _users(file, [one.key for one in wanted])
    strangers = [one.key for one in wanted if one.key not in known]
    lasts = {UserKey(*row[:2]): row[2] for row in read_many(file, sql.last_dates, strangers)}
    users = []
    for one in wanted:
        last = lasts.get(one.key)
        users.append(decide(one, known.get(one.key), None if last is None else date.fromisoformat(last)))
    file.executemany(sql.KEEP_USER, [in_micros(write_user(user)) for user in users])
    return users


def _settle(file: sqlite3.Connection, keys: Sequence[UserKey], rule: Rule) -> list[Ruling | None]:
    users = _users(file, keys)
    rulings = [rule(users[key]) if key in users else None for key in keys]
    ruled = [ruling for ruling in rulings if ruling is not None]
    moved = [in_micros(write_user(ruling.user)) for ruling in ruled]
    file.executemany(sql.MOVE_USER, [(*row[2:7], *row[:2]) for row in moved])
    return [None if ruling is None else _written(file, ruling) for ruling in rulings]


def _written(file: sqlite3.Connection, ruling: Ruling) -> Ruling:
    """The ruling with what was not there before."""
    new = tuple(
        verdict
        for verdict in ruling.verdicts
        if file.execute(sql.ADD_VERDICT, in_micros(write_verdict(verdict))).rowcount
    )
    gap = ruling.gap
    if gap is not None and not file.execute(sql.ADD_GAP, in_micros(write_gap(gap))).rowcount:
        gap = None
    written = Ruling(ruling.user, new, gap)
    if (fresh_from := to_micros(written.fresh_from)) is not None:
        file.execute(sql.RESET_CONTEXT, (fresh_from, *ruling.user.key, fresh_from))
    return written


def _users(file: sqlite3.Connection, keys: Sequence[UserKey]) -> dict[UserKey, DailyUser]:
    rows = read_many(file, sql.get_users, keys)
    users = starmap(read_user, ((row, from_micros) for row in rows))
    return {user.key: user for user in users}
