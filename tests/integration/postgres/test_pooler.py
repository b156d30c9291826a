"""Behind a pooler that hands sessions around, everything works but notifications, and the doctor says so."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta

import pytest
from tests.integration.postgres.pooler import Pooler, a_pooler

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.dispatch.callables import CallableDispatcher
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.null import NoLog
from cadenza.adapters.stores.postgres.listen_notify import notifications_arrive
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.domain.errors import Unavailable
from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.endpoint import EndpointKey, evolve
from cadenza.domain.scheduling.run import RunStatus
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.domain.scheduling.target import CallableTarget
from cadenza.ports.store import Store
from cadenza.roots.doctor import _nudges
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.stores import open_store
from cadenza.roots.wiring.worker import ProcessContext, open_loop
from cadenza.testing import an_endpoint

NOW = SystemClock().now


@pytest.fixture
async def pooler(database_url: str) -> AsyncIterator[Pooler]:
    async with a_pooler(database_url) as pooler:
        yield pooler


def settings(pooler: Pooler) -> Settings:
    return Settings(database_url=pooler.url, database_prepared=False, poll_ms=200, jitter_ms=0)


async def succeeded(store: Store, key: EndpointKey, times: int) -> None:
    while True:
        if [run.status for run in await store.runs.runs(key)] == [RunStatus.SUCCESS] * times:
            return
        await asyncio.sleep(0.02)


async def test_endpoints_run_and_a_nudge_is_found_by_looking(pooler: Pooler) -> None:
    callables, log = CallableDispatcher(), NoLog()
    callables.register("work", lambda: "done")
    endpoint = an_endpoint(
        "e", target=CallableTarget("work"), baseline=Every(3_600_000), next_run_at=NOW() + timedelta(hours=1)
    )
    async with open_store(settings(pooler), ids=TimeOrderedIds(), log=log) as store:
        await store.endpoints.add(endpoint)
        context = ProcessContext(store=store, clock=SystemClock(), log=log, callables=callables)
        async with open_loop(settings(pooler), context) as loop, asyncio.timeout(30):
            running = asyncio.create_task(loop.run())
            for number in range(1, 4):
                await store.endpoints.amend(
                    endpoint.key, lambda old: ChangedEndpoint(evolve(old, next_run_at=NOW()))
                )
                await succeeded(store, endpoint.key, number)
            loop.stop()
            await running
    assert pooler.transactions > 20


async def ask_often(pool: PostgresPool) -> None:
    try:
        for _ in range(20):
            await pool.ask("SELECT 1")
            await pool.ask("SELECT 2")
    finally:
        await pool.close()


async def test_prepared_statements_that_are_lost_are_told_with_the_setting(pooler: Pooler) -> None:
    with pytest.raises(Unavailable, match="set CADENZA_DATABASE_PREPARED=false"):
        await ask_often(PostgresPool(pooler.url, size=1))


async def test_the_doctor_says_that_nudges_are_found_by_looking(pooler: Pooler) -> None:
    found = await _nudges(settings(pooler))
    assert found.passed
    assert found.detail.endswith("workers poll every 200 ms.")


async def test_a_server_itself_is_heard(database_url: str, pooler: Pooler) -> None:
    for url, heard in ((database_url, True), (pooler.url, False)):
        pool = PostgresPool(url, size=1, prepared=False)
        assert await notifications_arrive(pool, "check test", within_s=0.5 if not heard else 5) is heard
        await pool.close()
