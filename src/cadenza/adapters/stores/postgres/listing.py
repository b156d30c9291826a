"""Reading endpoints, runs and hints."""

from cadenza.adapters.stores.common import missing
from cadenza.adapters.stores.postgres import statements as sql
from cadenza.adapters.stores.postgres.arrays import as_it_is
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.sql.rows import read_endpoint, read_hint, read_open_run, read_run
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.run import Run
from cadenza.domain.scheduling.steer import HintRecord
from cadenza.ports.catalog import Page

AFTER_ALL = "\U0010ffff"
"""Sorts behind every id."""


async def get(pool: PostgresPool, key: EndpointKey) -> Endpoint:
    """The endpoint as it stands."""
    rows = await pool.ask(sql.GET, *key)
    if not rows:
        raise missing("endpoint", key.id)
    return read_endpoint(rows[0], as_it_is)


async def run(pool: PostgresPool, tenant_id: str, run_id: str) -> Run:
    """One run, open or closed; looked for in this order, as it may close meanwhile."""
    for row in await pool.ask(sql.OPEN_RUN, tenant_id, run_id):
        still_open = read_open_run(row, as_it_is)
        if still_open is not None:
            return still_open
    for row in await pool.ask(sql.RUN, tenant_id, run_id):
        return read_run(row, as_it_is)
    raise missing("run", run_id)


async def runs(pool: PostgresPool, key: EndpointKey, page: Page) -> list[Run]:
    """An endpoint's runs, newest first; one that is open is the newest of all."""
    rows = await pool.ask(sql.GET, *key)
    still_open = read_open_run(rows[0], as_it_is) if rows else None
    found = await pool.ask(sql.RUNS, *key, page.after or AFTER_ALL, page.limit)
    closed = [read_run(row, as_it_is) for row in found]
    if still_open is None or (page.after is not None and still_open.id >= page.after):
        return closed
    return [still_open, *(run for run in closed if run.id != still_open.id)][: page.limit]


async def hints(pool: PostgresPool, key: EndpointKey, page: Page) -> list[HintRecord]:
    """The history of an endpoint's hints, newest first."""
    rows = await pool.ask(sql.HINTS, *key, page.limit, int(page.after or 0))
    return [read_hint(row, as_it_is) for row in rows]
