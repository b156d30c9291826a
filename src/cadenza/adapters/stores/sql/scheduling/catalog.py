"""Finding endpoints, and changing many of them together with their jobs and rules.

A change of many locks the tenant first, then its rows in the order of their ids, as workers do: so no two
transactions wait for each other.
"""

from functools import lru_cache
from itertools import count
from typing import Any

from cadenza.adapters.stores.common import checked_bulk_change
from cadenza.adapters.stores.sql.database import Connection, wake_workers
from cadenza.adapters.stores.sql.large_results import beside_loop, for_many, read_rows
from cadenza.adapters.stores.sql.monitoring import alert_routes
from cadenza.adapters.stores.sql.planning import rules
from cadenza.adapters.stores.sql.rows import ENDPOINT_COLUMNS, LIVE
from cadenza.adapters.stores.sql.scheduling.definition import JOB, write_job
from cadenza.adapters.stores.sql.scheduling.endpoints import LOCK_TENANT, read_endpoints, read_jobs
from cadenza.adapters.stores.sql.scheduling.jobs import DROP, PUT, WITH_STATE, SqlJobs
from cadenza.adapters.stores.sql.scheduling.labels_and_uses import drop_uses, put_job_uses
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.steer import ChangedEndpoint, EndpointChange
from cadenza.ports.catalog import (
    EVERY_ENDPOINT,
    FIRST_PAGE,
    BulkChange,
    BulkScope,
    BulkState,
    DecideBulkChange,
    EndpointFilter,
    Page,
)

COUNT_LIVE = f"SELECT count(*) FROM endpoint_states WHERE tenant_id = $1 AND {LIVE}"
JOBS_WITHIN = (
    f"SELECT {', '.join(JOB)} FROM jobs"
    " WHERE tenant_id = $1 AND (id = ANY ($2::text[]) OR (applied AND $3::boolean)) ORDER BY id"
)
ENDPOINTS_WITHIN = (
    "SELECT id FROM endpoints WHERE tenant_id = $1 AND job_id = ANY ($2::text[])"
    " UNION SELECT unnest($3::text[])"
)

_LABELLED = (
    f"SELECT {', '.join(ENDPOINT_COLUMNS)} FROM endpoint_labels l"
    " CROSS JOIN LATERAL (SELECT e.* FROM endpoints e"
    f" WHERE e.tenant_id = l.tenant_id AND e.id = l.endpoint_id OFFSET 0) AS e {WITH_STATE}"
    " WHERE l.tenant_id = $1 AND l.endpoint_id > $2 AND l.name = $4 AND l.value = $5"
)
_LABELLED_TOO = (
    " AND EXISTS (SELECT 1 FROM endpoint_labels o WHERE o.tenant_id = l.tenant_id"
    " AND o.name = ${} AND o.value = ${} AND o.endpoint_id = l.endpoint_id OFFSET 0)"
)
FAILING = "s.failure_count > 0 AND NOT s.archived AND s.enabled AND s.job_active"
"""The states of endpoints that fail and are in use."""
_FAILING = (
    f"SELECT {', '.join(ENDPOINT_COLUMNS)} FROM endpoint_states s"
    " CROSS JOIN LATERAL (SELECT e.* FROM endpoints e"
    " WHERE e.tenant_id = s.tenant_id AND e.id = s.endpoint_id OFFSET 0) AS e"
    f" WHERE s.tenant_id = $1 AND s.endpoint_id > $2 AND {FAILING}"
)
_UNLABELLED = (
    f"SELECT {', '.join(ENDPOINT_COLUMNS)} FROM endpoints e {WITH_STATE} WHERE e.tenant_id = $1 AND e.id > $2"
)


@lru_cache
def find(labels: int, *, of_job: bool, archived: bool, failing: bool = False) -> str:
    """Endpoints in the order of their ids: tenant, after, limit, labels, job, archived.

    Those that fail are few: their states are read first, by an index of their own.
    """
    place = count(4 + 2 * min(labels, 1))
    others = "".join(_LABELLED_TOO.format(next(place), next(place)) for _ in range(labels - 1))
    base, id_column = (_FAILING, "s.endpoint_id") if failing else (_UNLABELLED, "e.id")
    if labels:
        base, id_column = _LABELLED + others + (f" AND {FAILING}" if failing else ""), "l.endpoint_id"
    return (
        base
        + (f" AND e.job_id = ${next(place)}" if of_job else "")
        + (f" AND s.archived = ${next(place)}" if archived else "")
        + f" ORDER BY {id_column} LIMIT $3"
    )


def _finding(tenant_id: str, wanted: EndpointFilter, page: Page) -> tuple[Any, ...]:
    """The statement that finds endpoints, with its values."""
    job_id, labels, archived, failing = wanted
    statement = find(len(labels), of_job=job_id is not None, archived=archived is not None, failing=failing)
    words = [word for label in labels.items() for word in label]
    narrowed = [one for one in (job_id, archived) if one is not None]
    return (statement, tenant_id, page.after or "", page.limit, *words, *narrowed)


