"""A worker may claim ahead, but starts nothing before its moment, and looks again before it starts."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests.scheduling.worker.call_recorder import LostWakeups, once
from tests.scheduling.worker.running_worker import RunningWorker, on_manual_clock
from tests.scheduling.worker.worker_fixtures import MINUTE, WorkerFixture

from cadenza.domain.errors import Unavailable
from cadenza.domain.scheduling.endpoint import Job
from cadenza.domain.scheduling.run import RunStatus
from cadenza.testing import FakeClock
from cadenza.testing.clock import NEW_YEAR

AHEAD = 10_000
LATER = NEW_YEAR + timedelta(minutes=3)

GATES: dict[str, tuple[dict[str, Any], str]] = {
    "paused": ({"paused_until": LATER, "next_run_at": LATER}, "paused until 2025-01-01T00:03:00Z"),
    "disabled": ({"enabled": False}, "disabled"),
    "archived": ({"archived": True}, "archived"),
    "moved later": ({"next_run_at": LATER}, "moved to 2025-01-01T00:03:00Z"),
    "finished": ({"next_run_at": None}, "finished"),
    "over its quota": ({"quota_opens_at": LATER}, "quota used up until 2025-01-01T00:03:00Z"),
}


@asynccontextmanager
async def a_tick_in_the_background(fixture: WorkerFixture) -> AsyncIterator[FakeClock]:
    """A tick under way, whose clock stands still until the test moves it; at the end it has come back."""
    tick = asyncio.create_task(fixture.tick())
    await fixture.clock.advance(0)
    yield fixture.clock
    await fixture.clock.advance(AHEAD)
    await tick


SPANS = {"now": 0, "soon": 1, "later": 4_000, "at the edge": AHEAD, "beyond": AHEAD + 1}


async def spread(fixture: WorkerFixture) -> dict[str, list[float]]:
    """Endpoints that come due one after the other; the moments at which a tick dispatches them."""
    for name, span in SPANS.items():
        await fixture.add(name, in_ms=span)
    moments = {name: fixture.moments(name) for name in SPANS}
    async with a_tick_in_the_background(fixture):
        pass
    return moments


async def test_everything_is_dispatched_at_its_moment() -> None:
    moments = await spread(on_manual_clock(claim_ahead_ms=AHEAD))
    assert moments == {"now": [0], "soon": [1], "later": [4_000], "at the edge": [AHEAD], "beyond": []}


async def test_nothing_is_dispatched_before_its_moment_on_a_clock_that_sleep_moves() -> None:
    moments = await spread(WorkerFixture(claim_ahead_ms=AHEAD))
    early = [name for name, seen in moments.items() for moment in seen if moment < SPANS[name]]
    assert (early, moments["beyond"]) == ([], [])
    assert all(len(moments[name]) == 1 for name in SPANS if name != "beyond")


async def test_a_run_that_waited_says_when_it_started_and_that_it_was_not_late() -> None:
    fixture = WorkerFixture(claim_ahead_ms=AHEAD)
    endpoint = await fixture.add(in_ms=2_500)
    await fixture.tick()
    run = await fixture.only_run()
    assert (run.claimed_at, run.started_at, run.late_ms) == (NEW_YEAR, endpoint.next_run_at, 0)


async def test_however_many_wait_they_are_looked_at_in_one_batch_and_settled_in_one_commit() -> None:
    fixture = WorkerFixture(claim_ahead_ms=AHEAD)
    for number in range(20):
        await fixture.add(f"endpoint-{number}", in_ms=1_000)
    await fixture.tick()
    assert fixture.store.calls == {"claim_due": 1, "start": 1, "finalize": 1}
    assert fixture.asked.calls == {"check": 1}


@pytest.mark.parametrize("gate", GATES)
async def test_what_is_no_longer_due_is_cancelled_with_the_reason(gate: str) -> None:
    fixture = on_manual_clock(claim_ahead_ms=AHEAD)
    await fixture.add(in_ms=1_000)
    change, reason = GATES[gate]
    async with a_tick_in_the_background(fixture):
        await fixture.change(**change)
    run, after = await fixture.only_run(), await fixture.endpoint()
    assert (run.status, run.reason, run.started_at) == (RunStatus.CANCELLED, reason, None)
    assert (after.lease, after.last_run_at, after.failure_count) == (None, None, 0)
    assert fixture.dispatcher.executed == []


@pytest.mark.parametrize("gate", GATES)
async def test_a_loop_cancels_what_is_no_longer_due(gate: str) -> None:
    fixture = on_manual_clock(claim_ahead_ms=AHEAD)
    await fixture.add(in_ms=1_000)
    change, reason = GATES[gate]
    async with RunningWorker(fixture):
        await fixture.change(**change)
        await fixture.clock.advance(1_000)
        run = (await fixture.runs())[0]
        assert (run.status, run.reason, run.started_at) == (RunStatus.CANCELLED, reason, None)
        assert fixture.dispatcher.executed == []


async def test_what_waits_is_cancelled_when_its_job_is_switched_off() -> None:
    fixture = on_manual_clock(claim_ahead_ms=AHEAD)
    await fixture.store.port.catalog.add_job(Job(id="default", name="default"))
    await fixture.add(in_ms=1_000)
    async with RunningWorker(fixture):
        catalog = fixture.store.port.catalog
        await catalog.amend_job("default", "default", lambda job: replace(job, active=False))
        await fixture.clock.advance(0)
        assert (await fixture.only_run()).reason == "its job is paused"


async def test_a_pause_reaches_what_waits_at_once_and_the_run_is_told_when_it_is_over() -> None:
    fixture = on_manual_clock(claim_ahead_ms=AHEAD)
    await fixture.add(in_ms=1_000)
    moments = fixture.moments()
    async with RunningWorker(fixture):
        await fixture.tool("pause_until", untilIso="2025-01-01T00:00:30Z")
        await fixture.clock.advance(0)
        assert (await fixture.only_run()).finished_at == NEW_YEAR
        await fixture.clock.advance(31_000)
    assert moments == [30_000]


async def test_a_loop_starts_what_was_moved_earlier_at_its_new_moment() -> None:
    fixture = on_manual_clock(claim_ahead_ms=AHEAD)
    await fixture.add(in_ms=9_000)
    moments = fixture.moments()
    async with RunningWorker(fixture):
        await fixture.clock.advance(1_000)
        await fixture.tool("propose_next_time", nextRunInMs=1_500)
        await fixture.clock.advance(9_000)
    assert moments == [2_500]
    run = (await fixture.runs())[0]
    assert (run.slot, run.source, run.late_ms) == (NEW_YEAR + timedelta(seconds=2.5), "ai-oneshot", 0)


async def test_a_tick_runs_what_was_moved_earlier_for_its_new_slot() -> None:
    fixture = on_manual_clock(claim_ahead_ms=AHEAD)
    await fixture.add(in_ms=9_000)
    async with a_tick_in_the_background(fixture):
        await fixture.tool("propose_next_time", nextRunInMs=1_500)
    run = await fixture.only_run()
    assert (run.status, run.slot, run.source) == ("success", NEW_YEAR + timedelta(seconds=1.5), "ai-oneshot")


async def test_what_was_moved_later_runs_at_its_new_moment() -> None:
    fixture = on_manual_clock(claim_ahead_ms=AHEAD)
    await fixture.add(in_ms=1_000)
    moments = fixture.moments()
    async with RunningWorker(fixture):
        await fixture.change(next_run_at=fixture.at(4_000))
        await fixture.clock.advance(5_000)
    assert moments == [4_000]


async def test_what_lost_its_lease_while_it_waited_is_not_started() -> None:
    fixture = on_manual_clock(claim_ahead_ms=AHEAD, lease_ms=1_000)
    await fixture.add(in_ms=5_000)
    async with a_tick_in_the_background(fixture) as clock:
        await clock.advance(1_000)
        await fixture.sweeper.sweep()
    assert fixture.dispatcher.executed == []
    assert (await fixture.only_run()).status is RunStatus.ABANDONED


async def test_a_claim_across_the_end_of_a_pause_is_not_cancelled_by_an_earlier_look() -> None:
    fixture = on_manual_clock(claim_ahead_ms=10_000)
    await fixture.add(in_ms=5_000, paused_until=fixture.at(5_000))
    async with RunningWorker(fixture):
        await fixture.add("other", in_ms=MINUTE)
        await fixture.clock.advance(5_000)
        assert (await fixture.runs())[0].status is RunStatus.SUCCESS


async def test_a_long_run_does_not_delay_what_the_same_tick_claimed_ahead() -> None:
    fixture = on_manual_clock(claim_ahead_ms=10_000)
    await fixture.add("long")
    await fixture.add("soon", in_ms=1_000)
    fixture.takes(9_000, "long")
    moments = fixture.moments("soon")
    tick = asyncio.create_task(fixture.tick())
    await fixture.clock.advance(10_000)
    await tick
    assert moments == [1_000]


async def test_when_a_wakeup_is_lost_what_was_claimed_ahead_and_moved_earlier_is_found_all_the_same() -> None:
    fixture = on_manual_clock(claim_ahead_ms=30_000)
    fixture.store.port.endpoints.listen = lambda: LostWakeups(asyncio.Event().wait)
    await fixture.add(in_ms=20_000)
    async with RunningWorker(fixture, poll_ms=1_000):
        await fixture.tool("propose_next_time", nextRunInMs=0)
        await fixture.clock.advance(2_000)
        assert len(fixture.dispatcher.executed) == 1


async def test_a_wakeup_during_an_outage_is_not_forgotten() -> None:
    fixture = on_manual_clock(claim_ahead_ms=30_000)
    await fixture.add(in_ms=20_000)

    async def fail() -> Any:
        raise Unavailable("The store is away.")

    fixture.store.before["start"] = once(fail)
    async with RunningWorker(fixture, poll_ms=1_000):
        await fixture.tool("propose_next_time", nextRunInMs=0)
        await fixture.clock.advance(5_000)
        assert len(fixture.dispatcher.executed) == 1
