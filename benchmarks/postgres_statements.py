"""What a claim and a settling cost on PostgreSQL, beside the smallest statements that do the same work."""

import argparse
import asyncio
import json
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import NamedTuple, Protocol

import asyncpg
from benchmarks.fill_database import fill_postgres
from benchmarks.postgres_ceiling import PostgresCeiling
from benchmarks.servers import Meter, a_server, new_database
from benchmarks.workers import CAN_RUN, CRON
from tests.postgres import Cluster

from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.stores.postgres.partitions import ensure_partitions
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.domain.scheduling.run import Claim, Completion, Outcome, RunStatus
from cadenza.domain.scheduling.settle import settle

NOW = datetime(2026, 5, 1, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
DONE = Outcome(RunStatus.SUCCESS)


class Size(NamedTuple):
    """How much there is to do, and in which batches."""

    endpoints: int
    batch: int


class Cycle(Protocol):
    """Something that claims and settles a batch at a time."""

    async def prepare(self, count: int) -> None:
        """Keep the endpoints."""

    async def claim(self) -> None:
        """Lease a batch."""

    async def settle(self) -> None:
        """Settle it."""

    async def close(self) -> None:
        """Hang up."""


class StoreCycle:
    """Claims and settles through the store."""

    def __init__(self, url: str, batch: int) -> None:
        self._pool = PostgresPool(url)
        self._store = PostgresStore(self._pool, TimeOrderedIds())
        self._batch = batch
        self._claims: list[Claim] = []

    async def prepare(self, count: int) -> None:
        """Keep the endpoints."""
        await ensure_partitions(self._pool, NOW)
        await fill_postgres(self._pool.url, count, due_at=NOW, every_ms=60_000)

    async def claim(self) -> None:
        """Lease a batch."""
        self._claims = await self._store.endpoints.claim_due(
            now=NOW, within=timedelta(0), lease_until=NOW + MINUTE, limit=self._batch, can_run=CAN_RUN
        )
        assert len(self._claims) == self._batch

    async def settle(self) -> None:
        """Settle it, the rules included."""
        completions = [Completion(claim, DONE, NOW) for claim in self._claims]
        settled = await self._store.endpoints.finalize(completions, partial(settle, now=NOW, cron=CRON))
        assert None not in settled

    async def close(self) -> None:
        """Hang up."""
        await self._store.close()


class CeilingCycle:
    """The same by the smallest statements."""

    def __init__(self, url: str, batch: int) -> None:
        self._url = url
        self._batch = batch

    async def prepare(self, count: int) -> None:
        """Keep the rows."""
        self._connection = await asyncpg.connect(self._url)
        self._ceiling = PostgresCeiling(self._connection, self._batch)
        await self._ceiling.fill(count, NOW)

    async def claim(self) -> None:
        """Lease a batch."""
        assert len(await self._ceiling.claim(NOW)) == self._batch

    async def settle(self) -> None:
        """Record the runs and the next moments."""
        await self._ceiling.settle(NOW, [NOW + MINUTE] * self._batch)

    async def close(self) -> None:
        """Hang up."""
        await self._connection.close()


async def lap(cycle: Cycle, cluster: Cluster, size: Size) -> dict[str, float]:
    """Claim and settle everything once; microseconds for one endpoint."""
    await cycle.prepare(size.endpoints)
    claiming, settling = Meter(cluster), Meter(cluster)
    for _ in range(size.endpoints // size.batch):
        await claiming.time(cycle.claim())
        await settling.time(cycle.settle())
    await cycle.close()
    return {
        f"{part}_{kind}": round(spent / size.endpoints * 1e6, 1)
        for part, meter in (("claim", claiming), ("settle", settling))
        for kind, spent in (
            ("us", meter.system_clock),
            ("cpu_us", meter.cpu),
            ("server_us", meter.server_cpu),
        )
    }


async def measure(size: Size, laps: int) -> dict[str, float]:
    """The best lap of each, which the machine's other work disturbed least."""
    best: dict[str, float] = {}
    with a_server() as cluster:
        for number in range(laps):
            url = await new_database(cluster, f"lap_{number}")
            for name, cycle in (
                ("ceiling", CeilingCycle(url, size.batch)),
                ("store", StoreCycle(url, size.batch)),
            ):
                for key, spent in (await lap(cycle, cluster, size)).items():
                    best[f"{name}_{key}"] = min(best.get(f"{name}_{key}", float("inf")), spent)
    return best | summed(best)


def summed(best: dict[str, float]) -> dict[str, float]:
    """Whole cycles, and how near the store comes to the ceiling."""
    cycles = {
        f"{name}_cycle_{kind}": round(best[f"{name}_claim_{kind}"] + best[f"{name}_settle_{kind}"], 1)
        for name in ("ceiling", "store")
        for kind in ("us", "cpu_us")
    }
    return {**cycles, "ratio": round(cycles["ceiling_cycle_us"] / cycles["store_cycle_us"], 2)}


def main() -> None:
    """Print the figures, for people or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--batch", type=int, default=500)
    parser.add_argument("--laps", type=int, default=3)
    options = parser.parse_args()
    results = asyncio.run(measure(Size(options.count, options.batch), options.laps))
    if options.json:
        print(json.dumps(results))
    else:
        print("\n".join(f"{name:>24} {value:>10,}" for name, value in results.items()))


if __name__ == "__main__":
    main()
