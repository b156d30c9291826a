"""The state of each SLO as each process measured it, and alerts."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import orjson

from cadenza.adapters.stores.sql.database import Connection, Database
from cadenza.adapters.stores.sql.given_rows import beginning_with
from cadenza.adapters.stores.sql.rows import Read, Row, storable
from cadenza.domain.monitoring.alert import Alert, AlertKind, AlertState, alert_key_prefixes
from cadenza.domain.monitoring.slo import Judgement, Slo, SloMeasurement, SloState
from cadenza.ports.monitoring import SloStatus

PUT_SLO = """
INSERT INTO slo_standings (process, scheduler, slo, evaluated_at, window_minutes, breached_since, state)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (process, scheduler, slo) DO UPDATE SET evaluated_at = excluded.evaluated_at,
    window_minutes = excluded.window_minutes, breached_since = excluded.breached_since,
    state = excluded.state
"""
LIST_SLOS = """
SELECT process, scheduler, slo, evaluated_at, window_minutes, breached_since, state
FROM slo_standings WHERE evaluated_at >= $1 ORDER BY process, scheduler, slo
"""
DELETE_OLD_SLOS = "DELETE FROM slo_standings WHERE evaluated_at < $1"
ALERT = "key, kind, state, text, raised_at, facts"
RAISE = f"""
INSERT INTO alerts ({ALERT}, due_at, attempts)
VALUES ($1, $2, $3, $4, $5, $6, $5, 0) ON CONFLICT (key) DO NOTHING
"""
"""One with a due moment was not applied to its condition yet."""
RAISE_IF_NEW = f"{RAISE} RETURNING key"
AMONG_THE_NEWEST = f"""
SELECT {ALERT} FROM (SELECT * FROM alerts ORDER BY raised_at DESC, key DESC LIMIT $3) AS newest
WHERE coalesce(facts ->> 'tenant_id', $1) = $1 ORDER BY raised_at DESC, key DESC LIMIT $2
"""
AMONG_ITS_OWN = f"""
WITH own AS MATERIALIZED (
    SELECT {ALERT} FROM alerts
    WHERE (key >= $3 AND key < $4 OR key >= $5 AND key < $6 OR key >= $7 AND key < $8)
        AND coalesce(facts ->> 'tenant_id', $1) = $1
)
SELECT * FROM own ORDER BY raised_at DESC, key DESC LIMIT $2
"""
NEWEST_READ = 500
"""A tenant with many alerts finds its own among so many of the newest of all tenants."""
DELETE_OLD_ALERTS = "DELETE FROM alerts WHERE raised_at < $1"


class SqlSlos:
    """The state of each SLO, as each process last evaluated it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def put_slos(self, statuses: Sequence[SloStatus]) -> None:
        rows = sorted(map(_slo_row, statuses))

        async def work(connection: Connection) -> None:
            await connection.executemany(PUT_SLO, rows)

        await self._database.write(work)

    async def slos(self, since: datetime) -> list[SloStatus]:
        rows = await self._database.read(LIST_SLOS, since)
        return [_read_slo(row, self._database.read_moment) for row in rows]

    async def forget_slos(self, before: datetime) -> None:
        await self._database.ask(DELETE_OLD_SLOS, before)


class SqlAlerts:
    """Alerts by their keys."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def raise_alert(self, alert: Alert) -> bool:
        return bool(await self._database.ask(RAISE_IF_NEW, *alert_row(alert)))

    async def newest_alerts(self, tenant_id: str, limit: int) -> list[Alert]:
        rows = await self._database.read(AMONG_THE_NEWEST, tenant_id, limit, NEWEST_READ)
        if len(rows) < limit:
            rows = await self._database.read(AMONG_ITS_OWN, tenant_id, limit, *key_ranges(tenant_id))
        return [read_alert(row, self._database.read_moment) for row in rows]

    async def forget_alerts(self, before: datetime) -> None:
        await self._database.ask(DELETE_OLD_ALERTS, before)


def _slo_row(status: SloStatus) -> tuple[Any, ...]:
    process, scheduler, evaluated_at, window_minutes, state = status
    assert state.measured is not None, "a state is only stored after a measurement"
    counted = {"bad_in_a_row": state.bad_in_a_row, "good_in_a_row": state.good_in_a_row}
    document = orjson.dumps({"measured": state.measured._asdict(), **counted}).decode()
    since, slo = state.breached_since, state.measured.slo.value
    return (process, scheduler, slo, evaluated_at, window_minutes, since, document)


def _read_slo(row: Row, read: Read) -> SloStatus:
    process, scheduler, _, evaluated_at, window_minutes, since, document = row
    fields = orjson.loads(document)
    measured = fields.pop("measured")
    measured |= {"slo": Slo(measured["slo"]), "judgement": Judgement(measured["judgement"])}
    state = SloState(measured=SloMeasurement(**measured), breached_since=read(since), **fields)
    return SloStatus(process, scheduler, read(evaluated_at), window_minutes, state)


def alert_row(alert: Alert) -> tuple[Any, ...]:
    """The columns `ALERT`."""
    facts = {name: storable(fact) if isinstance(fact, str) else fact for name, fact in alert.facts.items()}
    words = (alert.key, alert.kind.value, alert.state.value, storable(alert.text))
    return (*words, alert.raised_at, orjson.dumps(facts).decode())


def read_alert(row: Iterable[Any], read: Read) -> Alert:
    """The alert of the columns `ALERT`."""
    key, kind, state, text, raised_at, facts = row
    return Alert(
        key=key,
        kind=AlertKind(kind),
        state=AlertState(state),
        text=text,
        raised_at=read(raised_at),
        facts=orjson.loads(facts),
    )


def key_ranges(tenant_id: str) -> tuple[str, ...]:
    """The three ranges of keys that hold all alerts which a tenant may see."""
    return tuple(end for start in alert_key_prefixes(tenant_id) for end in beginning_with(start))
