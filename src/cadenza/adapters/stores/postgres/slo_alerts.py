"""Standings and alerts in PostgreSQL."""

from collections.abc import Sequence
from datetime import datetime

from cadenza.adapters.stores.postgres.arrays import as_it_is
from cadenza.adapters.stores.postgres.pool import Connection, PostgresPool
from cadenza.adapters.stores.sql.slo_alert_rows import (
    LOOKED_AT,
    alert_row,
    read_alert,
    read_slo,
    slo_row,
    spans_told_to,
)
from cadenza.domain.monitoring.alert import Alert
from cadenza.ports.monitoring import OwedAlert, SloStanding

PUT_SLO = """
INSERT INTO slo_standings (process, scheduler, slo, evaluated_at, window_minutes, breached_since, state)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (process, scheduler, slo) DO UPDATE SET evaluated_at = excluded.evaluated_at,
    window_minutes = excluded.window_minutes, breached_since = excluded.breached_since,
    state = excluded.state
"""
SLOS = """
SELECT process, scheduler, slo, evaluated_at, window_minutes, breached_since, state
FROM slo_standings WHERE evaluated_at >= $1 ORDER BY process, scheduler, slo
"""
FORGET_SLOS = "DELETE FROM slo_standings WHERE evaluated_at < $1"
RAISE = """
INSERT INTO alerts (key, kind, state, text, raised_at, facts, due_at, attempts)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (key) DO NOTHING RETURNING key
"""
TAKE = """
WITH due AS (
    SELECT key FROM alerts WHERE due_at <= $2 ORDER BY raised_at, key LIMIT $3 FOR UPDATE SKIP LOCKED
), taken AS (
    UPDATE alerts a SET due_at = $1, attempts = a.attempts + 1 FROM due WHERE a.key = due.key
    RETURNING a.key, a.kind, a.state, a.text, a.raised_at, a.facts, a.attempts
)
SELECT * FROM taken ORDER BY raised_at, key
"""
SETTLE = "UPDATE alerts SET due_at = $1 WHERE key = $2"
AMONG_THE_NEWEST = """
SELECT key, kind, state, text, raised_at, facts, attempts
FROM (SELECT * FROM alerts ORDER BY raised_at DESC, key DESC LIMIT $3) newest
WHERE coalesce(facts ->> 'tenant_id', $1) = $1
ORDER BY raised_at DESC, key DESC LIMIT $2
"""
AMONG_ITS_OWN = """
WITH told AS MATERIALIZED (
    SELECT key, kind, state, text, raised_at, facts, attempts FROM alerts
    WHERE (key >= $3 AND key < $4 OR key >= $5 AND key < $6 OR key >= $7 AND key < $8)
        AND coalesce(facts ->> 'tenant_id', $1) = $1
)
SELECT * FROM told ORDER BY raised_at DESC, key DESC LIMIT $2
"""
FORGET_ALERTS = "DELETE FROM alerts WHERE raised_at < $1"


class PostgresWatch:
    """Where promises stand, and alerts."""

    _pool: PostgresPool

    async def put_slos(self, standings: Sequence[SloStanding]) -> None:
        rows = sorted(map(slo_row, standings))

        async def work(connection: Connection) -> None:
            await connection.executemany(PUT_SLO, rows)

        await self._pool.write(work)

    async def slos(self, since: datetime) -> list[SloStanding]:
        return [read_slo(row, as_it_is) for row in await self._pool.ask(SLOS, since)]

    async def forget_slos(self, before: datetime) -> None:
        await self._pool.ask(FORGET_SLOS, before)

    async def raise_alert(self, alert: Alert, *, owed: bool = True) -> bool:
        return bool(await self._pool.ask(RAISE, *alert_row(alert, owed=owed)))

    async def take_alerts(self, *, now: datetime, until: datetime, limit: int) -> list[OwedAlert]:
        return [read_alert(row, as_it_is) for row in await self._pool.ask(TAKE, until, now, limit)]

    async def settle_alert(self, key: str, again_at: datetime | None) -> None:
        await self._pool.ask(SETTLE, again_at, key)

    async def newest_alerts(self, tenant_id: str, limit: int) -> list[Alert]:
        rows = await self._pool.ask(AMONG_THE_NEWEST, tenant_id, limit, LOOKED_AT)
        if len(rows) < limit:
            rows = await self._pool.ask(AMONG_ITS_OWN, tenant_id, limit, *spans_told_to(tenant_id))
        return [read_alert(row, as_it_is).alert for row in rows]

    async def forget_alerts(self, before: datetime) -> None:
        await self._pool.ask(FORGET_ALERTS, before)
