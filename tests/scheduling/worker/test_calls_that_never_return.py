"""A call that never returns keeps nobody from stopping: what it holds is left to the sweeper."""

import asyncio
from typing import Any

import pytest
from tests.scheduling.worker.call_recorder import CallRecorder, Hook
from tests.scheduling.worker.running_worker import RunningWorker, on_manual_clock, other_tasks
from tests.scheduling.worker.worker_fixtures import MINUTE, WorkerFixture

from cadenza.domain.scheduling.run import RunStatus
from cadenza.testing.clock import NEW_YEAR

GRACE = 5_000
LEASE = 30_000
CALLS = ["claim_due", "start", "next_due", "finalize", "renew", "sweep", "check"]
LEFT = "a call did not return in time; its runs are left to the sweeper"


def port(fixture: WorkerFixture, call: str) -> CallRecorder:
    return fixture.asked if call == "check" else fixture.store


async def never() -> Any:
    await asyncio.Event().wait()


def stubborn(enough: asyncio.Event, *, gives_in: bool) -> Hook:
    """A call that goes on through every cancellation until it is enough; then it gives in or goes through."""

    async def hang() -> Any:
        cancelled = False
        while not enough.is_set():
            try:
                await enough.wait()
            except asyncio.CancelledError:
                cancelled = True
        if cancelled and gives_in:
            raise asyncio.CancelledError

    return hang


async def a_load(fixture: WorkerFixture) -> None:
    """Due now, and due soon."""
    await fixture.add("now")
    await fixture.add("soon", in_ms=100)


async def swept(fixture: WorkerFixture) -> list[RunStatus | None]:
    """How all runs stand when the leases have run out, and somebody has swept."""
    fixture.store.before.clear()
    fixture.clock.jump(LEASE)
    await fixture.sweeper.sweep()
    return [run.status for name in ("now", "soon") for run in await fixture.runs(name)]


@pytest.mark.parametrize("call", CALLS)
async def test_a_loop_stops_though_a_call_never_returns(call: str) -> None:
    fixture = on_manual_clock(lease_ms=LEASE, claim_ahead_ms=1_000)
    await a_load(fixture)
    port(fixture, call).before[call] = never
    async with RunningWorker(fixture, grace_ms=GRACE) as worker:
        await fixture.clock.advance(LEASE / 3)
        worker.loop.stop()
        await fixture.clock.advance(2 * GRACE)
        assert worker.task.done()
    assert other_tasks() == set()
    assert None not in await swept(fixture)


@pytest.mark.parametrize("call", ["claim_due", "start", "check"])
async def test_it_waits_for_the_call_as_long_as_for_a_run_and_says_so(call: str) -> None:
    fixture = on_manual_clock(lease_ms=LEASE, claim_ahead_ms=1_000)
    await a_load(fixture)
    port(fixture, call).before[call] = never
    async with RunningWorker(fixture, grace_ms=GRACE) as worker:
        await fixture.clock.advance(1_000)
        worker.loop.stop()
        await fixture.clock.advance(GRACE - 1)
        assert not worker.task.done()
        assert fixture.log.events("warning") == []
        await fixture.clock.advance(1)
        assert worker.task.done()
    assert fixture.log.events("warning") == [LEFT]


@pytest.mark.parametrize("call", CALLS)
async def test_a_call_that_takes_long_to_end_is_left_behind(call: str) -> None:
    fixture, enough = on_manual_clock(lease_ms=LEASE, claim_ahead_ms=1_000), asyncio.Event()
    await a_load(fixture)
    port(fixture, call).before[call] = stubborn(enough, gives_in=True)
    async with RunningWorker(fixture, grace_ms=GRACE) as worker:
        await fixture.clock.advance(LEASE / 3)
        worker.loop.stop()
        await fixture.clock.advance(3 * GRACE)
        assert worker.task.done()
        enough.set()
        await fixture.clock.advance(0)
    assert other_tasks() == set()


@pytest.mark.parametrize("call", ["claim_due", "start", "check"])
async def test_a_call_that_goes_through_after_all_starts_nothing_any_more(call: str) -> None:
    fixture, enough = on_manual_clock(lease_ms=LEASE, claim_ahead_ms=1_000), asyncio.Event()
    await a_load(fixture)
    port(fixture, call).before[call] = stubborn(enough, gives_in=False)
    async with RunningWorker(fixture, grace_ms=GRACE) as worker:
        await fixture.clock.advance(1_000)
        worker.loop.stop()
        await fixture.clock.advance(3 * GRACE)
        assert worker.task.done()
        ran = fixture.dispatcher.names()
        enough.set()
        await fixture.clock.advance(0)
    assert fixture.dispatcher.names() == ran
    assert other_tasks() == set()


@pytest.mark.parametrize(("takes_ms", "status"), [(GRACE, RunStatus.SUCCESS), (GRACE + 2, "cancelled")])
async def test_a_run_has_neither_less_nor_more_grace_because_a_call_hangs(takes_ms: int, status: str) -> None:
    fixture = on_manual_clock(lease_ms=LEASE)
    await fixture.add()
    fixture.takes(takes_ms)
    async with RunningWorker(fixture, grace_ms=GRACE) as worker:
        fixture.store.before["claim_due"] = never
        await fixture.add("next")
        await fixture.clock.advance(1)
        worker.loop.stop()
        await fixture.clock.advance(GRACE)
        assert worker.task.done()
    assert (await fixture.only_run()).status == status


async def test_what_waited_for_a_look_that_never_returned_is_given_back() -> None:
    fixture = on_manual_clock(lease_ms=LEASE, claim_ahead_ms=1_000)
    endpoint = await fixture.add(in_ms=100)
    fixture.store.before["start"] = never
    async with RunningWorker(fixture, grace_ms=GRACE) as worker:
        await fixture.clock.advance(200)
        worker.loop.stop()
        await fixture.clock.advance(GRACE)
    run = await fixture.only_run()
    assert (run.status, run.reason, run.started_at) == (RunStatus.CANCELLED, "its worker stopped", None)
    assert await fixture.endpoint() == endpoint


async def test_what_a_claim_brings_after_the_stop_is_given_back() -> None:
    fixture = on_manual_clock(lease_ms=LEASE)
    endpoint = await fixture.add()

    async def slowly() -> Any:
        await fixture.clock.sleep(GRACE - 1_000)

    fixture.store.before["claim_due"] = slowly
    async with RunningWorker(fixture, grace_ms=GRACE) as worker:
        worker.loop.stop()
        await fixture.clock.advance(GRACE)
        assert worker.task.done()
    run = await fixture.only_run()
    assert (run.status, run.reason, run.started_at) == (RunStatus.CANCELLED, "its worker stopped", None)
    assert (await fixture.endpoint()).next_run_at == endpoint.next_run_at
    assert (fixture.dispatcher.executed, fixture.log.events("warning")) == ([], [])


async def test_another_worker_runs_what_was_claimed_by_a_call_that_never_returned() -> None:
    fixture = on_manual_clock(lease_ms=LEASE)
    await fixture.add()
    fixture.store.after["claim_due"] = never
    async with RunningWorker(fixture, grace_ms=GRACE) as worker:
        worker.loop.stop()
        await fixture.clock.advance(GRACE)
    fixture.store.after.clear()
    moments = fixture.moments()
    async with RunningWorker(fixture):
        await fixture.clock.advance(MINUTE)
    assert LEASE <= moments[0] <= LEASE + LEASE / 3
    assert (await fixture.runs())[0].claimed_at == NEW_YEAR
