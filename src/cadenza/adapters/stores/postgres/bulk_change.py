"""Changing many endpoints and jobs together, in one transaction.

The tenant is held first, then its rows are locked in the order of their ids, as
workers do: so nobody waits for somebody who waits for them.
"""

from cadenza.adapters.stores.common import arranged
from cadenza.adapters.stores.postgres import catalog_statements as sql
from cadenza.adapters.stores.postgres.arrays import as_it_is
from cadenza.adapters.stores.postgres.endpoints import (
    add_all,
    jobs_by_id,
    locked,
    record,
    write_amended,
)
from cadenza.adapters.stores.postgres.jobs import drop_jobs, follow
from cadenza.adapters.stores.postgres.pool import Connection
from cadenza.adapters.stores.postgres.search import asked
from cadenza.adapters.stores.postgres.statements import RING
from cadenza.adapters.stores.sql.catalog_rows import read_job, write_job
from cadenza.adapters.stores.sql.rule_rows import read_rule, write_rule
from cadenza.adapters.stores.sql.rule_statements import POSTGRES as RULES
from cadenza.domain.scheduling.steer import Amended, EndpointChange
from cadenza.ports.catalog import Arrange, Arrangement, EndpointFilter, Estate, Extent, Page
from cadenza.ports.ids import Ids


async def amend_all(
    connection: Connection,
    tenant_id: str,
    change: EndpointChange,
    *,
    wanted: EndpointFilter,
    page: Page,
    ids: Ids,
) -> list[Amended]:
    """Apply a change to a page of endpoints."""
    await connection.fetch(sql.HOLD_TENANT, tenant_id)
    rows = await connection.fetch(*asked(tenant_id, wanted, page))
    found = await locked(connection, tenant_id, [row[1] for row in rows])
    return await write_amended(connection, [(one, change(one)) for one in found], ids)


async def arrange(
    connection: Connection, tenant_id: str, extent: Extent, *, decide: Arrange, ids: Ids
) -> Arrangement:
    """Write what is decided about an estate."""
    await connection.fetch(sql.HOLD_TENANT, tenant_id)
    estate = await _estate(connection, tenant_id, extent)
    decided = decide(estate)
    touched = await _write_jobs(connection, tenant_id, decided)
    jobs = await jobs_by_id(connection, tenant_id, {one.endpoint.job_id for one in decided.endpoints})
    decided = arranged(decided, tenant_id, jobs)
    new = [one for one in decided.endpoints if one.endpoint.id not in estate.endpoints]
    old = [one for one in decided.endpoints if one.endpoint.id in estate.endpoints]
    await add_all(connection, [one.endpoint for one in new])
    await record(connection, new, ids)
    await write_amended(connection, [(estate.endpoints[one.endpoint.id], one) for one in old], ids)
    await _write_rules(connection, tenant_id, decided)
    if new or touched:
        await connection.fetch(RING)
    return decided


async def _write_rules(connection: Connection, tenant_id: str, decided: Arrangement) -> None:
    if decided.rules_gone:
        await connection.executemany(RULES.remove, [(tenant_id, rule_id) for rule_id in decided.rules_gone])
    if decided.rules:
        await connection.executemany(RULES.put, [write_rule(rule) for rule in decided.rules])


async def _write_jobs(connection: Connection, tenant_id: str, decided: Arrangement) -> bool:
    """Write the jobs, and let their endpoints follow; were there any?"""
    touched = {*decided.jobs_gone, *(job.id for job in decided.jobs)}
    if not touched:
        return False
    await drop_jobs(connection, tenant_id, decided.jobs_gone)
    await connection.executemany(sql.PUT_JOB, [write_job(job) for job in decided.jobs])
    await follow(connection, tenant_id, touched)
    return True


async def _estate(connection: Connection, tenant_id: str, extent: Extent) -> Estate:
    rows = await connection.fetch(sql.JOBS_OF_ESTATE, tenant_id, list(extent.job_ids), extent.applied)
    jobs = {job.id: job for job in (read_job(row, as_it_is) for row in rows)}
    wanted = (list(extent.job_ids | jobs.keys()), list(extent.endpoint_ids))
    rows = await connection.fetch(sql.ENDPOINTS_OF_ESTATE, tenant_id, *wanted)
    endpoints = {one.id: one for one in await locked(connection, tenant_id, [row[0] for row in rows])}
    rows = await connection.fetch(RULES.of_estate, tenant_id, wanted[0], list(extent.rule_ids))
    rules = {rule.id: rule for rule in (read_rule(row, as_it_is) for row in rows)}
    live = await connection.fetchval(sql.COUNT_LIVE, tenant_id)
    return Estate(jobs, endpoints, live - sum(one.live for one in endpoints.values()), rules)
