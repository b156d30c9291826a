"""Runs that do not wait share a task, and nothing else."""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar

import pytest
from tests.scheduling.worker.running_worker import RunningWorker, on_manual_clock, on_system_clock, until
from tests.scheduling.worker.worker_fixtures import SUCCESS, WorkerFixture

from cadenza.domain.scheduling.policy import Policy
from cadenza.domain.scheduling.run import Claim, Outcome, RunStatus
from cadenza.engine.worker.execute import Deadlines

LEFT = ContextVar("LEFT", default="nothing")
NAMES = ("one", "two", "three", "four")


async def at_work(fixture: WorkerFixture, behaviour: Callable[[Claim], Awaitable[Outcome]]) -> None:
    """Let four endpoints that are due behave alike, until the worker has stopped."""
    for name in NAMES:
        await fixture.add(name)
        fixture.dispatcher.on(name, behaviour)
    async with RunningWorker(fixture):
        pass


async def statuses(fixture: WorkerFixture) -> list[RunStatus | None]:
    return [(await fixture.only_run(name)).status for name in NAMES]


async def test_runs_that_do_not_wait_share_a_task() -> None:
    fixture, tasks = on_manual_clock(), set()

    async def behave(_: Claim) -> Outcome:
        tasks.add(asyncio.current_task())
        return SUCCESS

    await at_work(fixture, behave)
    assert len(tasks) == 1
    assert await statuses(fixture) == [RunStatus.SUCCESS] * 4


async def test_a_run_that_waits_keeps_no_other_from_starting() -> None:
    fixture, started, enough = on_manual_clock(), [], asyncio.Event()

    async def behave(claim: Claim) -> Outcome:
        started.append(claim.endpoint.name)
        await enough.wait()
        return SUCCESS

    for name in NAMES:
        await fixture.add(name)
        fixture.dispatcher.on(name, behave)
    async with RunningWorker(fixture):
        assert started == list(NAMES)
        enough.set()
    assert await statuses(fixture) == [RunStatus.SUCCESS] * 4


async def test_what_a_run_leaves_in_its_context_is_not_seen_by_the_next() -> None:
    fixture, seen = on_manual_clock(), []

    async def behave(claim: Claim) -> Outcome:
        seen.append(LEFT.get())
        LEFT.set(claim.endpoint.name)
        return SUCCESS

    await at_work(fixture, behave)
    assert seen == ["nothing"] * 4


async def test_a_run_that_cancels_its_own_task_cancels_no_other() -> None:
    fixture = on_manual_clock()

    async def behave(claim: Claim) -> Outcome:
        if claim.endpoint.name == NAMES[0]:
            task = asyncio.current_task()
            assert task is not None
            task.cancel()
        else:
            await asyncio.sleep(0)
        return SUCCESS

    await at_work(fixture, behave)
    assert await statuses(fixture) == [RunStatus.SUCCESS] * 4


async def test_a_timeout_in_a_task_that_is_shared_ends_one_run() -> None:
    fixture = on_system_clock()
    for name in NAMES:
        await fixture.add(name, policy=Policy(timeout_ms=30))

    async def hang(_: Claim) -> Outcome:
        await asyncio.sleep(10)
        return SUCCESS

    fixture.dispatcher.on(NAMES[1], hang)
    async with RunningWorker(fixture):
        await until(lambda: len(fixture.run_events) == len(NAMES))
    assert await statuses(fixture) == [
        RunStatus.SUCCESS,
        RunStatus.TIMEOUT,
        RunStatus.SUCCESS,
        RunStatus.SUCCESS,
    ]


async def test_a_lease_that_is_lost_before_its_turn_is_not_run() -> None:
    fixture, ran = on_manual_clock(), []

    async def behave(claim: Claim) -> Outcome:
        ran.append(claim.endpoint.name)
        if claim.endpoint.name == NAMES[0]:
            worker.loop._held.remove(
                [held.run_id for held in worker.loop._held.claims if held.endpoint.name == NAMES[2]]
            )
        return SUCCESS

    for name in NAMES:
        await fixture.add(name)
        fixture.dispatcher.on(name, behave)
    worker = RunningWorker(fixture)
    async with worker:
        pass
    assert ran == [NAMES[0], NAMES[1], NAMES[3]]


def test_a_deadline_holds_in_a_second_event_loop_too() -> None:
    deadlines = Deadlines()

    async def in_time(timeout_ms: int, span_ms: int) -> bool:
        deadline = deadlines.set(timeout_ms)
        try:
            await asyncio.sleep(span_ms / 1_000)
        except asyncio.CancelledError:
            deadline.task.uncancel()
        finally:
            deadlines.clear(deadline)
        return not deadline.expired

    assert asyncio.run(in_time(1_000, 0))
    assert not asyncio.run(in_time(1_100, 5_000))


async def test_a_later_deadline_holds_after_an_earlier_one_was_met() -> None:
    deadlines = Deadlines()
    deadlines.clear(deadlines.set(10))
    deadline = deadlines.set(30)
    with pytest.raises(asyncio.CancelledError):
        await asyncio.sleep(1)
    assert deadline.expired
    assert not deadline.task.uncancel()
