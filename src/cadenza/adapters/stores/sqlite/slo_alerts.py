"""Standings and alerts in a SQLite file."""

import sqlite3
from collections.abc import Sequence
from datetime import datetime

from cadenza.adapters.stores.sql.rows import Row, from_micros, to_micros
from cadenza.adapters.stores.sql.slo_alert_rows import (
    LOOKED_AT,
    alert_row,
    read_alert,
    read_slo,
    slo_row,
    spans_told_to,
)
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.settle import in_micros
from cadenza.domain.monitoring.alert import Alert
from cadenza.ports.monitoring import OwedAlert, SloStanding

PUT_SLO = """
INSERT INTO slo_standings (process, scheduler, slo, evaluated_at, window_minutes, breached_since, state)
VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (process, scheduler, slo) DO UPDATE SET evaluated_at = excluded.evaluated_at,
    window_minutes = excluded.window_minutes, breached_since = excluded.breached_since,
    state = excluded.state
"""
SLOS = """
SELECT process, scheduler, slo, evaluated_at, window_minutes, breached_since, state
FROM slo_standings WHERE evaluated_at >= ? ORDER BY process, scheduler, slo
"""
FORGET_SLOS = "DELETE FROM slo_standings WHERE evaluated_at < ?"
RAISE = """
INSERT INTO alerts (key, kind, state, text, raised_at, facts, due_at, attempts)
VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING
"""
TAKE = """
UPDATE alerts SET due_at = ?, attempts = attempts + 1
WHERE key IN (SELECT key FROM alerts WHERE due_at <= ? ORDER BY raised_at, key LIMIT ?)
RETURNING key, kind, state, text, raised_at, facts, attempts
"""
SETTLE = "UPDATE alerts SET due_at = ? WHERE key = ?"
AMONG_THE_NEWEST = """
SELECT key, kind, state, text, raised_at, facts, attempts
FROM (SELECT * FROM alerts ORDER BY raised_at DESC, key DESC LIMIT ?3) newest
WHERE coalesce(json_extract(facts, '$.tenant_id'), ?1) = ?1
ORDER BY raised_at DESC, key DESC LIMIT ?2
"""
AMONG_ITS_OWN = """
WITH told AS MATERIALIZED (
    SELECT key, kind, state, text, raised_at, facts, attempts FROM alerts
    WHERE (key >= ?3 AND key < ?4 OR key >= ?5 AND key < ?6 OR key >= ?7 AND key < ?8)
        AND coalesce(json_extract(facts, '$.tenant_id'), ?1) = ?1
)
SELECT * FROM told ORDER BY raised_at DESC, key DESC LIMIT ?2
"""
FORGET_ALERTS = "DELETE FROM alerts WHERE raised_at < ?"


class SqliteWatch:
    """Where promises stand, and alerts."""

    _file: SqliteFile

    async def put_slos(self, standings: Sequence[SloStanding]) -> None:
        rows = [in_micros(slo_row(standing)) for standing in standings]
        await self._file.write(lambda file: file.executemany(PUT_SLO, rows))

    async def slos(self, since: datetime) -> list[SloStanding]:
        rows = await self._file.read(lambda file: file.execute(SLOS, (to_micros(since),)).fetchall())
        return [read_slo(row, from_micros) for row in rows]

    async def forget_slos(self, before: datetime) -> None:
        await self._file.write(lambda file: file.execute(FORGET_SLOS, (to_micros(before),)))

    async def raise_alert(self, alert: Alert, *, owed: bool = True) -> bool:
        row = in_micros(alert_row(alert, owed=owed))
        return await self._file.write(lambda file: file.execute(RAISE, row).rowcount == 1)

    async def take_alerts(self, *, now: datetime, until: datetime, limit: int) -> list[OwedAlert]:
        wanted = (to_micros(until), to_micros(now), limit)

        def work(file: sqlite3.Connection) -> list[OwedAlert]:
            return [read_alert(row, from_micros) for row in file.execute(TAKE, wanted).fetchall()]

        return _oldest_first(await self._file.write(work))

    async def settle_alert(self, key: str, again_at: datetime | None) -> None:
        row = in_micros((again_at, key))
        await self._file.write(lambda file: file.execute(SETTLE, row))

    async def newest_alerts(self, tenant_id: str, limit: int) -> list[Alert]:
        wanted = (tenant_id, limit)

        def work(file: sqlite3.Connection) -> list[Row]:
            rows = file.execute(AMONG_THE_NEWEST, (*wanted, LOOKED_AT)).fetchall()
            if len(rows) < limit:
                rows = file.execute(AMONG_ITS_OWN, (*wanted, *spans_told_to(tenant_id))).fetchall()
            return rows

        return [read_alert(row, from_micros).alert for row in await self._file.read(work)]

    async def forget_alerts(self, before: datetime) -> None:
        await self._file.write(lambda file: file.execute(FORGET_ALERTS, (to_micros(before),)))


def _oldest_first(taken: list[OwedAlert]) -> list[OwedAlert]:
    return sorted(taken, key=lambda owed: (owed.alert.raised_at, owed.alert.key))
