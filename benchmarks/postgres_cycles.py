"""Full cycles through the worker's own loop on PostgreSQL, by one process and by two, beside the ceiling.

A cycle is a claim, a function that does nothing, its run and the next moment; every endpoint is always
due. The ceiling does the same by the smallest statements, in the same batches and the same run. Workers
are tuned, with the ceiling's batches and four of them in flight, or have the product's defaults. Laps take
turns, and a ratio is the median of the rounds: the machine's other work meets all of them. On a busy
machine, which `load` tells, the CPU of a cycle says more than the speed: two workers and a server that
want two cores suffer more from others than a ceiling that wants one.
"""

import argparse
import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, Process
from datetime import timedelta
from statistics import median
from typing import NamedTuple

import asyncpg
from benchmarks.fill_database import fill_postgres
from benchmarks.postgres_ceiling import PostgresCeiling
from benchmarks.servers import Meter, a_server, new_database
from benchmarks.workers import CLOCK
from tests.postgres import Cluster

WARM_UP_S = 1.5
PROCESS_COUNTS = {
    "ceiling_1": ("ceiling", 1),
    "worker_1": ("worker", 1),
    "default_1": ("default", 1),
    "default_2": ("default", 2),
    "worker_2": ("worker", 2),
    "ceiling_2": ("ceiling", 2),
}
GOALS = {"ratio": 0.5, "cpu_us": 120, "gain": 1.3, "default_of_tuned": 0.85}


class Options(NamedTuple):
    """How much to measure."""

    endpoints: int
    batch: int
    seconds: float
    rounds: int


class Lap(NamedTuple):
    """How many cycles some processes completed, and in which time."""

    cycles: int
    seconds: float
    own_cpu: float
    server_cpu: float

    @property
    def per_second(self) -> float:
        """Cycles per second."""
        return self.cycles / self.seconds

    @property
    def cpu_us(self) -> float:
        """Microseconds of CPU for a cycle, all processes together."""
        return (self.own_cpu + self.server_cpu) / self.cycles * 1e6

    @property
    def cores(self) -> float:
        """How many cores were busy with it, on average."""
        return (self.own_cpu + self.server_cpu) / self.seconds

    def summary(self) -> dict[str, float]:
        """The figures of it."""
        return {
            "per_second": round(self.per_second),
            "cores": round(self.cores, 2),
            "cpu_us": round(self.cpu_us, 1),
            "own_cpu_us": round(self.own_cpu / self.cycles * 1e6, 1),
            "server_cpu_us": round(self.server_cpu / self.cycles * 1e6, 1),
        }


async def join(role: str, url: str, batch: int) -> Process:
    """A process that cycles."""
    arguments = ("-m", "benchmarks.cycle_process", role, url, str(batch))
    return await asyncio.create_subprocess_exec(sys.executable, *arguments, stdin=PIPE, stdout=PIPE)


async def counted(processes: list[Process]) -> int:
    """How many cycles these processes have completed."""
    total = 0
    for process in processes:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"\n")
        total += int(await process.stdout.readline())
    return total


async def leave(process: Process) -> None:
    """Let it end."""
    assert process.stdin is not None
    process.stdin.close()
    assert await process.wait() == 0


async def lap(cluster: Cluster, url: str, processes: list[Process], seconds: float) -> Lap:
    """Measure these processes for a while, after a warm-up."""
    await counted(processes)
    await asyncio.sleep(WARM_UP_S)
    meter, before = Meter(cluster, [process.pid for process in processes]), await counted(processes)
    await meter.time(asyncio.sleep(seconds))
    cycles = await counted(processes) - before
    assert cycles > 0, f"nothing ran on {url}"
    return Lap(cycles, meter.system_clock, meter.own_cpu, meter.server_cpu)


async def fill(role: str, url: str, count: int) -> None:
    """Keep what the role works on, all of it due."""
    due_at = CLOCK.now() - timedelta(seconds=1)
    if role != "ceiling":
        await fill_postgres(url, count, due_at=due_at)
        return
    connection = await asyncpg.connect(url)
    await PostgresCeiling(connection, 1).fill(count, due_at)
    await connection.close()


async def measure(options: Options) -> dict[str, object]:
    """Laps take turns; of each kind the dearest are left out, which the machine's other work disturbed."""
    with a_server() as cluster:
        rounds = [await one_round(cluster, number, options) for number in range(options.rounds)]
    best = {name: min((one[name] for one in rounds), key=lambda lap: lap.cpu_us) for name in PROCESS_COUNTS}
    return {name: one.summary() for name, one in best.items()} | compared(rounds, best)


async def one_round(cluster: Cluster, number: int, options: Options) -> dict[str, Lap]:
    """One lap of each set of processes, each on a database of its own."""
    laps = {}
    for name, (role, size) in PROCESS_COUNTS.items():
        url = await new_database(cluster, f"{name}_{number}")
        await fill(role, url, options.endpoints)
        processes = [await join(role, url, options.batch) for _ in range(size)]
        laps[name] = await lap(cluster, url, processes, options.seconds)
        await asyncio.gather(*map(leave, processes))
    return laps


def compared(rounds: list[dict[str, Lap]], best: dict[str, Lap]) -> dict[str, object]:
    """How near the product comes to the ceiling."""

    def ratio(one: str, other: str) -> float:
        return median(laps[one].per_second / laps[other].per_second for laps in rounds)

    return {
        "ratio": round(ratio("worker_1", "ceiling_1"), 3),
        "ratio_of_two": round(ratio("worker_2", "ceiling_2"), 3),
        "cpu_us": round(best["worker_1"].cpu_us, 1),
        "cpu_ratio": round(median(laps["ceiling_1"].cpu_us / laps["worker_1"].cpu_us for laps in rounds), 3),
        "gain": round(ratio("worker_2", "worker_1"), 2),
        "default_ratio": round(ratio("default_1", "ceiling_1"), 3),
        "default_of_tuned": round(ratio("default_1", "worker_1"), 3),
        "default_cpu_us": round(best["default_1"].cpu_us, 1),
        "default_gain": round(ratio("default_2", "default_1"), 2),
        "gain_that_cores_allow": round(_gain_allowed(rounds), 2),
        "ceiling_gain": round(ratio("ceiling_2", "ceiling_1"), 2),
        "load": round(os.getloadavg()[0], 1),
        "goals": GOALS,
    }


def _gain_allowed(rounds: list[dict[str, Lap]]) -> float:
    """One worker keeps more than a core busy, its own and the server's: a second one gets what is left."""
    return (os.cpu_count() or 1) / median(laps["worker_1"].cores for laps in rounds)


def main() -> None:
    """Print the figures, for people or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--endpoints", type=int, default=20_000)
    parser.add_argument("--batch", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    results = asyncio.run(measure(Options(given.endpoints, given.batch, given.seconds, given.rounds)))
    print(json.dumps(results, indent=None if given.json else 2))


if __name__ == "__main__":
    main()
