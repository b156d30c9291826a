"""Claims are held beyond the places of a worker for runs that do not wait; what waits keeps to its places."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from tests.scheduling.worker.running_worker import (
    RunningWorker,
    on_manual_clock,
    on_system_clock,
    other_tasks,
    until,
)
from tests.scheduling.worker.worker_fixtures import (
    MINUTE,
    SUCCESS,
    ConcurrencyCounter,
    WorkerFixture,
)

from cadenza.adapters.clock import SystemStopwatch
from cadenza.adapters.dispatch.callables import CallableDispatcher
from cadenza.domain.access.places import places_for
from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.run import Claim, Outcome, Run, RunStatus
from cadenza.domain.scheduling.target import CallableTarget
from cadenza.engine.worker.execute import Executor
from cadenza.engine.worker.loop import LONGEST_QUEUE_MS
from cadenza.engine.worker.run_tasks import LONGEST_STEP_MS
from cadenza.ports.access import QuotaAnswer, QuotaRequest
from cadenza.ports.catalog import Page
from cadenza.ports.scheduling import RunsFound

PLACES = 20
CROWD = 1_000
HOUR = 60 * MINUTE


class AskedQuota:
    """A quota that allows everything, and notes how many were launched together."""

    def __init__(self) -> None:
        self.batches: list[int] = []

    async def check(self, requests: Sequence[QuotaRequest]) -> list[QuotaAnswer]:
        self.batches.append(len(requests))
        return [QuotaAnswer()] * len(requests)


def a_fixture(**settings: int) -> WorkerFixture:
    return on_manual_clock(**({"concurrency": PLACES, "claim_limit": 200} | settings))


async def a_crowd(fixture: WorkerFixture, name: str, count: int = CROWD, **fields: Any) -> None:
    """Many that are due at the same moment."""
    for number in range(count):
        await fixture.add(name, id=f"{name}-{number}", **({"tenant_id": name} | fields))


def launched_together(fixture: WorkerFixture) -> tuple[Executor, list[int]]:
    quota = AskedQuota()
    return Executor(dispatcher=fixture.dispatcher, quota=quota, clock=fixture.clock), quota.batches


def ran(fixture: WorkerFixture) -> Counter[str]:
    return Counter(claim.endpoint.name for claim in fixture.dispatcher.executed)


async def closed_runs(fixture: WorkerFixture, tenant_id: str) -> list[Run]:
    found: RunsFound = await fixture.store.port.runs.find_runs(tenant_id, page=Page(CROWD))
    return found.runs


async def test_runs_that_do_not_wait_are_claimed_in_ever_larger_batches() -> None:
    fixture = a_fixture()
    await a_crowd(fixture, "quick")
    executor, batches = launched_together(fixture)
    async with RunningWorker(fixture, executor=executor):
        await fixture.clock.advance(100)
    assert ran(fixture) == {"quick": CROWD}
    assert batches[0] == places_for(0, free=PLACES)
    assert PLACES < max(batches) <= 200


async def test_runs_that_wait_are_claimed_as_there_are_places() -> None:
    fixture = a_fixture()
    await a_crowd(fixture, "slow", 100)
    counter = ConcurrencyCounter(lambda: fixture.clock.sleep(10))
    fixture.dispatcher.on("slow", counter)
    executor, batches = launched_together(fixture)
    async with RunningWorker(fixture, executor=executor):
        await fixture.clock.advance(1_000)
    assert ran(fixture) == {"slow": 100}
    assert max(batches) == counter.most == places_for(0, free=PLACES)


async def test_what_begins_to_wait_keeps_to_the_places_and_is_given_back() -> None:
    fixture = a_fixture()
    await a_crowd(fixture, "quick")
    await a_crowd(fixture, "slow", 100, next_run_at=fixture.at(500))
    counter = ConcurrencyCounter(lambda: fixture.clock.sleep(HOUR))
    fixture.dispatcher.on("slow", counter)
    executor, batches = launched_together(fixture)
    async with RunningWorker(fixture, executor=executor, grace_ms=0):
        await fixture.clock.advance(500)
        assert batches[-1] > PLACES
        assert counter.most == places_for(0, free=PLACES)
        await fixture.clock.advance(LONGEST_QUEUE_MS + 10)
        leased = [end for end in await fixture.store.port.catalog.find("slow") if end.lease is not None]
        assert len(leased) == counter.most
        await fixture.clock.advance(MINUTE)
        assert counter.most == places_for(0, free=PLACES)


async def test_what_is_given_back_has_not_failed_and_is_run_by_another_worker() -> None:
    first = a_fixture()
    await a_crowd(first, "quick")
    await a_crowd(first, "slow", 30, next_run_at=first.at(500), baseline=Every(HOUR))
    first.takes(HOUR, "slow")
    second = WorkerFixture(clock=first.clock, store=first.store.port, concurrency=100)
    async with RunningWorker(first, grace_ms=0):
        await first.clock.advance(550)
        async with RunningWorker(second):
            await first.clock.advance(2_000)
    assert ran(first)["slow"] + ran(second)["slow"] == 30
    assert ran(second)["slow"] == 30 - places_for(0, free=PLACES)
    ended = [run for run in await closed_runs(first, "slow") if run.status == "cancelled"]
    assert {run.reason for run in ended} >= {"its worker had no place for it"}
    assert all(run.started_at is None for run in ended if run.reason == "its worker had no place for it")


async def test_a_tenant_that_begins_to_hang_leaves_places_to_its_neighbours() -> None:
    fixture = a_fixture()
    await a_crowd(fixture, "quick")
    await a_crowd(fixture, "hanging", 150, next_run_at=fixture.at(500))
    fixture.takes(HOUR, "hanging")
    moments = fixture.moments("neighbour")
    await fixture.add("neighbour", tenant_id="neighbour", in_ms=500, baseline=Every(1_000))
    async with RunningWorker(fixture, grace_ms=0):
        await fixture.clock.advance(10_000)
    assert ran(fixture)["hanging"] == places_for(0, free=PLACES)
    assert len(moments) >= 9
    assert max(moment % 1_000 - 500 for moment in moments) <= LONGEST_QUEUE_MS


async def test_one_place_means_one_claim_and_one_run_at_a_time() -> None:
    fixture = a_fixture(concurrency=1)
    await a_crowd(fixture, "quick", 50)
    executor, batches = launched_together(fixture)
    async with RunningWorker(fixture, executor=executor) as worker:
        await fixture.clock.advance(500)
        assert worker.loop.in_flight <= 1
    assert ran(fixture) == {"quick": 50}
    assert set(batches) == {1}


async def test_while_suspects_are_tried_each_claim_needs_a_place() -> None:
    fixture = a_fixture()
    fields: dict[str, Any] = {"abandoned_count": 1, "target": CallableTarget("function")}
    await a_crowd(fixture, "suspect", 1, **fields)
    await a_crowd(fixture, "quick", target=CallableTarget("function"))
    fixture.takes(5_000, "suspect")
    executor, batches = launched_together(fixture)
    async with RunningWorker(fixture, executor=executor, can_run=lambda: ["callable:function"]):
        await fixture.clock.advance(3_000)
        beside_a_suspect = max(batches)
    assert ran(fixture) == {"suspect": 1, "quick": CROWD}
    assert beside_a_suspect <= PLACES


async def test_a_worker_whose_queue_stands_still_takes_no_step() -> None:
    fixture = a_fixture()
    await a_crowd(fixture, "quick")
    await a_crowd(fixture, "slow", 100, next_run_at=fixture.at(500))
    fixture.takes(HOUR, "slow")
    async with RunningWorker(fixture, grace_ms=0):
        await fixture.clock.advance(510)
        before = other_tasks()
        await asyncio.sleep(0)
        assert other_tasks() == before


async def test_a_worker_that_stops_releases_what_has_no_place() -> None:
    fixture = a_fixture()
    await a_crowd(fixture, "quick")
    await a_crowd(fixture, "slow", 100, next_run_at=fixture.at(500))
    fixture.takes(1_000, "slow")
    async with RunningWorker(fixture, grace_ms=5_000) as worker:
        await fixture.clock.advance(500)
        worker.loop.stop()
    runs = await closed_runs(fixture, "slow")
    reasons = Counter((run.status, run.reason) for run in runs)
    assert reasons[(RunStatus.SUCCESS, None)] == places_for(0, free=PLACES)
    assert reasons[(RunStatus.CANCELLED, "its worker stopped")] == len(runs) - places_for(0, free=PLACES) > 0


async def test_functions_in_threads_wait_and_take_a_place_each() -> None:
    fixture, dispatcher = on_system_clock(concurrency=PLACES, claim_limit=200), CallableDispatcher(threads=2)
    dispatcher.register("function", lambda: None)
    await a_crowd(fixture, "threaded", 100, target=CallableTarget("function"))
    quota = AskedQuota()
    executor = Executor(dispatcher=dispatcher, quota=quota, clock=fixture.clock)
    async with RunningWorker(fixture, executor=executor, stopwatch=SystemStopwatch()):
        await until(lambda: len(fixture.run_events) == 100)
    assert max(quota.batches) <= PLACES


async def test_runs_that_do_not_wait_let_the_event_loop_go_on() -> None:
    fixture = on_system_clock(concurrency=PLACES, claim_limit=200)
    stopwatch, steps = SystemStopwatch(), list[float]()
    await a_crowd(fixture, "busy", 16)

    def work(_: Claim) -> Outcome:
        until_ms = stopwatch.elapsed_ms() + LONGEST_STEP_MS * 0.6
        while stopwatch.elapsed_ms() < until_ms:
            pass
        steps.append(loop_steps)
        return SUCCESS

    loop_steps = 0
    fixture.dispatcher.on("busy", work)
    async with RunningWorker(fixture, stopwatch=stopwatch):
        while len(fixture.run_events) < 16:
            loop_steps += 1
            await asyncio.sleep(0)
    assert max(Counter(steps).values()) <= 2


@pytest.mark.parametrize("places", [5, 50])
async def test_a_mixture_holds_what_waits_to_its_places(places: int) -> None:
    fixture = a_fixture(concurrency=places)
    counter = ConcurrencyCounter(lambda: fixture.clock.sleep(20))
    fixture.dispatcher.on("slow", counter)
    for number in range(CROWD):
        await fixture.add("slow" if number % 10 == 0 else "quick", id=f"endpoint-{number:04}")
    async with RunningWorker(fixture):
        for _ in range(60):
            await fixture.clock.advance(100)
    assert ran(fixture) == {"slow": CROWD / 10, "quick": CROWD * 9 / 10}
    assert counter.most <= places
