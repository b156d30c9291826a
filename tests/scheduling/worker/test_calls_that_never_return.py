"""A call that never returns keeps nobody from stopping: what it holds is left to the sweeper."""

import asyncio
from typing import Any

import pytest
from tests.scheduling.worker.call_recorder import Hook, Witness
from tests.scheduling.worker.running_worker import Worker, by_hand, others
from tests.scheduling.worker.worker_fixtures import MINUTE, Corridor

from cadenza.domain.scheduling.run import RunStatus
from cadenza.testing.clock import NEW_YEAR

GRACE = 5_000
LEASE = 30_000
CALLS = ["claim_due", "start", "next_due", "finalize", "renew", "sweep", "check"]
LEFT = "a call did not return in time; what it holds is left to the sweeper"


def port(corridor: Corridor, call: str) -> Witness:
    return corridor.asked if call == "check" else corridor.store


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


async def a_load(corridor: Corridor) -> None:
    """Due now, and due soon."""
    await corridor.add("now")
    await corridor.add("soon", in_ms=100)


async def swept(corridor: Corridor) -> list[RunStatus | None]:
    """How all runs stand when the leases have run out, and somebody has swept."""
    corridor.store.before.clear()
    corridor.clock.jump(LEASE)
    await corridor.sweeper.sweep()
    return [run.status for name in ("now", "soon") for run in await corridor.runs(name)]


@pytest.mark.parametrize("call", CALLS)
async def test_a_loop_stops_though_a_call_never_returns(call: str) -> None:
    corridor = by_hand(lease_ms=LEASE, claim_ahead_ms=1_000)
    await a_load(corridor)
    port(corridor, call).before[call] = never
    async with Worker(corridor, grace_ms=GRACE) as worker:
        await corridor.clock.advance(LEASE / 3)
        worker.loop.stop()
        await corridor.clock.advance(2 * GRACE)
        assert worker.task.done()
    assert others() == set()
    assert None not in await swept(corridor)


@pytest.mark.parametrize("call", ["claim_due", "start", "check"])
async def test_it_waits_for_the_call_as_long_as_for_a_run_and_says_so(call: str) -> None:
    corridor = by_hand(lease_ms=LEASE, claim_ahead_ms=1_000)
    await a_load(corridor)
    port(corridor, call).before[call] = never
    async with Worker(corridor, grace_ms=GRACE) as worker:
        await corridor.clock.advance(1_000)
        worker.loop.stop()
        await corridor.clock.advance(GRACE - 1)
        assert not worker.task.done()
        assert corridor.log.events("warning") == []
        await corridor.clock.advance(1)
        assert worker.task.done()
    assert corridor.log.events("warning") == [LEFT]


@pytest.mark.parametrize("call", CALLS)
async def test_a_call_that_takes_long_to_end_is_left_behind(call: str) -> None:
    corridor, enough = by_hand(lease_ms=LEASE, claim_ahead_ms=1_000), asyncio.Event()
    await a_load(corridor)
    port(corridor, call).before[call] = stubborn(enough, gives_in=True)
    async with Worker(corridor, grace_ms=GRACE) as worker:
        await corridor.clock.advance(LEASE / 3)
        worker.loop.stop()
        await corridor.clock.advance(3 * GRACE)
        assert worker.task.done()
        enough.set()
        await corridor.clock.advance(0)
    assert others() == set()


@pytest.mark.parametrize("call", ["claim_due", "start", "check"])
async def test_a_call_that_goes_through_after_all_starts_nothing_any_more(call: str) -> None:
    corridor, enough = by_hand(lease_ms=LEASE, claim_ahead_ms=1_000), asyncio.Event()
    await a_load(corridor)
    port(corridor, call).before[call] = stubborn(enough, gives_in=False)
    async with Worker(corridor, grace_ms=GRACE) as worker:
        await corridor.clock.advance(1_000)
        worker.loop.stop()
        await corridor.clock.advance(3 * GRACE)
        assert worker.task.done()
        ran = corridor.dispatcher.names()
        enough.set()
        await corridor.clock.advance(0)
    assert corridor.dispatcher.names() == ran
    assert others() == set()


@pytest.mark.parametrize(("takes_ms", "status"), [(GRACE, RunStatus.SUCCESS), (GRACE + 2, "cancelled")])
async def test_a_run_has_neither_less_nor_more_grace_because_a_call_hangs(takes_ms: int, status: str) -> None:
    corridor = by_hand(lease_ms=LEASE)
    await corridor.add()
    corridor.takes(takes_ms)
    async with Worker(corridor, grace_ms=GRACE) as worker:
        corridor.store.before["claim_due"] = never
        await corridor.add("next")
        await corridor.clock.advance(1)
        worker.loop.stop()
        await corridor.clock.advance(GRACE)
        assert worker.task.done()
    assert (await corridor.only_run()).status == status


async def test_what_waited_for_a_look_that_never_returned_is_given_back() -> None:
    corridor = by_hand(lease_ms=LEASE, claim_ahead_ms=1_000)
    endpoint = await corridor.add(in_ms=100)
    corridor.store.before["start"] = never
    async with Worker(corridor, grace_ms=GRACE) as worker:
        await corridor.clock.advance(200)
        worker.loop.stop()
        await corridor.clock.advance(GRACE)
    run = await corridor.only_run()
    assert (run.status, run.reason, run.started_at) == (RunStatus.CANCELLED, "its worker stopped", None)
    assert await corridor.endpoint() == endpoint


async def test_what_a_claim_brings_after_the_stop_is_given_back() -> None:
    corridor = by_hand(lease_ms=LEASE)
    endpoint = await corridor.add()

    async def slowly() -> Any:
        await corridor.clock.sleep(GRACE - 1_000)

    corridor.store.before["claim_due"] = slowly
    async with Worker(corridor, grace_ms=GRACE) as worker:
        worker.loop.stop()
        await corridor.clock.advance(GRACE)
        assert worker.task.done()
    run = await corridor.only_run()
    assert (run.status, run.reason, run.started_at) == (RunStatus.CANCELLED, "its worker stopped", None)
    assert (await corridor.endpoint()).next_run_at == endpoint.next_run_at
    assert (corridor.dispatcher.executed, corridor.log.events("warning")) == ([], [])


async def test_another_worker_runs_what_was_claimed_by_a_call_that_never_returned() -> None:
    corridor = by_hand(lease_ms=LEASE)
    await corridor.add()
    corridor.store.after["claim_due"] = never
    async with Worker(corridor, grace_ms=GRACE) as worker:
        worker.loop.stop()
        await corridor.clock.advance(GRACE)
    corridor.store.after.clear()
    moments = corridor.moments()
    async with Worker(corridor):
        await corridor.clock.advance(MINUTE)
    assert LEASE <= moments[0] <= LEASE + LEASE / 3
    assert (await corridor.runs())[0].claimed_at == NEW_YEAR
