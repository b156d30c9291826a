"""Reading runs and hints."""

import sqlite3

from cadenza.adapters.stores.common import missing
from cadenza.adapters.stores.sql.rows import from_micros, read_hint, read_open_run, read_run
from cadenza.adapters.stores.sqlite import statements as sql
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.domain.scheduling.run import Run
from cadenza.domain.scheduling.steer import HintRecord
from cadenza.ports.catalog import Page


def run(connection: sqlite3.Connection, tenant_id: str, run_id: str) -> Run:
    """One run, open or closed: in this order, because it may close in between."""
    row = connection.execute(sql.OPEN_RUN_OF_TENANT, (tenant_id, run_id)).fetchone()
    still_open = None if row is None else read_open_run(row, from_micros)
    if still_open is not None:
        return still_open
    row = connection.execute(sql.RUN, (tenant_id, run_id)).fetchone()
    if row is None:
        raise missing("run", run_id)
    return read_run(row, from_micros)


def runs(connection: sqlite3.Connection, key: EndpointKey, page: Page) -> list[Run]:
    """An endpoint's runs, newest first; one that is open is the newest of all."""
    wanted = {"tenant_id": key.tenant_id, "endpoint_id": key.id, "after": page.after, "limit": page.limit}
    found = [read_run(row, from_micros) for row in connection.execute(sql.RUNS, wanted)]
    row = connection.execute(sql.GET, key).fetchone()
    still_open = None if row is None else read_open_run(row, from_micros)
    if still_open is not None and (page.after is None or still_open.id < page.after):
        found = [still_open, *found][: page.limit]
    return found


def hints(connection: sqlite3.Connection, key: EndpointKey, page: Page) -> list[HintRecord]:
    """The history of an endpoint's hints, newest first."""
    rows = connection.execute(sql.HINTS, (*key, page.limit, int(page.after or 0)))
    return [read_hint(row, from_micros) for row in rows]
