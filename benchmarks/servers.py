"""PostgreSQL servers for measurements, and what they and other processes cost."""

import os
from collections.abc import Awaitable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

import asyncpg
from tests.postgres import Cluster, on_database, wheel_programs

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.stores.postgres.partitions import ensure_partitions
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.sql.migrate import migrate


@contextmanager
def a_server() -> Iterator[Cluster]:
    """A server of our own, with its default durability, gone in the end."""
    cluster = Cluster(wheel_programs(), options="-c shared_buffers=128MB")
    try:
        yield cluster
    finally:
        cluster.remove()


async def empty_database(cluster: Cluster, name: str) -> str:
    """A database without any table."""
    connection = await asyncpg.connect(cluster.url)
    await connection.execute(f"CREATE DATABASE {name}")
    await connection.close()
    return on_database(cluster.url, name)


async def new_database(cluster: Cluster, name: str) -> str:
    """A database with the schema in it, and a partition for today's runs."""
    url = await empty_database(cluster, name)
    await migrate(url)
    pool = PostgresPool(url)
    await ensure_partitions(pool, SystemClock().now())
    await pool.close()
    return url


class Meter:
    """Wall time, and CPU of some processes and of a server's."""

    def __init__(self, cluster: Cluster, pids: Iterable[int] = (os.getpid(),)) -> None:
        self._server = cluster.folder / "data"
        self._pids = tuple(pids)
        self.system_clock, self.own_cpu, self.server_cpu = 0.0, 0.0, 0.0

    @property
    def cpu(self) -> float:
        """Seconds of all of them."""
        return self.own_cpu + self.server_cpu

    async def time(self, step: Awaitable[None]) -> None:
        """Add what one step took; a process that ends meanwhile counts for nothing."""
        began, own, server = perf_counter(), self._own(), self._servers()
        await step
        self.system_clock += perf_counter() - began
        self.own_cpu += _since(own, self._own())
        self.server_cpu += _since(server, self._servers())

    def _own(self) -> dict[int, float]:
        return {pid: cpu_of(pid) for pid in self._pids}

    def _servers(self) -> dict[int, float]:
        return {pid: cpu_of(pid) for pid in _children(self._server)}


def _since(before: dict[int, float], after: dict[int, float]) -> float:
    return sum(max(0.0, spent - before.get(pid, 0.0)) for pid, spent in after.items())


def _children(data: Path) -> list[int]:
    postmaster = int((data / "postmaster.pid").read_text().split()[0])
    return [
        int(child) for child in Path(f"/proc/{postmaster}/task/{postmaster}/children").read_text().split()
    ]


def cpu_of(pid: int) -> float:
    """Seconds of a process and all its threads, to the nanosecond; none if it has ended."""
    try:
        threads = list(Path(f"/proc/{pid}/task").iterdir())
        return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9
    except OSError:
        return 0.0


def resident_mb(pid: int) -> float:
    """Megabytes of a process that are in memory."""
    status = Path(f"/proc/{pid}/status").read_text().splitlines()
    (line,) = [line for line in status if line.startswith("VmRSS:")]
    return int(line.split()[1]) / 1024
