"""Limits of runs, kept by four worker processes on PostgreSQL while 2,000 endpoints are due each second.

Each lap has a database, a number of workers, and functions that take 20 ms. What was in flight, and how much
began, is counted from what the functions themselves noted by one clock; not from what Cadenza recorded.
"""

import argparse
import asyncio
import json
import os
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.fill_database import fill_postgres
from benchmarks.servers import Meter, a_server, new_database
from benchmarks.workers import CLOCK
from tests.postgres import Cluster

from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.domain.access.run_limit import LimitKind, RunLimit

WORKERS = 4
TAKES_MS = 20
EVERY_S = 5
TENANT, JOB = "tenant-0", "default"
LIMITS: dict[str, dict[str, int]] = {
    "none": {},
    "roomy": {"max_in_flight": 400},
    "in_flight": {"max_in_flight": 20},
    "a_minute": {"max_per_minute": 1_500},
}
SECOND = 1_000_000_000


class Lap(NamedTuple):
    """What the functions noted, and what it cost."""

    runs: list[tuple[int, int]]
    """When each began and ended."""
    seconds: float
    cpu: float

    def summary(self, limit: dict[str, int]) -> dict[str, Any]:
        """The figures; `kept` says whether the limit was."""
        most, busiest = most_in_flight(self.runs), most_in_a_minute(self.runs)
        kept = most <= limit.get("max_in_flight", most) and busiest <= limit.get("max_per_minute", busiest)
        return {
            **limit,
            "runs_per_second": round(len(self.runs) / self.seconds),
            "most_in_flight": most,
            "most_in_a_minute": busiest,
            "cpu_us": round(self.cpu / max(1, len(self.runs)) * 1e6),
            "kept": kept,
        }


def most_in_flight(runs: Iterable[tuple[int, int]]) -> int:
    """How many functions were at work at the same time, at most."""
    steps = sorted(step for began, ended in runs for step in ((began, 1), (ended, -1)))
    most = now = 0
    for _, step in steps:
        now += step
        most = max(most, now)
    return most


def most_in_a_minute(runs: Iterable[tuple[int, int]]) -> int:
    """How many began within any minute, at most."""
    begins = sorted(began for began, _ in runs)
    most = first = 0
    for last, began in enumerate(begins):
        while began - begins[first] >= 60 * SECOND:
            first += 1
        most = max(most, last - first + 1)
    return most


async def set_limit(url: str, given: dict[str, int]) -> None:
    """Add the limit of the lap."""
    if given:
        pool = PostgresPool(url)
        most, pace = given.get("max_in_flight"), given.get("max_per_minute")
        limit = RunLimit(
            tenant_id=TENANT, kind=LimitKind.JOB, name=JOB, max_in_flight=most, max_per_minute=pace
        )
        await PostgresStore(pool, TimeOrderedIds()).limits.put_limit(limit)
        await pool.close()


async def join(url: str, path: Path) -> Process:
    """A worker."""
    arguments = ("-m", "benchmarks.limited_process", url, str(TAKES_MS), str(path))
    process = await asyncio.create_subprocess_exec(sys.executable, *arguments, stdin=PIPE, stdout=PIPE)
    assert process.stdout is not None
    assert await process.stdout.readline() == b"ready\n"
    return process


async def lap(cluster: Cluster, name: str, *, rate: int, seconds: float) -> Lap:
    """Let workers run for a while under a limit."""
    url = await new_database(cluster, name)
    apart, every_ms = timedelta(seconds=1) / rate, EVERY_S * 1_000
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / str(number) for number in range(WORKERS)]
        processes = await asyncio.gather(*(join(url, path) for path in paths))
        due_at = CLOCK.now() + timedelta(seconds=5)
        await fill_postgres(url, rate * EVERY_S, due_at=due_at, every_ms=every_ms, apart=apart)
        await set_limit(url, LIMITS[name])
        await asyncio.sleep(max(0.0, (due_at - CLOCK.now()).total_seconds()))
        meter = Meter(cluster, [process.pid for process in processes])
        await meter.time(asyncio.sleep(seconds))
        for process in processes:
            assert process.stdin is not None
            process.stdin.close()
        assert {await process.wait() for process in processes} == {0}
        lines = [line for path in paths for line in path.read_text().splitlines()]
    runs = [(int(began), int(ended)) for began, ended in (line.split() for line in lines)]
    first = min((began for began, _ in runs), default=0)
    last = max((ended for _, ended in runs), default=SECOND)
    return Lap(runs, (last - first) / SECOND, meter.cpu)


async def measure(rate: int, seconds: float) -> dict[str, Any]:
    """A lap for each limit, and one without."""
    with a_server() as cluster:
        laps = {name: await lap(cluster, name, rate=rate, seconds=seconds) for name in LIMITS}
    figures: dict[str, Any] = {name: one.summary(LIMITS[name]) for name, one in laps.items()}
    share = figures["roomy"]["runs_per_second"] / figures["none"]["runs_per_second"]
    return {**figures, "rate": rate, "roomy_of_none": round(share, 2), "load": round(os.getloadavg()[0], 1)}


def main() -> None:
    """Print the figures, for people or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rate", type=int, default=2_000, help="endpoints that are due each second")
    parser.add_argument("--seconds", type=float, default=12)
    given = parser.parse_args()
    figures = asyncio.run(measure(given.rate, given.seconds))
    print(json.dumps(figures, indent=None if given.json else 2))


if __name__ == "__main__":
    main()
