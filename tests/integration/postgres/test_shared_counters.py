"""Counters and replies that many processes share."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest
from tests.integration.postgres.postgres_fixtures import a_store, fill, many

from cadenza.adapters.access.rate_limiter import RequestRateLimiter, SharedRateLimiter
from cadenza.adapters.stores.postgres import settle as plain
from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.adapters.stores.sql.access import tenants as usage
from cadenza.domain.access.key import Caller, Scope
from cadenza.domain.access.tenant import MonthlyUsage, month_of
from cadenza.ports.access import IdempotentReply
from cadenza.testing import FakeClock
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.contracts.harness import Bench

MINUTE = 60_000
LAPS = 8


@pytest.fixture
async def stores(database_url: str) -> AsyncIterator[list[PostgresStore]]:
    """Stores of several processes."""
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(a_store(database_url, name=f"process-{number}"))
            for number in range(3)
        ]


@pytest.mark.parametrize("per_minute", [6, 66, 6_000])
async def test_no_window_lets_in_more_than_it_may_over_all_processes(
    stores: list[PostgresStore], per_minute: int
) -> None:
    clock = FakeClock()
    doors = [SharedRateLimiter(store.rates, clock, per_minute=per_minute) for store in stores[:2]]
    allowance = per_minute // 6
    for _ in range(3):
        knocking = [door.take("caller") for _ in range(allowance + 5) for door in doors]
        answers = await asyncio.gather(*knocking)
        assert answers.count(None) == allowance
        assert {answer for answer in answers if answer is not None} == {10}
        clock.jump(10_000)


async def test_tokens_of_a_tenant_have_one_rate_over_all_processes(stores: list[PostgresStore]) -> None:
    clock = FakeClock()
    limiters = [
        RequestRateLimiter(store.rates, clock, per_minute=60, of_tenant_per_minute=240)
        for store in stores[:2]
    ]
    tokens = [Caller("north", frozenset({Scope.WRITE}), f"key:{number}") for number in range(80)]
    answers = await asyncio.gather(*(one.take(token) for token in tokens for one in limiters))
    assert answers.count(None) == 40
    elsewhere = Caller("south", frozenset({Scope.WRITE}), "key:south")
    assert await limiters[0].take(elsewhere) is None


async def test_windows_that_have_passed_leave_no_rows(stores: list[PostgresStore]) -> None:
    for window in range(100, 150):
        await stores[0].rates.draw(f"caller-{window}", window=window, amount=1)
    rows = await stores[0]._pool.ask("SELECT count(*) FROM rates")
    assert rows[0][0] == 7


async def test_rates_are_not_worth_a_log(stores: list[PostgresStore]) -> None:
    rows = await stores[0]._pool.ask(
        "SELECT relname FROM pg_class WHERE relpersistence = 'u' AND relkind = 'r'"
    )
    assert [row[0] for row in rows] == ["rates"]


async def test_workers_that_count_for_the_same_tenants_lose_no_run(
    stores: list[PostgresStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the same rows, in batches of many tenants, of which some were steered meanwhile."""
    tenants = [f"tenant-{number:03}" for number in range(100)]
    everything = [one for tenant_id in tenants for one in many(len(stores), NEW_YEAR, tenant_id)]
    await fill(stores[0]._pool, everything)
    for module, name in ((usage, "COUNT_RUNS"), (plain, "SETTLE_ORDINARY")):
        monkeypatch.setattr(module, name, getattr(module, name).replace(usage.SHARD, "0"))
    benches = [Bench(store) for store in stores]
    for _ in range(LAPS):
        batches = [await bench.claim(limit=len(tenants)) for bench in benches]
        steered = batches[-1][0].endpoint
        await benches[-1].tool(steered, "propose_interval", intervalMs=MINUTE)
        await asyncio.gather(*(bench.end(*batch) for bench, batch in zip(benches, batches, strict=True)))
        for bench in benches:
            bench.pass_ms(MINUTE)
    rows = await stores[0]._pool.ask("SELECT DISTINCT shard FROM usage")
    assert [row[0] for row in rows] == [0]
    quota_usage = await stores[0].tenants.quota_usage(tenants, month_of(NEW_YEAR))
    assert {standing.spent for standing in quota_usage.values()} == {MonthlyUsage(runs=len(stores) * LAPS)}


async def test_of_those_that_take_a_key_and_give_it_back_one_has_it_at_a_time(
    stores: list[PostgresStore],
) -> None:
    holding = most = served = 0

    async def serve(store: PostgresStore) -> None:
        nonlocal holding, most, served
        begun = IdempotentReply("same", NEW_YEAR)
        taken = await store.idempotency.begin_reply("north", "key", begun, stale_before=NEW_YEAR)
        if taken is None:
            holding += 1
            most, served = max(most, holding), served + 1
            await asyncio.sleep(0)
            holding -= 1
            await store.idempotency.drop_reply("north", "key", begun)

    async def keep_serving(store: PostgresStore) -> None:
        for _ in range(40):
            await serve(store)

    await asyncio.gather(*(keep_serving(store) for store in stores for _ in range(3)))
    assert most == 1
    assert served > 1