class SqlCatalog(SqlJobs):
    """What a tenant has: jobs, endpoints and their runs."""

    async def find(
        self, tenant_id: str, *, wanted: EndpointFilter = EVERY_ENDPOINT, page: Page = FIRST_PAGE
    ) -> list[Endpoint]:
        rows = await self._database.read(*_finding(tenant_id, wanted, page))
        return await read_endpoints(rows, self._database.read_moment)

    async def amend_all(
        self, tenant_id: str, change: EndpointChange, *, wanted: EndpointFilter, page: Page = FIRST_PAGE
    ) -> list[ChangedEndpoint]:
        async def work(connection: Connection) -> list[ChangedEndpoint]:
            await connection.fetch(LOCK_TENANT, tenant_id)
            rows = await connection.fetch(*_finding(tenant_id, wanted, page))
            found = await self._endpoint_tables.locked(connection, tenant_id, [row[1] for row in rows])
            changed = await for_many(found, lambda many: [(one, change(one)) for one in many])
            return await self._endpoint_tables.amend(connection, changed)

        return await self._database.write(work)

    async def change_in_bulk(self, tenant_id: str, scope: BulkScope, decide: DecideBulkChange) -> BulkChange:
        async def work(connection: Connection) -> BulkChange:
            await connection.fetch(LOCK_TENANT, tenant_id)
            current = await self._current_state(connection, tenant_id, scope)
            decided = await beside_loop(decide, current)
            return await self._write_bulk_change(connection, tenant_id, current, decided)

        return await self._database.write(work)

    async def _write_bulk_change(
        self, connection: Connection, tenant_id: str, current: BulkState, decided: BulkChange
    ) -> BulkChange:
        tables = self._endpoint_tables
        touched = await self._write_jobs(connection, tenant_id, decided)
        jobs = await tables.jobs_by_id(
            connection, tenant_id, {one.endpoint.job_id for one in decided.endpoints}
        )
        decided = await for_many(decided.endpoints, lambda _: checked_bulk_change(decided, tenant_id, jobs))
        new = [one for one in decided.endpoints if one.endpoint.id not in current.endpoints]
        old = [one for one in decided.endpoints if one.endpoint.id in current.endpoints]
        await tables.add_all(connection, [one.endpoint for one in new])
        await tables.record(connection, new)
        await tables.amend(connection, [(current.endpoints[one.endpoint.id], one) for one in old])
        await _write_rules(connection, tenant_id, decided)
        await _write_routes(connection, tenant_id, decided)
        if new or touched:
            await wake_workers(connection, [tenant_id])
        return decided

    async def _write_jobs(self, connection: Connection, tenant_id: str, decided: BulkChange) -> bool:
        """Write the jobs, and let their endpoints follow; were there any?"""
        touched = {*decided.removed_jobs, *(job.id for job in decided.jobs)}
        if not touched:
            return False
        await connection.execute(DROP, tenant_id, list(decided.removed_jobs))
        await drop_uses(connection, tenant_id, "job", decided.removed_jobs)
        await connection.executemany(PUT, [write_job(job) for job in decided.jobs])
        await put_job_uses(connection, decided.jobs)
        await self._follow(connection, tenant_id, touched)
        return True

    async def _current_state(self, connection: Connection, tenant_id: str, scope: BulkScope) -> BulkState:
        read = self._database.read_moment
        rows = await connection.fetch(JOBS_WITHIN, tenant_id, list(scope.job_ids), scope.applied)
        jobs = {job.id: job for job in await read_jobs(rows, read)}
        wanted = (list(scope.job_ids | jobs.keys()), list(scope.endpoint_ids))
        rows = await connection.fetch(ENDPOINTS_WITHIN, tenant_id, *wanted)
        locked = await self._endpoint_tables.locked(connection, tenant_id, [row[0] for row in rows])
        endpoints = {one.id: one for one in locked}
        rows = await connection.fetch(rules.LIST_WITHIN, tenant_id, wanted[0], list(scope.rule_ids))
        found = {rule.id: rule for rule in await read_rows(rows, lambda row: rules.read_rule(row, read))}
        live = await connection.fetchval(COUNT_LIVE, tenant_id)
        elsewhere = live - sum(one.live for one in endpoints.values())
        rows = await connection.fetch(alert_routes.OF_TENANTS, [tenant_id]) if scope.routes else ()
        routes = {route.id: route for route in (alert_routes.read_route(row, read) for row in rows)}
        return BulkState(jobs, endpoints, elsewhere, found, routes)


async def _write_rules(connection: Connection, tenant_id: str, decided: BulkChange) -> None:
    if decided.removed_rules:
        await connection.executemany(
            rules.REMOVE, [(tenant_id, rule_id) for rule_id in decided.removed_rules]
        )
    if decided.rules:
        await connection.executemany(rules.PUT, [rules.write_rule(rule) for rule in decided.rules])


async def _write_routes(connection: Connection, tenant_id: str, decided: BulkChange) -> None:
    removed = [(tenant_id, route_id) for route_id in decided.removed_routes]
    for statement in (alert_routes.REMOVE, alert_routes.DROP_MESSAGES) if removed else ():
        await connection.executemany(statement, removed)
    if decided.routes:
        await connection.executemany(
            alert_routes.PUT, [alert_routes.write_route(route) for route in decided.routes]
        )
