"""A worker says how it is."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any

import aiohttp
import pytest
from prometheus_client import CollectorRegistry

from cadenza.adapters.null import NoLog
from cadenza.adapters.stores.memory import MemoryStore
from cadenza.adapters.stores.memory.scheduling.runs import MemoryRuns
from cadenza.domain.errors import Unavailable
from cadenza.engine.retention import RetentionLoop
from cadenza.ports.scheduling import Retention
from cadenza.roots.wiring.health import HealthServer, is_alive
from cadenza.roots.wiring.worker import RestartableWorker
from cadenza.testing import FakeClock, FakeIds, FakeLog
from cadenza.testing.contracts.harness import MINUTE, Bench


class FrozenWorker:
    """A loop that stands still."""

    in_flight = 3

    def __init__(self, clock: FakeClock) -> None:
        self.alive_at = clock.now()


class Away:
    """A store that does not answer."""

    async def check(self) -> None:
        raise Unavailable("The database does not answer.")


@asynccontextmanager
async def asked(store: Any, clock: FakeClock) -> AsyncIterator[Any]:
    health = HealthServer.for_worker(
        FrozenWorker(clock), store=store, clock=clock, registry=CollectorRegistry()
    )
    async with (
        health.serve("127.0.0.1", 0) as port,
        aiohttp.ClientSession(f"http://127.0.0.1:{port}") as client,
    ):
        yield client


async def test_a_worker_that_goes_round_is_healthy_and_ready() -> None:
    clock = FakeClock()
    async with asked(MemoryStore(FakeIds()).health, clock) as client:
        for path in ("/healthz", "/readyz"):
            answer = await client.get(path)
            assert answer.status == 200
            assert await answer.json() == {
                "status": "ok",
                "in_flight": 3,
                "alive_at": "2025-01-01T00:00:00Z",
            }


async def test_a_worker_that_hangs_is_not_healthy() -> None:
    clock = FakeClock()
    async with asked(MemoryStore(FakeIds()).health, clock) as client:
        clock.jump(2 * MINUTE)
        assert (await client.get("/healthz")).status == 503


async def test_a_worker_without_its_store_lives_but_is_not_ready() -> None:
    async with asked(Away(), FakeClock()) as client:
        assert (await client.get("/healthz")).status == 200
        answer = await client.get("/readyz")
        assert answer.status == 503
        assert (await answer.json())["status"] == "The database does not answer."


async def test_a_port_that_is_taken_is_one_sentence() -> None:
    clock = FakeClock()
    store, registry = MemoryStore(FakeIds()), CollectorRegistry()
    health = HealthServer.for_worker(FrozenWorker(clock), store=store.health, clock=clock, registry=registry)
    async with health.serve("127.0.0.1", 0) as port:
        with pytest.raises(Unavailable, match=f"Port {port} cannot be listened on"):
            async with health.serve("127.0.0.1", port):
                pass


async def test_old_runs_are_forgotten_at_the_start_and_every_hour() -> None:
    store, clock, log = MemoryStore(FakeIds()), FakeClock(manual=True), FakeLog()
    bench = Bench(store)
    endpoint = await bench.add()
    await bench.run_once()
    keeping = asyncio.create_task(
        RetentionLoop(store=store, clock=clock, log=log, retention=Retention(timedelta(minutes=30))).run()
    )
    await clock.advance(MINUTE)
    assert len(await bench.runs(endpoint)) == 1
    await clock.advance(61 * MINUTE)
    assert await bench.runs(endpoint) == []
    assert log.events("info") == ["deleted old runs"]
    keeping.cancel()


async def test_upkeep_survives_a_store_that_is_away() -> None:
    class Nowhere(MemoryRuns):
        async def delete_old_runs(self, retention: Retention, now: datetime) -> int:
            raise Unavailable("The database does not answer.")

    store = MemoryStore(FakeIds())
    store.runs = Nowhere(store.tables)
    clock = FakeClock(manual=True)
    keeping = asyncio.create_task(
        RetentionLoop(store=store, clock=clock, log=NoLog(), retention=Retention()).run()
    )
    await clock.advance(61 * MINUTE)
    assert not keeping.done()
    keeping.cancel()


def test_a_worker_that_had_no_reason_to_look_is_alive() -> None:
    clock, idle_at = FakeClock(), list[datetime]()
    worker = RestartableWorker(
        lambda: FrozenWorker(clock),  # type: ignore[arg-type,return-value]
        lambda: idle_at[-1] if idle_at else None,
    )
    clock.jump(10 * MINUTE)
    assert not is_alive(worker, clock)
    idle_at.append(clock.now())
    assert is_alive(worker, clock)
    clock.jump(2 * MINUTE)
    assert not is_alive(worker, clock)
