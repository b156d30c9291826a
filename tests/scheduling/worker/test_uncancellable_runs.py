"""A run that will not be cancelled keeps nobody from stopping, and is settled once."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tests.scheduling.worker.running_worker import RunningWorker, on_manual_clock, on_system_clock, until
from tests.scheduling.worker.worker_fixtures import SUCCESS

from cadenza.domain.scheduling.policy import Policy
from cadenza.domain.scheduling.run import Claim, Outcome, RunStatus


def stubborn(enough: asyncio.Event) -> Callable[[Claim], Any]:
    """A run that goes on through every cancellation, until it is enough."""

    async def behave(_: Claim) -> Outcome:
        while not enough.is_set():
            with suppress(asyncio.CancelledError):
                await enough.wait()
        return SUCCESS

    return behave


async def test_a_run_that_will_not_be_cancelled_does_not_keep_a_loop_from_stopping() -> None:
    fixture, enough = on_system_clock(), asyncio.Event()
    await fixture.add(policy=Policy(timeout_ms=10))
    fixture.dispatcher.on("endpoint", stubborn(enough))
    async with RunningWorker(fixture, grace_ms=20) as worker:
        await asyncio.sleep(0.02)
        worker.loop.stop()
        await asyncio.wait({worker.task}, timeout=0.5)
        stopped = worker.task.done()
        enough.set()
    assert stopped
    run = await fixture.only_run()
    assert (run.status, run.reason) == (
        RunStatus.CANCELLED,
        "its worker stopped, and the run ignored the cancellation",
    )


async def test_a_stubborn_run_that_ends_after_all_is_settled_once() -> None:
    fixture, enough = on_manual_clock(), asyncio.Event()
    await fixture.add()
    fixture.dispatcher.on("endpoint", stubborn(enough))
    async with RunningWorker(fixture, grace_ms=10_000, settle_linger_ms=5) as worker:
        worker.loop.stop()
        await fixture.clock.advance(20_002)
        enough.set()
        await fixture.clock.advance(10)
    assert len(fixture.run_events) == 1


async def test_a_stubborn_run_gives_in_to_a_timeout_without_harm_to_the_next() -> None:
    fixture, enough = on_system_clock(), asyncio.Event()
    await fixture.add("odd", policy=Policy(timeout_ms=10))
    await fixture.add("even")
    fixture.dispatcher.on("odd", stubborn(enough))
    async with RunningWorker(fixture, grace_ms=100):
        await until(lambda: len(fixture.run_events) == 1)
        assert (await fixture.only_run("even")).status is RunStatus.SUCCESS
        await asyncio.sleep(0.02)  # The timeout of the other is over by now.
        enough.set()
    assert (await fixture.only_run("odd")).status is RunStatus.SUCCESS
