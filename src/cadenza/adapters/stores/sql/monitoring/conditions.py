"""Conditions in rows: what alerts are about, and when it is decided about messages."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from cadenza.adapters.stores.common import not_found
from cadenza.adapters.stores.sql.database import Connection, Database
from cadenza.adapters.stores.sql.given_rows import columns_of
from cadenza.adapters.stores.sql.large_results import in_batches, read_rows
from cadenza.adapters.stores.sql.monitoring import alert_messages, alert_routes
from cadenza.adapters.stores.sql.monitoring.condition_rows import (
    CONDITION,
    read_condition,
    write_condition,
)
from cadenza.adapters.stores.sql.monitoring.slo_alerts import ALERT, read_alert
from cadenza.adapters.stores.sql.rows import Row
from cadenza.domain.monitoring.alert_message import Surroundings
from cadenza.domain.monitoring.condition import (
    MUTED_STATES,
    Condition,
    ConditionKey,
    ConditionState,
    condition_key,
    endpoint_condition,
    frees_others,
)
from cadenza.ports.alerting import (
    EVERY_CONDITION,
    AlertRule,
    ConditionChange,
    ConditionFilter,
    Gathering,
    MessageRule,
)
from cadenza.ports.catalog import FIRST_PAGE, Page

TAKE_ALERTS = f"""
SELECT {ALERT} FROM alerts WHERE due_at IS NOT NULL ORDER BY due_at, key LIMIT $1 FOR UPDATE
"""
"""Not SKIP LOCKED: of two who apply alerts, the second goes on where the first has ended."""
APPLIED = "UPDATE alerts SET due_at = NULL WHERE key = ANY ($1::text[])"
KEYS = "unnest($1::text[], $2::text[]) AS k (tenant_id, id)"
OF_KEYS = f"""
SELECT {", ".join(f"c.{column}" for column in CONDITION)}
FROM {KEYS} JOIN alert_conditions c ON c.tenant_id = k.tenant_id AND c.id = k.id
"""
LOCK_MANY = f"{OF_KEYS} ORDER BY c.tenant_id, c.id FOR UPDATE OF c"
COLUMNS = ", ".join(CONDITION)
PUT = f"""
INSERT INTO alert_conditions ({COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
ON CONFLICT (tenant_id, id) DO UPDATE
SET {", ".join(f"{column} = excluded.{column}" for column in CONDITION[2:])}
"""
RELEASE = """
UPDATE alert_conditions SET decide_at = $3 WHERE tenant_id = $1 AND suppressed_by = $2
    AND suppressed_by IS NOT NULL
"""
DUE = f"""
SELECT {COLUMNS} FROM alert_conditions WHERE decide_at <= $1 ORDER BY decide_at, tenant_id, id LIMIT $2
FOR UPDATE SKIP LOCKED
"""
BESIDE = f"""
SELECT {", ".join(f"c.{column}" for column in CONDITION)}
FROM (SELECT tenant_id, job_id FROM unnest($1::text[], $2::text[]) AS k (tenant_id, job_id)) AS j
JOIN alert_conditions c ON c.tenant_id = j.tenant_id AND c.job_id = j.job_id
WHERE c.decide_at > $3 AND c.decide_at <= $4 LIMIT $5 FOR UPDATE OF c SKIP LOCKED
"""
GET = f"SELECT {COLUMNS} FROM alert_conditions WHERE tenant_id = $1 AND id = $2"
LIST_SOME = f"""
SELECT {COLUMNS} FROM alert_conditions WHERE tenant_id = $1 {{wanted}}
ORDER BY since DESC, id DESC LIMIT $2
"""
BEFORE = "AND (since, id) < (SELECT since, id FROM alert_conditions WHERE tenant_id = $1 AND id = {place})"
COUNT = """
SELECT state, count(*) FROM alert_conditions
WHERE tenant_id = $1 AND state IN ('firing', 'acknowledged', 'silenced') GROUP BY state
"""
OPEN = f"""
SELECT {COLUMNS} FROM alert_conditions WHERE (tenant_id, id) > ($1, $2) AND state <> 'resolved'
ORDER BY tenant_id, id LIMIT $3
"""
DROP_MESSAGES = "DELETE FROM alert_messages WHERE tenant_id = $1 AND condition_id = $2"
DELETE_OLD = """
DELETE FROM alert_conditions WHERE state = 'resolved' AND since < $1
    AND (details ->> 'silenced_until' IS NULL OR details ->> 'silenced_until' < $2)
"""


class SqlConditions:
    """Conditions of tenants."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def apply_alerts(self, rule: AlertRule, *, limit: int, release_at: datetime) -> int:
        async def work(connection: Connection) -> int:
            rows = await connection.fetch(TAKE_ALERTS, limit)
            alerts = [read_alert(row, self._database.read_moment) for row in rows]
            if not alerts:
                return 0
            before = await self._locked(connection, {condition_key(alert) for alert in alerts})
            after = dict(before)
            for alert in alerts:
                key = condition_key(alert)
                after[key] = rule(after.get(key), alert)
            await self._put(connection, before, after.values(), release_at)
            await connection.execute(APPLIED, [alert.key for alert in alerts])
            return len(alerts)

        return await self._database.write(work)

    async def plan_messages(self, rule: MessageRule, gathering: Gathering) -> int:
        async def work(connection: Connection) -> int:
            due = await self._due(connection, gathering)
            if not due:
                return 0
            plan = rule(due, await self._surroundings(connection, due, gathering))
            for batch in in_batches(plan.conditions):
                await connection.executemany(PUT, [write_condition(one) for one in batch])
            added = [alert_messages.message_row(one, gathering.now) for one in plan.messages]
            await connection.executemany(alert_messages.ADD, added)
            return len(due)

        return await self._database.write(work)

    async def condition(self, key: ConditionKey) -> Condition:
        for row in await self._database.read(GET, *key):
            return self._read(row)
        raise not_found("condition", key.id)

    async def conditions(
        self, tenant_id: str, *, wanted: ConditionFilter = EVERY_CONDITION, page: Page = FIRST_PAGE
    ) -> list[Condition]:
        values: list[Any] = [tenant_id, page.limit]
        text = ""
        for column, value in wanted._asdict().items():
            if value is not None:
                values.append(str(value))
                text += f" AND {column} = ${len(values)}"
        if page.after is not None:
            values.append(page.after)
            text += f" {BEFORE.format(place=f'${len(values)}')}"
        rows = await self._database.read(LIST_SOME.format(wanted=text), *values)
        return await read_rows(rows, self._read)

    async def count_conditions(self, tenant_id: str) -> Mapping[ConditionState, int]:
        rows = await self._database.read(COUNT, tenant_id)
        return {ConditionState(state): count for state, count in rows}

    async def amend_condition(
        self, key: ConditionKey, change: ConditionChange, *, release_at: datetime
    ) -> Condition:
        async def work(connection: Connection) -> Condition:
            before = await self._locked(connection, {key})
            if key not in before:
                raise not_found("condition", key.id)
            after = change(before[key])
            await self._put(connection, before, [after], release_at)
            if after.state in MUTED_STATES:
                await connection.execute(DROP_MESSAGES, *key)
            return after

        return await self._database.write(work)

    async def open_conditions(self, *, after: ConditionKey | None, limit: int) -> list[Condition]:
        rows = await self._database.read(OPEN, *(after or ("", "")), limit)
        return await read_rows(rows, self._read)

    async def forget_conditions(self, before: datetime) -> None:
        await self._database.ask(DELETE_OLD, before, before.isoformat())

    def _read(self, row: Row) -> Condition:
        return read_condition(row, self._database.read_moment)

    async def _locked(self, connection: Connection, keys: set[ConditionKey]) -> dict[ConditionKey, Condition]:
        rows = await connection.fetch(LOCK_MANY, *columns_of(keys))
        return {one.key: one for one in map(self._read, rows)}

    async def _put(
        self,
        connection: Connection,
        before: Mapping[ConditionKey, Condition],
        after: Iterable[Condition],
        release_at: datetime,
    ) -> None:
        """Write conditions in the order of their keys, and free what waits for those that are resolved."""
        changed = sorted((one for one in after if before.get(one.key) != one), key=lambda one: one.key)
        await connection.executemany(PUT, [write_condition(one) for one in changed])
        freed = {
            (one.tenant_id, one.endpoint_id) for one in changed if frees_others(before.get(one.key), one)
        }
        await connection.executemany(RELEASE, [(*one, release_at) for one in sorted(freed, key=str)])

    async def _due(self, connection: Connection, gathering: Gathering) -> list[Condition]:
        rows = list(await connection.fetch(DUE, gathering.now, gathering.limit))
        due = [self._read(row) for row in rows]
        jobs = {(one.tenant_id, one.job_id) for one in due if one.job_id is not None}
        if not jobs:
            return due
        until = (gathering.now, gathering.together_until, gathering.limit)
        beside = await connection.fetch(BESIDE, *columns_of(jobs), *until)
        return due + [self._read(row) for row in beside]

    async def _surroundings(
        self, connection: Connection, due: Sequence[Condition], gathering: Gathering
    ) -> Surroundings:
        rows = await connection.fetch(alert_routes.OF_TENANTS, sorted({one.tenant_id for one in due}))
        found = [alert_routes.read_route(row, self._database.read_moment) for row in rows]
        routes = {
            tenant_id: [one for one in found if one.tenant_id == tenant_id]
            for tenant_id in {one.tenant_id for one in found}
        }
        parents = await self._parents(connection, due)
        return Surroundings(routes=routes, parents=parents, has_default=gathering.has_default)

    async def _parents(
        self, connection: Connection, due: Sequence[Condition]
    ) -> dict[ConditionKey, Condition]:
        """The conditions above these, level by level; nearly always there is none."""
        found: dict[ConditionKey, Condition] = {}
        level = due
        while (
            wanted := {
                endpoint_condition(one.tenant_id, one.parent_id) for one in level if one.parent_id is not None
            }
            - found.keys()
        ):
            rows = await connection.fetch(OF_KEYS, *columns_of(wanted))
            level = [self._read(row) for row in rows]
            found |= {one.key: one for one in level}
        return found
