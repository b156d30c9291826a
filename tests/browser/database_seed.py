"""A SQLite file with endpoints and a past, written as the store itself writes it."""

import asyncio
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sql.rows import write_run
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.settle import in_micros
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.domain.scheduling.endpoint import Endpoint, Job
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.ports.catalog import BulkChange, BulkScope

STATUSES = (*[RunStatus.SUCCESS] * 17, RunStatus.FAILURE, RunStatus.TIMEOUT, RunStatus.SKIPPED)
ADD = f"INSERT INTO runs ({', '.join(Run._fields)}) VALUES ({', '.join('?' * len(Run._fields))})"


def seed(path: Path, endpoints: list[Endpoint], *, runs: int) -> None:
    """Keep endpoints, and so many runs of each in turn, the newest a moment ago."""
    with ThreadPoolExecutor(1) as thread:  # The browser has a loop of its own in this one.
        thread.submit(asyncio.run, _keep(path, endpoints)).result()
    with sqlite3.connect(path) as file:
        file.executemany(ADD, (in_micros(write_run(run)) for run in past(endpoints, runs)))
    file.close()


async def _keep(path: Path, endpoints: list[Endpoint]) -> None:
    await migrate(f"sqlite:///{path}")
    store = SqliteStore(SqliteFile(path, synchronous="OFF"), TimeOrderedIds())
    jobs = [Job(id=job_id, name=job_id) for job_id in sorted({one.job_id for one in endpoints})]
    scene = BulkChange(jobs=jobs, endpoints=[ChangedEndpoint(one) for one in endpoints])
    await store.catalog.change_in_bulk("default", BulkScope(), lambda _: scene)
    await store.close()


def past(endpoints: list[Endpoint], runs: int) -> Iterator[Run]:
    """Runs of all endpoints in turn over the last forty minutes, oldest first."""
    now, step = datetime.now(UTC), timedelta(minutes=40) / max(runs, 1)
    for place in range(runs):
        endpoint = endpoints[place % len(endpoints)]
        due = now - step * (runs - place) - timedelta(seconds=1)
        status = STATUSES[place * 7 % len(STATUSES)]
        took = 20 + place * 37 % 400
        started = due + timedelta(milliseconds=place * 13 % 90)
        yield Run(
            id=f"{place:032x}",
            tenant_id=endpoint.tenant_id,
            job_id=endpoint.job_id,
            endpoint_id=endpoint.id,
            slot=due,
            due_at=due,
            attempt=1,
            source=Source.BASELINE_INTERVAL,
            claimed_at=due,
            started_at=started,
            finished_at=started + timedelta(milliseconds=took),
            status=status,
            duration_ms=took,
            late_ms=place * 13 % 90,
            coalesced=0,
            verdict=True,
            error="it answered 503" if status is RunStatus.FAILURE else None,
        )
