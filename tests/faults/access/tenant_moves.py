"""Two installations with workers of their own, a tenant that is at work, and processes that move it."""

import asyncio
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg
from tests.faults.scheduling.worker_pool import WorkerPool

from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.target import CallableTarget
from cadenza.testing import an_endpoint

TENANT, NEIGHBOUR = "default", "neighbour"
RUN_MS = (0.0, 20.0)
EVERY_MS = 500
RUNS = """
SELECT id, endpoint_id, slot, status, verdict, started_at FROM runs WHERE tenant_id = $1
ORDER BY started_at NULLS FIRST, id
"""
SERVED = """
SELECT count(*) FROM (
    SELECT FROM runs WHERE tenant_id = $1 AND claimed_at > $2 GROUP BY endpoint_id HAVING count(*) > 1
) AS served
"""
CLAIMABLE = "SELECT count(*) FROM endpoint_states WHERE tenant_id = $1 AND requirement NOT LIKE 'moving:%'"


class TwoCells(NamedTuple):
    """The databases of two installations, and their workers."""

    source: str
    target: str
    pools: tuple[WorkerPool, WorkerPool]

    def mover(self) -> "subprocess.Popen[str]":
        """A process that moves the tenant."""
        ends = ["--from", self.source, "--to", self.target, "--tenant", TENANT]
        return subprocess.Popen(
            [sys.executable, "-m", "cadenza", "move", *ends],
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )

    async def served_at_target(self, endpoints: int) -> None:
        """Wait until each endpoint of the tenant has run at the target."""
        now = datetime.now(UTC)
        async with asyncio.timeout(180):
            while (await asked(self.target, SERVED, TENANT, now))[0][0] < endpoints:  # noqa: ASYNC110 - It tells nobody.
                await asyncio.sleep(0.1)

    async def faults(self) -> list[str]:
        """What is wrong after the move: a run without a record, a slot that was lost or ran twice."""
        runs = await asked(self.target, RUNS, TENANT)
        beside = {row[0] for row in await asked(self.source, RUNS, NEIGHBOUR)}
        dispatched = self.pools[0].dispatched_runs() + self.pools[1].dispatched_runs()
        own = {run_id: times for run_id, times in dispatched.items() if run_id not in beside}
        recorded = {row[0] for row in runs}
        left = {row[0] for row in await asked(self.source, RUNS, TENANT)} - recorded
        return [
            *(f"run {run_id} was dispatched and is not at the target" for run_id in own.keys() - recorded),
            *(f"run {run_id} was dispatched {times} times" for run_id, times in own.items() if times > 1),
            *(f"run {run_id} is at the source alone" for run_id in left),
            *_slot_faults(runs),
        ]


def _slot_faults(runs: list[Any]) -> Iterator[str]:
    verdicts: Counter[tuple[str, datetime]] = Counter()
    started: Counter[tuple[str, datetime]] = Counter()
    for _, endpoint_id, slot, status, verdict, started_at in runs:
        verdicts[endpoint_id, slot] += verdict
        started[endpoint_id, slot] += started_at is not None and status != "cancelled"
        if status == "abandoned":
            yield f"{endpoint_id} at {slot} was abandoned"
    yield from (f"{slot} has {count} verdicts" for slot, count in verdicts.items() if count > 1)
    yield from (f"{slot} has no verdict" for slot, count in started.items() if count and not verdicts[slot])
    yield from (f"{slot} ran {count} times" for slot, count in started.items() if count > 1)


@contextmanager
def two_cells(source: str, target: str, folder: Path) -> Iterator[TwoCells]:
    """Start a worker in each; everything is ended when the test is."""
    with ExitStack() as stack:
        pools = []
        for name, url in (("source", source), ("target", target)):
            (folder / name).mkdir()
            pool = stack.enter_context(WorkerPool(url, folder / name, run_ms=RUN_MS))
            pool.start()
            pools.append(pool)
        yield TwoCells(source, target, (pools[0], pools[1]))


async def populate(url: str, count: int) -> None:
    """A tenant with endpoints that run again and again, and a neighbour that does the same."""
    store = PostgresStore(PostgresPool(url), TimeOrderedIds())
    now, target = datetime.now(UTC), CallableTarget("note")
    fields = {"baseline": Every(EVERY_MS), "target": target}
    try:
        for number in range(count):
            at = now + timedelta(milliseconds=EVERY_MS * number / count)
            await store.endpoints.add(an_endpoint(f"e-{number:04}", next_run_at=at, **fields))
        await store.endpoints.add(an_endpoint("beat", next_run_at=now, tenant_id=NEIGHBOUR, **fields))
    finally:
        await store.close()


async def asked(url: str, statement: str, *values: Any) -> list[Any]:
    """The rows of a statement."""
    server = await asyncpg.connect(url)
    try:
        return await server.fetch(statement, *values)
    finally:
        await server.close()


async def works_at(cells: TwoCells) -> tuple[bool, bool]:
    """At which ends workers can claim something of the tenant."""
    source, target = [
        bool((await asked(url, CLAIMABLE, TENANT))[0][0]) for url in (cells.source, cells.target)
    ]
    return source, target


async def longest_gap_s(url: str, tenant_id: str) -> float:
    """The longest time in which nothing of a tenant started."""
    started: list[datetime] = [row[5] for row in await asked(url, RUNS, tenant_id) if row[5] is not None]
    return max((after - before).total_seconds() for before, after in pairwise(started))


def wait_for_lines(process: "subprocess.Popen[str]", lines: int) -> None:
    """Wait until a process has told so much of what it did, or has ended."""
    assert process.stderr is not None
    for _ in range(lines):
        if not process.stderr.readline():
            return
