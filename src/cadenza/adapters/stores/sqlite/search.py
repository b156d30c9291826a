"""Finding endpoints and closed runs."""

import sqlite3
from datetime import datetime

import orjson

from cadenza.adapters.stores.sql.catalog_rows import found, looked_at, narrow, read_ended
from cadenza.adapters.stores.sql.rows import from_micros, read_endpoint, read_run, to_micros
from cadenza.adapters.stores.sqlite import catalog_statements as sql
from cadenza.domain.planning.health import Ended
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.ports.catalog import EndpointFilter, Page, RunFilter, RunsFound

AFTER_ALL = "\U0010ffff"
"""Sorts behind every id."""


def find(
    connection: sqlite3.Connection, tenant_id: str, *, wanted: EndpointFilter, page: Page
) -> list[Endpoint]:
    """A tenant's endpoints, in the order of their ids."""
    job_id, labels, archived = wanted
    statement = sql.find(len(labels), of_job=job_id is not None, archived=archived is not None)
    names = [word for label in labels.items() for word in label]
    narrowed = [one for one in (job_id, archived) if one is not None]
    rows = connection.execute(statement, (tenant_id, page.after or "", *names, *narrowed, page.limit))
    return [read_endpoint(row, from_micros) for row in rows]


def find_runs(connection: sqlite3.Connection, tenant_id: str, *, wanted: RunFilter, page: Page) -> RunsFound:
    """A tenant's closed runs, newest first."""
    of_all = wanted.endpoint_id is None
    asked = {
        "tenant_id": tenant_id,
        **wanted._asdict(),
        "statuses": _listed(wanted.statuses),
        "sources": _listed(wanted.sources),
        "since": to_micros(wanted.since),
        "until": to_micros(wanted.until),
        "after": page.after or AFTER_ALL,
        "limit": page.limit + 1,
        "scan": looked_at(wanted),
    }
    # The floor comes first: runs that are added meanwhile are above it, and none is met twice.
    lowest = sql.FLOOR if of_all else sql.FLOOR_OF_ENDPOINT
    row = connection.execute(lowest, asked).fetchone() if narrow(wanted) else None
    asked["floor"] = row[0] if row else ""
    rows = connection.execute(sql.FIND_RUNS if of_all else sql.FIND_RUNS_OF_ENDPOINT, asked)
    return found([read_run(one, from_micros) for one in rows], page, row[0] if row else None)


def ended(connection: sqlite3.Connection, key: EndpointKey, *, since: datetime, limit: int) -> list[Ended]:
    """How an endpoint's newest runs ended; they never overlap, so they are in the order of their ends."""
    begin = to_micros(since) or 0
    newest = connection.execute(sql.ENDS, (*key, limit))
    return read_ended([row for row in newest if row[0] >= begin], from_micros)


def _listed(words: frozenset[str]) -> str | None:
    return orjson.dumps(sorted(words)).decode() if words else None
