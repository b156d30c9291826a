"""What it would cost to shard by tenant: the hot tables in hash partitions by tenant, beside the plain ones.

Two things are measured: how many shards each operation of the store looks into when it is about one
tenant's endpoint, by the server's own count, and what a claim, a settling and an idle tick cost.
"""

import argparse
import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import timedelta
from functools import partial
from typing import NamedTuple

import asyncpg
from benchmarks.fill_database import fill_postgres
from benchmarks.idle import ticks_on_postgres
from benchmarks.servers import Meter, a_server, new_database
from benchmarks.workers import CAN_RUN, CLOCK, CRON
from tests.postgres import Cluster, partition_by_tenant

from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.domain.scheduling.abandon import abandonment, tidy
from cadenza.domain.scheduling.due import recheck
from cadenza.domain.scheduling.run import Claim, Completion, Outcome, RunStatus
from cadenza.domain.scheduling.settle import settle
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.ports.scheduling import SweepRules

LOOKED_INTO = """
    SELECT count(*) FROM pg_stat_user_tables
    WHERE relname LIKE 'endpoint_states_shard_%' AND coalesce(idx_scan, 0) + coalesce(seq_scan, 0) > 0
"""
DONE = Outcome(RunStatus.SUCCESS)
LEASE = timedelta(minutes=1)
HOUR, AN_HOUR_MS = timedelta(hours=1), 3_600_000


class Options(NamedTuple):
    """How much to measure."""

    endpoints: int
    batch: int
    tenants: int
    shards: int
    laps: int


@asynccontextmanager
async def a_store(url: str) -> AsyncIterator[PostgresStore]:
    """A store whose connections end with it, and leave their counts behind."""
    store = PostgresStore(PostgresPool(url), TimeOrderedIds())
    try:
        yield store
    finally:
        await store.close()


async def claimed(store: PostgresStore, limit: int) -> list[Claim]:
    """Lease what is due."""
    now = CLOCK.now()
    return await store.endpoints.claim_due(
        now=now, within=timedelta(0), lease_until=now + LEASE, limit=limit, can_run=CAN_RUN
    )


async def settled(store: PostgresStore, claims: list[Claim]) -> None:
    """Settle it, the rules included."""
    now = CLOCK.now()
    answers = await store.endpoints.finalize(
        [Completion(claim, DONE, now) for claim in claims], partial(settle, now=now, cron=CRON)
    )
    assert None not in answers


def operations(claim: Claim) -> dict[str, Callable[[PostgresStore], Awaitable[object]]]:
    """What a worker and a planner do with one endpoint, in an order in which all of it finds something."""
    now = CLOCK.now()
    rules = SweepRules(
        lambda endpoint, run, death: settle(
            endpoint, abandonment(endpoint, run, death, now), now=now, cron=CRON
        ),
        partial(tidy, now=now),
    )
    return {
        "get": lambda store: store.endpoints.get(claim.key),
        "start": lambda store: store.endpoints.start([claim], partial(recheck, now=now)),
        "renew": lambda store: store.endpoints.renew([claim], now + 2 * LEASE),
        "finalize": lambda store: settled(store, [claim]),
        "amend": lambda store: store.endpoints.amend(claim.key, ChangedEndpoint),
        "runs": lambda store: store.runs.runs(claim.key),
        "next_due": lambda store: store.endpoints.next_due(CAN_RUN),
        "claim_due": lambda store: claimed(store, 10),
        "sweep": lambda store: store.endpoints.sweep(now=now + 3 * LEASE, limit=10, rules=rules),
    }


async def looked_into(url: str) -> dict[str, int]:
    """By operation: how many shards it looks into, by the server's count."""
    async with a_store(url) as store:
        (claim,) = await claimed(store, 1)
    counts = {}
    for name, operation in operations(claim).items():
        connection = await asyncpg.connect(url)
        await connection.execute("SELECT pg_stat_reset()")
        async with a_store(url) as store:
            await operation(store)
        await asyncio.sleep(0.2)
        await connection.execute("SELECT pg_stat_clear_snapshot()")
        counts[name] = await connection.fetchval(LOOKED_INTO)
        await connection.close()
    return counts


async def lap(cluster: Cluster, url: str, options: Options) -> dict[str, float]:
    """Claim and settle everything once; microseconds of wall time and CPU for one endpoint."""
    claiming, settling = Meter(cluster), Meter(cluster)
    claims: list[Claim] = []

    async def claim() -> None:
        claims[:] = await claimed(store, options.batch)
        assert len(claims) == options.batch

    async with a_store(url) as store:
        for _ in range(options.endpoints // options.batch):
            await claiming.time(claim())
            await settling.time(settled(store, claims))
    return {
        f"{part}_{kind}": round(spent / options.endpoints * 1e6, 1)
        for part, meter in (("claim", claiming), ("settle", settling))
        for kind, spent in (("us", meter.system_clock), ("cpu_us", meter.cpu))
    }


async def measured(cluster: Cluster, options: Options) -> dict[str, dict[str, float]]:
    """Plain and sharded laps take turns; the best of each figure counts."""
    best: dict[str, dict[str, float]] = {"plain": {}, "sharded": {}}
    for number in range(options.laps):
        for name, figures in best.items():
            url = await new_database(cluster, f"{name}_{number}")
            if name == "sharded":
                await partition_by_tenant(url, options.shards)
            due_at = CLOCK.now() - timedelta(seconds=1)
            await fill_postgres(
                url, options.endpoints, due_at=due_at, every_ms=AN_HOUR_MS, tenants=options.tenants
            )
            lapped = await lap(cluster, url, options)
            lapped["tick_us"] = (await ticks_on_postgres(url, 500))["p50_ms"] * 1e3
            figures |= {key: min(value, figures.get(key, value)) for key, value in lapped.items()}
    return best


async def measure(options: Options) -> dict[str, object]:
    """All of it on one server."""
    with a_server() as cluster:
        url = await new_database(cluster, "counted")
        await partition_by_tenant(url, options.shards)
        await fill_postgres(
            url,
            options.tenants,
            due_at=CLOCK.now() - 2.5 * HOUR,  # Two are due: for the first claim, and for the last.
            apart=HOUR,
            every_ms=AN_HOUR_MS,
            tenants=options.tenants,
        )
        counts = await looked_into(url)
        best = await measured(cluster, options)
    plain, sharded = best["plain"], best["sharded"]
    cost = {key: round(sharded[key] / plain[key], 2) for key in plain}
    return {"shards": options.shards, "looked_into": counts, **best, "cost": cost}


def main() -> None:
    """Print the figures, for people or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--batch", type=int, default=500)
    parser.add_argument("--tenants", type=int, default=64)
    parser.add_argument("--shards", type=int, default=8)
    parser.add_argument("--laps", type=int, default=3)
    given = parser.parse_args()
    options = Options(given.count, given.batch, given.tenants, given.shards, given.laps)
    print(json.dumps(asyncio.run(measure(options)), indent=None if given.json else 2))


if __name__ == "__main__":
    main()
