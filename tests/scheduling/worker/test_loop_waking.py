"""A loop sleeps until the next due moment and not longer, wakes when notified, and polls now and then."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.scheduling.worker.call_recorder import LostWakeups, once
from tests.scheduling.worker.running_worker import RunningWorker, on_manual_clock, on_system_clock, until
from tests.scheduling.worker.worker_fixtures import MINUTE, WorkerFixture

from cadenza.testing.clock import NEW_YEAR

LONG = 3_600_000


def lose_notifications(fixture: WorkerFixture) -> None:
    """Lose every notification."""
    fixture.store.port.endpoints.listen = lambda: LostWakeups(asyncio.Event().wait)


@pytest.mark.parametrize("due_ms", [0, 1, 999, 1_000, 12_345, 10 * MINUTE])
async def test_a_loop_runs_what_is_due_at_its_moment(due_ms: int) -> None:
    fixture = on_manual_clock()
    await fixture.add(in_ms=due_ms)
    moments = fixture.moments()
    async with RunningWorker(fixture):
        await fixture.clock.advance(due_ms + MINUTE - 1)
    assert moments == [due_ms]


async def test_a_loop_sleeps_until_the_next_moment_even_when_it_never_polls() -> None:
    fixture = on_manual_clock()
    for name, due_ms in (("a", 1_500), ("b", 70_000), ("c", 70_001)):
        await fixture.add(name, in_ms=due_ms, next_source="first")
    moments = {name: fixture.moments(name) for name in "abc"}
    async with RunningWorker(fixture, poll_ms=LONG):
        await fixture.clock.advance(80_000)
    assert moments == {"a": [1_500, 61_500], "b": [70_000], "c": [70_001]}


async def test_a_nudge_wakes_a_loop_that_sleeps() -> None:
    fixture = on_manual_clock()
    await fixture.add(in_ms=10 * MINUTE)
    moments = fixture.moments()
    async with RunningWorker(fixture, poll_ms=LONG):
        await fixture.clock.advance(5_000)
        await fixture.tool("propose_next_time", nextRunInMs=0)
        await fixture.clock.advance(0)
        assert moments == [5_000]


@pytest.mark.parametrize("event", ["a new endpoint", "a resume", "a changed baseline"])
async def test_whatever_makes_something_due_earlier_wakes_a_loop(event: str) -> None:
    fixture = on_manual_clock()
    await fixture.add(in_ms=LONG, paused_until=fixture.at(LONG))
    moments = fixture.moments("fresh" if event == "a new endpoint" else "endpoint")
    async with RunningWorker(fixture, poll_ms=LONG):
        if event == "a new endpoint":
            await fixture.add("fresh")
        elif event == "a resume":
            await fixture.tool("pause_until", untilIso=None)
        else:
            await fixture.change(paused_until=None, next_run_at=fixture.at(7_000))
        await fixture.clock.advance(MINUTE)
    assert moments[0] == {"a new endpoint": 0, "a resume": MINUTE, "a changed baseline": 7_000}[event]


async def test_in_real_time_a_nudge_wakes_a_sleeping_loop_at_once() -> None:
    fixture = on_system_clock()
    await fixture.add(in_ms=LONG)
    async with RunningWorker(fixture, poll_ms=LONG):
        await asyncio.sleep(0.02)
        await fixture.tool("propose_next_time", nextRunInMs=0)
        await until(lambda: bool(fixture.dispatcher.executed))


async def test_in_real_time_an_endpoint_runs_at_its_moment_and_not_before() -> None:
    fixture = on_system_clock()
    endpoint = await fixture.add(in_ms=50)
    async with RunningWorker(fixture, poll_ms=LONG):
        await until(lambda: bool(fixture.run_events))
    run = await fixture.only_run()
    assert endpoint.next_run_at is not None
    assert run.started_at is not None
    assert 0 <= (run.started_at - endpoint.next_run_at).total_seconds() < 0.1


async def test_when_a_wakeup_is_lost_a_loop_finds_work_by_polling() -> None:
    fixture = on_manual_clock()
    lose_notifications(fixture)
    await fixture.add(in_ms=LONG)
    moments = fixture.moments()
    async with RunningWorker(fixture, poll_ms=1_000):
        await fixture.clock.advance(2_500)
        await fixture.tool("propose_next_time", nextRunInMs=0)
        await fixture.clock.advance(1_000)
    assert moments == [3_000]


@pytest.mark.parametrize("call", ["claim_due", "next_due"])
async def test_a_wakeup_between_looking_and_sleeping_is_not_lost(call: str) -> None:
    fixture = on_manual_clock()
    await fixture.add(in_ms=LONG)

    async def nudge() -> Any:
        await fixture.tool("propose_next_time", nextRunInMs=0)

    fixture.store.after[call] = once(nudge)
    async with RunningWorker(fixture, poll_ms=LONG):
        await fixture.clock.advance(0)
        assert len(fixture.dispatcher.executed) == 1


async def test_a_wakeup_without_work_costs_one_look() -> None:
    fixture = on_manual_clock()
    await fixture.add(in_ms=LONG)
    async with RunningWorker(fixture, poll_ms=LONG):
        before = fixture.store.calls["claim_due"]
        await fixture.add("later", in_ms=LONG)
        await fixture.clock.advance(0)
        assert fixture.store.calls["claim_due"] == before + 1


@pytest.mark.parametrize("due_ms", [None, LONG])
async def test_an_idle_loop_looks_once_a_poll_and_no_more(due_ms: int | None) -> None:
    fixture = on_manual_clock()
    if due_ms is not None:
        await fixture.add(in_ms=due_ms)
    async with RunningWorker(fixture, poll_ms=1_000):
        before = fixture.store.calls.copy()
        await fixture.clock.advance(10 * MINUTE)
        assert (fixture.store.calls - before)["claim_due"] == 600
        assert (fixture.store.calls - before)["next_due"] == 600


async def test_a_loop_with_a_regular_endpoint_looks_only_when_there_is_reason() -> None:
    fixture = on_manual_clock()
    await fixture.add()
    async with RunningWorker(fixture, poll_ms=LONG):
        await fixture.clock.advance(10 * MINUTE)
    assert len(fixture.dispatcher.executed) == 11
    assert fixture.store.calls["claim_due"] <= 3 * 11 + 1


async def test_a_saturated_loop_does_not_spin() -> None:
    fixture = on_manual_clock(concurrency=1)
    for name in ("a", "b"):
        await fixture.add(name)
        fixture.takes(10 * MINUTE, name)
    async with RunningWorker(fixture, poll_ms=1_000):
        await fixture.clock.advance(MINUTE)
        assert fixture.store.calls["claim_due"] == 1
        assert fixture.store.calls["next_due"] == 0


async def test_a_saturated_loop_takes_more_as_soon_as_there_is_room() -> None:
    fixture = on_manual_clock(concurrency=1)
    for name in ("a", "b"):
        await fixture.add(name)
    fixture.takes(30_000, "a")
    moments = fixture.moments("b")
    async with RunningWorker(fixture, poll_ms=LONG):
        await fixture.clock.advance(40_000)
    assert moments == [30_000]


async def test_a_clock_that_steps_back_delays_nothing_beyond_its_step() -> None:
    fixture = on_manual_clock()
    await fixture.add(in_ms=5_000)
    moments = fixture.moments()
    async with RunningWorker(fixture, poll_ms=1_000):
        await fixture.clock.advance(3_000)
        fixture.clock.jump(-2_000)
        await fixture.clock.advance(6_000)
    assert moments == [5_000]


async def test_a_clock_that_jumps_ahead_is_noticed_by_the_next_look() -> None:
    fixture = on_manual_clock()
    await fixture.add(in_ms=20 * MINUTE)
    async with RunningWorker(fixture, poll_ms=1_000):
        fixture.clock.jump(30 * MINUTE)
        await fixture.clock.advance(1_000)
        assert (await fixture.only_run()).late_ms == 10 * MINUTE


async def test_what_another_worker_is_just_claiming_makes_no_busy_loop() -> None:
    fixture = on_manual_clock()

    async def long_ago(*_: object, **__: object) -> datetime:
        return NEW_YEAR

    fixture.store.port.endpoints.next_due = long_ago
    async with RunningWorker(fixture, settle_linger_ms=5):
        await fixture.clock.advance(1_000)
        assert 190 <= fixture.store.calls["claim_due"] <= 210


async def test_when_more_is_due_than_one_claim_takes_the_next_follows_at_once() -> None:
    fixture = on_manual_clock(claim_limit=1)
    for number in range(10):
        await fixture.add(f"endpoint-{number}")
        fixture.takes(10_000, f"endpoint-{number}")
    async with RunningWorker(fixture):
        await fixture.clock.advance(0)
        assert len(fixture.dispatcher.executed) == 10


async def test_a_loop_that_claims_ahead_sleeps_until_it_may() -> None:
    fixture = on_manual_clock(claim_ahead_ms=10_000)
    await fixture.add(in_ms=30_000)
    async with RunningWorker(fixture, poll_ms=LONG):
        await fixture.clock.advance(35_000)
    assert (await fixture.runs())[0].claimed_at == NEW_YEAR + timedelta(seconds=20)


async def test_a_wakeup_while_claims_are_looked_at_is_not_lost() -> None:
    fixture = on_manual_clock(claim_ahead_ms=MINUTE)
    await fixture.add(in_ms=30_000)

    async def nudge() -> Any:
        await fixture.tool("propose_next_time", nextRunInMs=0)
        for _ in range(5):
            await asyncio.sleep(0)

    fixture.store.after["start"] = once(nudge)
    async with RunningWorker(fixture, poll_ms=MINUTE):
        await fixture.add("other", in_ms=MINUTE)
        await fixture.clock.advance(0)
        assert fixture.dispatcher.names() == ["endpoint"]
