"""Stop claiming, let runs finish within the grace, settle them, give back the rest, and return."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from tests.scheduling.worker.call_recorder import once
from tests.scheduling.worker.running_worker import (
    RunningWorker,
    on_manual_clock,
    on_system_clock,
    other_tasks,
)
from tests.scheduling.worker.worker_fixtures import MINUTE, WorkerFixture

from cadenza.domain.scheduling.endpoint import OpenSlot
from cadenza.domain.scheduling.run import Claim, RunStatus
from cadenza.testing.clock import NEW_YEAR

GRACE = 10_000


async def test_an_idle_loop_stops_without_waiting() -> None:
    fixture = on_manual_clock()
    async with RunningWorker(fixture) as worker:
        worker.loop.stop()
        await fixture.clock.advance(0)
        assert worker.task.done()
    assert other_tasks() == set()


async def test_stopping_twice_is_stopping_once() -> None:
    fixture = on_manual_clock()
    await fixture.add()
    fixture.takes(5_000)
    async with RunningWorker(fixture) as worker:
        worker.loop.stop()
        await fixture.clock.advance(1_000)
        worker.loop.stop()
        await worker.stopped()
    assert (await fixture.only_run()).status is RunStatus.SUCCESS


async def test_a_loop_stopped_before_it_runs_claims_nothing_and_returns() -> None:
    fixture = on_manual_clock()
    endpoint = await fixture.add()
    worker = RunningWorker(fixture)
    worker.loop.stop()
    await asyncio.wait_for(worker.loop.run(), 60)
    assert fixture.store.calls["claim_due"] == 0
    assert await fixture.endpoint() == endpoint
    assert other_tasks() == set()


async def test_what_runs_may_finish_within_the_grace_and_is_settled() -> None:
    fixture = on_manual_clock()
    await fixture.add()
    fixture.takes(GRACE - 1)
    async with RunningWorker(fixture, grace_ms=GRACE) as worker:
        worker.loop.stop()
        await fixture.clock.advance(GRACE - 2)
        assert not worker.task.done()
        await fixture.clock.advance(1)
        assert worker.task.done()
    run, after = await fixture.only_run(), await fixture.endpoint()
    assert (run.status, run.verdict) == (RunStatus.SUCCESS, True)
    assert (after.lease, after.next_run_at) == (None, NEW_YEAR + timedelta(minutes=1))


async def test_a_loop_that_stops_claims_no_more() -> None:
    fixture = on_manual_clock()
    await fixture.add("long")
    fixture.takes(5_000, "long")
    async with RunningWorker(fixture) as worker:
        worker.loop.stop()
        await fixture.add("new")
        await worker.stopped()
    assert fixture.dispatcher.names() == ["long"]
    assert (await fixture.endpoint("new")).next_run_at == NEW_YEAR


async def test_what_was_claimed_and_not_started_is_given_back() -> None:
    fixture = on_manual_clock(claim_ahead_ms=30_000)
    endpoint = await fixture.add(in_ms=20_000)
    async with RunningWorker(fixture) as worker:
        worker.loop.stop()
        await fixture.clock.advance(0)
        assert worker.task.done()
    run, after = await fixture.only_run(), await fixture.endpoint()
    assert (run.status, run.reason, run.verdict) == (RunStatus.CANCELLED, "its worker stopped", False)
    assert after == endpoint


async def test_what_was_given_back_is_run_by_another_worker_at_its_moment() -> None:
    fixture = on_manual_clock(claim_ahead_ms=30_000)
    await fixture.add(in_ms=20_000)
    async with RunningWorker(fixture):
        pass
    moments = fixture.moments()
    async with RunningWorker(fixture):
        await fixture.clock.advance(30_000)
    assert moments == [20_000]
    assert [run.verdict for run in await fixture.runs()][:2] == [False, True]


async def test_a_run_beyond_the_grace_is_cancelled_and_its_slot_stays_due() -> None:
    fixture = on_manual_clock()
    await fixture.add()
    fixture.takes(10 * GRACE)
    async with RunningWorker(fixture, grace_ms=GRACE) as worker:
        worker.loop.stop()
        await fixture.clock.advance(GRACE)
        assert worker.task.done()
    run, after = await fixture.only_run(), await fixture.endpoint()
    assert (run.status, run.reason) == (RunStatus.CANCELLED, "its worker stopped before it ended")
    assert (run.verdict, after.failure_count, after.lease) == (False, 0, None)
    assert (after.next_run_at, after.open_slot) == (NEW_YEAR, OpenSlot(NEW_YEAR, 1))
    assert other_tasks() == set()


async def test_a_slot_that_was_cut_short_is_run_by_another_worker() -> None:
    fixture = on_manual_clock()
    await fixture.add()
    fixture.takes(10 * GRACE)
    async with RunningWorker(fixture, grace_ms=GRACE):
        pass
    fixture.dispatcher.succeeds("endpoint")
    async with RunningWorker(fixture):
        pass
    first, second = await fixture.runs()
    assert (second.slot, second.attempt, second.status, second.verdict) == (first.slot, 2, "success", True)


async def test_a_grace_of_nothing_cuts_short_at_once() -> None:
    fixture = on_manual_clock()
    await fixture.add()
    fixture.takes(GRACE)
    async with RunningWorker(fixture, grace_ms=0) as worker:
        worker.loop.stop()
        await fixture.clock.advance(0)
        await worker.ended()
    assert (await fixture.endpoint()).lease is None
    assert other_tasks() == set()


@pytest.mark.parametrize("claim_ahead_ms", [0, MINUTE])
async def test_a_saturated_loop_stops_and_leaves_nothing_leased(claim_ahead_ms: int) -> None:
    fixture = on_manual_clock(concurrency=3, claim_ahead_ms=claim_ahead_ms)
    for number in range(9):
        await fixture.add(f"endpoint-{number}", in_ms=number * 100)
        fixture.takes(5_000, f"endpoint-{number}")
    async with RunningWorker(fixture) as worker:
        await fixture.clock.advance(150)
        await worker.stopped()
    endpoints = await fixture.store.port.catalog.find("default")
    assert [endpoint.lease for endpoint in endpoints] == [None] * 9
    assert len(fixture.dispatcher.executed) == 2


@pytest.mark.parametrize("call", ["claim_due", "finalize", "next_due", "sweep", "renew"])
@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_stop_in_the_middle_of_any_call_loses_nothing(call: str, when: str) -> None:
    fixture = on_manual_clock(lease_ms=3_000)
    for name in ("a", "b"):
        await fixture.add(name, in_ms=500)
    fixture.takes(2_000, "a")
    worker = RunningWorker(fixture, grace_ms=GRACE)

    async def stop() -> Any:
        worker.loop.stop()
        await asyncio.sleep(0)

    getattr(fixture.store, when)[call] = once(stop)
    async with worker:
        await fixture.clock.advance(4_000)
        await worker.ended()
    await nothing_is_lost(fixture, "a", "b")


async def nothing_is_lost(fixture: WorkerFixture, *names: str) -> None:
    """Nobody holds anything; what was dispatched has its one verdict, and what was not is still due."""
    ran = fixture.dispatcher.names()
    assert other_tasks() == set()
    for name in names:
        endpoint, runs = await fixture.endpoint(name), await fixture.runs(name)
        assert endpoint.lease is None
        assert all(run.status is not None for run in runs)
        assert sum(run.verdict for run in runs) == ran.count(name) <= 1
        assert name in ran or endpoint.next_run_at == NEW_YEAR + timedelta(milliseconds=500)


async def test_in_real_time_a_stop_waits_for_a_short_run_and_not_for_a_long_one() -> None:
    fixture = on_system_clock()
    cut: list[str] = []

    async def sleep(claim: Claim) -> Any:
        try:
            await asyncio.sleep(0.02 if claim.endpoint.name == "short" else 60)
        except asyncio.CancelledError:
            cut.append(claim.endpoint.name)
            raise
        raise ValueError("done")

    for name in ("short", "long"):
        await fixture.add(name)
        fixture.dispatcher.on(name, sleep)
    async with RunningWorker(fixture, grace_ms=60):
        await asyncio.sleep(0.005)
    assert cut == ["long"]
    assert [(await fixture.only_run(name)).status for name in ("short", "long")] == ["failure", "cancelled"]


async def test_all_that_is_given_back_is_settled_before_the_loop_returns() -> None:
    fixture = on_manual_clock(claim_ahead_ms=30_000)
    endpoints = [await fixture.add(f"endpoint-{number}", in_ms=20_000) for number in range(3)]

    async def slowly() -> Any:
        await fixture.clock.sleep(2_000)

    fixture.store.before["finalize"] = slowly
    async with RunningWorker(fixture, settle_batch=1):
        pass
    assert await fixture.store.port.catalog.find("default") == endpoints
