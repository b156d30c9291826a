"""Changing many endpoints and jobs together, inside the writer's transaction."""

import sqlite3

import orjson

from cadenza.adapters.stores.common import arranged
from cadenza.adapters.stores.sql.catalog_rows import read_job, write_job
from cadenza.adapters.stores.sql.rows import from_micros, read_endpoint
from cadenza.adapters.stores.sql.rule_rows import read_rule, write_rule
from cadenza.adapters.stores.sql.rule_statements import SQLITE as RULES
from cadenza.adapters.stores.sqlite import catalog_statements as sql
from cadenza.adapters.stores.sqlite.endpoints import add, find_job, write_amended
from cadenza.adapters.stores.sqlite.jobs import drop_job, follow
from cadenza.adapters.stores.sqlite.search import find
from cadenza.adapters.stores.sqlite.settle import in_micros
from cadenza.domain.scheduling.endpoint import Job
from cadenza.domain.scheduling.steer import Amended, EndpointChange
from cadenza.ports.catalog import Arrange, Arrangement, EndpointFilter, Estate, Extent, Page
from cadenza.ports.ids import Ids


def amend_all(
    connection: sqlite3.Connection,
    tenant_id: str,
    change: EndpointChange,
    *,
    wanted: EndpointFilter,
    page: Page,
    ids: Ids,
) -> tuple[list[Amended], bool]:
    """Apply a change to a page of endpoints; also tells whether a next run has moved."""
    found = find(connection, tenant_id, wanted=wanted, page=page)
    written = [write_amended(connection, one, change(one), ids=ids) for one in found]
    return [amended for amended, _ in written], any(moved for _, moved in written)


def arrange(
    connection: sqlite3.Connection, tenant_id: str, extent: Extent, *, decide: Arrange, ids: Ids
) -> tuple[Arrangement, bool]:
    """Write what is decided about an estate; also tells whether something may be due earlier."""
    estate = _estate(connection, tenant_id, extent)
    decided = decide(estate)
    for job_id in decided.jobs_gone:
        drop_job(connection, tenant_id, job_id)
    connection.executemany(sql.PUT_JOB, [in_micros(write_job(job)) for job in decided.jobs])
    decided = arranged(decided, tenant_id, _jobs(connection, tenant_id, decided))
    touched = [*decided.jobs_gone, *(job.id for job in decided.jobs)]
    follow(connection, tenant_id, touched)
    moved = [_write(connection, one, estate, ids) for one in decided.endpoints]
    connection.executemany(RULES.remove, [(tenant_id, rule_id) for rule_id in decided.rules_gone])
    connection.executemany(RULES.put, [in_micros(write_rule(rule)) for rule in decided.rules])
    return decided, bool(touched) or any(moved)


def _write(connection: sqlite3.Connection, one: Amended, estate: Estate, ids: Ids) -> bool:
    before = estate.endpoints.get(one.endpoint.id)
    if before is None:
        add(connection, one.endpoint)
    return write_amended(connection, before or one.endpoint, one, ids=ids)[1] or before is None


def _estate(connection: sqlite3.Connection, tenant_id: str, extent: Extent) -> Estate:
    rows = connection.execute(sql.JOBS_OF_ESTATE, (tenant_id, _listed(extent.job_ids), extent.applied))
    jobs = {job.id: job for job in (read_job(row, from_micros) for row in rows)}
    asked = {
        "tenant_id": tenant_id,
        "job_ids": _listed(extent.job_ids | jobs.keys()),
        "endpoint_ids": _listed(extent.endpoint_ids),
    }
    rows = connection.execute(sql.ENDPOINTS_OF_ESTATE, asked)
    endpoints = {one.id: one for one in (read_endpoint(row, from_micros) for row in rows)}
    rows = connection.execute(RULES.of_estate, (tenant_id, asked["job_ids"], _listed(extent.rule_ids)))
    rules = {rule.id: rule for rule in (read_rule(row, from_micros) for row in rows)}
    (live,) = connection.execute(sql.COUNT_LIVE, (tenant_id,)).fetchone()
    return Estate(jobs, endpoints, live - sum(one.live for one in endpoints.values()), rules)


def _jobs(connection: sqlite3.Connection, tenant_id: str, decided: Arrangement) -> dict[str, Job]:
    """The jobs of the endpoints that are written, as they are by now."""
    ids = {one.endpoint.job_id for one in decided.endpoints}
    jobs = [find_job(connection, tenant_id, job_id) for job_id in ids]
    return {job.id: job for job in jobs if job is not None}


def _listed(ids: frozenset[str]) -> str:
    return orjson.dumps(sorted(ids)).decode()
