"""Many workers, planners and sweepers at once."""

import asyncio
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from tests.integration.postgres.postgres_fixtures import a_store, fill, many

from cadenza.domain.scheduling.due import claim as claimed_by_the_rules
from cadenza.domain.scheduling.endpoint import Job, Lease, OpenSlot, evolve
from cadenza.domain.scheduling.hint import IntervalHint, OneShotHint
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import Outcome, RunStatus, open_run
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.ports.catalog import EVERY_ENDPOINT, BulkChange, BulkScope, BulkState, Page
from cadenza.testing import FakeIds, an_endpoint
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.contracts.harness import Bench

OTHERS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
"""
DEADLOCKS = "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
LATER = NEW_YEAR.replace(year=2026)
JOB = BulkScope(frozenset({"default"}))
WORKER = Path(__file__).with_name("claiming_process.py")


async def test_of_several_processes_one_gets_each_endpoint(database_url: str) -> None:
    async with a_store(database_url) as store:
        await fill(store._pool, many(3_000, NEW_YEAR))
    works = [asyncio.to_thread(claim_in_a_process, database_url) for _ in range(4)]
    lines = [line for out in await asyncio.gather(*works) for line in out.split("\n") if line]
    assert len({line.split()[1] for line in lines}) == 3_000
    assert Counter(line.split()[0] for line in lines) == Counter(f"default-{n:06}" for n in range(3_000))


def claim_in_a_process(url: str) -> str:
    return subprocess.check_output([sys.executable, WORKER, url], text=True, timeout=60)


async def test_claiming_settling_steering_and_sweeping_at_once_never_lock_each_other_out(
    database_url: str,
) -> None:
    """A deadlock would be retried once; so that none goes unseen, the server counts them."""
    async with a_store(database_url) as store:
        await store.catalog.add_job(Job(id="default", name="all"))
        await fill(store._pool, many(60, NEW_YEAR))
    await asyncio.gather(*(bustle(database_url, number) for number in range(4)))
    assert await deadlocks(database_url) == 0
    async with a_store(database_url) as store:
        bench = Bench(store)
        bench.pass_ms(3_600_000)
        await bench.sweep()
        held = await store._pool.ask("SELECT count(*) FROM endpoint_states WHERE lease_token IS NOT NULL")
        assert held[0][0] == 0


async def bustle(url: str, number: int) -> None:
    chance = random.Random(number)
    async with a_store(url, name=f"worker-{number}") as store:
        bench = Bench(store)
        for lap in range(25):
            bench.pass_ms(chance.randrange(60_000))
            claims = await bench.claim(limit=30, within_ms=5_000)
            chance.shuffle(claims)
            steered = asyncio.gather(
                *(bench.tool(one.endpoint, "propose_interval", intervalMs=30_000) for one in claims[:3])
            )
            together = store.catalog.amend_all(
                "default", ChangedEndpoint, wanted=EVERY_ENDPOINT, page=Page(30)
            )
            await asyncio.gather(steered, together, bench.start(*claims), bench.sweep())
            if lap % 5 == 0:
                await bench.switch("default", active=False)
                await bench.switch("default", active=True)
            await asyncio.gather(
                bench.end(*claims), store.catalog.change_in_bulk("default", JOB, written_backwards)
            )


def written_backwards(current: BulkState) -> BulkChange:
    relabelled = [
        ChangedEndpoint(evolve(one, labels={"failures": str(one.failure_count)}))
        for one in current.endpoints.values()
    ]
    return BulkChange(list(current.jobs.values()), relabelled[::-1])


async def test_a_deadlock_would_be_seen(database_url: str) -> None:
    async with a_store(database_url) as store:
        await fill(store._pool, many(2, NEW_YEAR))
    there, back = await asyncpg.connect(database_url), await asyncpg.connect(database_url)
    both = asyncio.Barrier(2)
    refused = await asyncio.gather(
        lock_both(there, both, order="ASC"), lock_both(back, both, order="DESC"), return_exceptions=True
    )
    await asyncio.gather(there.close(), back.close())
    assert sum(isinstance(one, asyncpg.DeadlockDetectedError) for one in refused) == 1
    assert await deadlocks(database_url) == 1


async def lock_both(connection: Any, both: asyncio.Barrier, *, order: str) -> None:
    async with connection.transaction():
        await connection.execute("SET LOCAL deadlock_timeout = '50ms'")
        for place in range(2):
            await connection.execute(
                f"SELECT FROM endpoint_states ORDER BY endpoint_id {order} LIMIT 1 OFFSET {place} FOR UPDATE"
            )
            if place == 0:
                await both.wait()


async def deadlocks(url: str) -> int:
    """How many there were: each backend tells what it saw when it ends, if not before."""
    connection = await asyncpg.connect(url)
    try:
        async with asyncio.timeout(60):
            while await connection.fetchval(OTHERS):  # noqa: ASYNC110 - nobody tells when they have gone
                await asyncio.sleep(0.02)
        return int(await connection.fetchval(DEADLOCKS))
    finally:
        await connection.close()


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"open_slot": OpenSlot(NEW_YEAR, 2), "next_source": Source.RETRY},
        {"paused_until": NEW_YEAR.replace(microsecond=1)},
        {"quota_opens_at": NEW_YEAR.replace(microsecond=1), "open_slot": OpenSlot(NEW_YEAR, 1)},
        {"interval_hint": IntervalHint(5_000, LATER, "surge"), "failure_count": 2, "missed_slots": 3},
        {"one_shot_hint": OneShotHint(NEW_YEAR, LATER, "look"), "next_source": Source.AI_ONESHOT},
        {"skipped_at": NEW_YEAR, "pause_reason": "was paused", "last_run_at": NEW_YEAR, "abandoned_count": 1},
    ],
    ids=str,
)
async def test_the_statement_claims_as_the_rules_do(database_url: str, fields: dict[str, Any]) -> None:
    async with a_store(database_url) as store:
        bench = Bench(store)
        await bench.add(**fields)
        (claim,) = await bench.claim(within_ms=1)
        lease = Lease(claim.token, claim.run_id, claim.lease_until)
        rules = claimed_by_the_rules(an_endpoint(**fields), lease, bench.clock.now())
        held = rules._replace(place=claim.place, version=claim.version)
        assert claim == held, "the rules know neither places nor versions, and all else"
        assert await store.runs.run("default", claim.run_id) == open_run(rules)


async def test_with_more_tenants_than_one_claim_can_serve_each_gets_its_turn(database_url: str) -> None:
    async with a_store(database_url) as store:
        small = [one for number in range(120) for one in many(1, NEW_YEAR, f"small-{number:03}")]
        await fill(store._pool, [*many(2_000, NEW_YEAR.replace(year=2024), "big"), *small])
        bench = Bench(store)
        served = [claim.endpoint.tenant_id for _ in range(8) for claim in await bench.claim(limit=20)]
        assert len({tenant_id for tenant_id in served if tenant_id != "big"}) == 120


async def test_a_batch_with_one_steered_and_one_lost_run_is_settled_each_in_its_way(
    database_url: str,
) -> None:
    async with a_store(database_url) as store:
        await fill(store._pool, many(10, NEW_YEAR))
        bench = Bench(store)
        claims = await bench.claim()
        await bench.end(claims[3])
        await bench.tool(claims[7].endpoint, "propose_interval", intervalMs=20_000)
        answers = await bench.end(*claims)
        assert [answer is None for answer in answers] == [number == 3 for number in range(10)]
        after = await bench.fresh(claims[7].endpoint)
        assert (after.next_run_at, after.next_source) == (bench.ms(20_000), Source.AI_INTERVAL)
        assert all([len(await bench.runs(claim.endpoint)) == 1 for claim in claims])


async def test_two_stores_with_ids_of_their_own_share_a_database(database_url: str) -> None:
    async with a_store(database_url, name="a") as one, a_store(database_url, name="b") as two:
        await Bench(one).add()
        claim = await Bench(two).claim_one()
        assert claim.run_id.startswith("b-")
        assert FakeIds("b").new() < claim.run_id


@pytest.mark.parametrize("garbage", ["a\0b", "half \ud800", "\N{SNOWMAN}\0"])
async def test_garbage_from_one_endpoint_costs_the_others_nothing(database_url: str, garbage: str) -> None:
    async with a_store(database_url) as store:
        await fill(store._pool, many(2, NEW_YEAR))
        bench = Bench(store)
        bad, good = await bench.claim()
        failed = Outcome(RunStatus.FAILURE, error=garbage, reason=garbage, response={garbage: 2**70})
        settled = await bench.finalize([(bad, failed), (good, Outcome(RunStatus.SUCCESS, response=garbage))])
        assert None not in settled
        (run,) = await bench.runs(bad.endpoint)
        assert run.error is not None
        assert run.error.startswith(garbage[0])
