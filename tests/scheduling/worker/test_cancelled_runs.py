"""A run that is to be cancelled is stopped by whichever worker has it, soon, and is over."""

import asyncio
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from tests.scheduling.worker.call_recorder import LostWakeups
from tests.scheduling.worker.running_worker import RunningWorker, on_manual_clock
from tests.scheduling.worker.worker_fixtures import MINUTE, WorkerFixture

from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.requested_runs.cancelling import cancel_open_run
from cadenza.domain.scheduling.requested_runs.queue import CancelRequest
from cadenza.domain.scheduling.run import Claim, Outcome, RunStatus

HOUR = 60 * MINUTE


class LongRun:
    """What an endpoint does for an hour, unless it is stopped."""

    def __init__(self, fixture: WorkerFixture, name: str = "endpoint") -> None:
        self.began, self.stopped = 0, 0
        fixture.dispatcher.on(name, self._run)

    async def _run(self, _: Claim) -> Outcome:
        self.began += 1
        try:
            await asyncio.sleep(3_600)
        except asyncio.CancelledError:
            self.stopped += 1
            raise
        return Outcome(RunStatus.SUCCESS)


async def cancel(fixture: WorkerFixture, name: str = "endpoint") -> None:
    """Ask for the end of the open run, as another process does."""
    store, now = fixture.store.port.endpoints, fixture.clock.now()
    endpoint = next(one for one in fixture.store.port.endpoints._tables.endpoints.values() if one.id == name)
    assert endpoint.lease is not None
    asked = CancelRequest(endpoint.lease.run_id, "key:person", now, "enough")
    await store.amend_with_open_run(
        endpoint.key, partial(cancel_open_run, asked=asked, now=now, cron=fixture.cron)
    )


async def the_run(fixture: WorkerFixture) -> Any:
    """The run that was cancelled."""
    (run,) = [one for one in await fixture.runs() if one.status is RunStatus.CANCELLED]
    return run


async def test_a_run_is_stopped_at_once_and_its_slot_is_over() -> None:
    fixture = on_manual_clock()
    endpoint, long = await fixture.add(baseline=Every(HOUR)), LongRun(fixture)
    following = fixture.at(HOUR)
    async with RunningWorker(fixture):
        await fixture.clock.advance(5_000)
        await cancel(fixture)
        await fixture.clock.advance(300)
        assert (long.began, long.stopped) == (1, 1)
        run = await the_run(fixture)
        assert (run.verdict, run.reason) == (True, "cancelled by person: key person: enough")
        assert run.duration_ms == (run.finished_at - run.started_at) / timedelta(milliseconds=1) > 4_000
        after = await fixture.store.port.endpoints.get(endpoint.key)
        assert (after.lease, after.open_slot, after.next_run_at) == (None, None, following)


async def test_a_run_is_stopped_within_about_a_second_if_the_wake_up_is_lost() -> None:
    fixture = on_manual_clock()
    fixture.store.port.endpoints.listen = lambda: LostWakeups(asyncio.Event().wait)
    await fixture.add(baseline=Every(HOUR))
    long = LongRun(fixture)
    async with RunningWorker(fixture):
        await fixture.clock.advance(5_000)
        await cancel(fixture)
        await fixture.clock.advance(1_200)
        assert long.stopped == 1
        assert (await the_run(fixture)).verdict


async def test_a_run_that_waits_for_a_place_never_begins() -> None:
    fixture = on_manual_clock(concurrency=1, claim_limit=10)
    LongRun(fixture, "first")
    second = LongRun(fixture, "second")
    await fixture.add("first", baseline=Every(HOUR))
    async with RunningWorker(fixture, concurrency=2):
        await fixture.clock.advance(10)
        await fixture.add("second", baseline=Every(HOUR), next_run_at=fixture.at(0))
        await fixture.clock.advance(2_000)
        await cancel(fixture, "second")
        await fixture.clock.advance(300)
        assert second.began == second.stopped
        assert (await fixture.store.port.endpoints.get(("default", "first"))).lease is not None


async def test_others_go_on_when_one_is_cancelled() -> None:
    fixture = on_manual_clock()
    runs = [LongRun(fixture, name) for name in "abc"]
    for name in "abc":
        await fixture.add(name, baseline=Every(HOUR))
    async with RunningWorker(fixture):
        await fixture.clock.advance(1_000)
        await cancel(fixture, "b")
        await fixture.clock.advance(1_500)
        assert [long.stopped for long in runs] == [0, 1, 0]


async def test_a_run_is_told_once_however_long_it_takes_to_stop() -> None:
    fixture, told = on_manual_clock(), []

    async def stubborn(_: Claim) -> Outcome:
        try:
            await asyncio.sleep(3_600)
        except asyncio.CancelledError:
            told.append("cancelled")
            await fixture.clock.sleep(5_000)
            raise
        return Outcome(RunStatus.SUCCESS)

    fixture.dispatcher.on("endpoint", stubborn)
    await fixture.add(baseline=Every(HOUR))
    async with RunningWorker(fixture):
        await fixture.clock.advance(1_000)
        await cancel(fixture)
        await fixture.clock.advance(4_500)
        assert told == ["cancelled"]
        await fixture.clock.advance(2_000)
        assert (await the_run(fixture)).verdict


@pytest.mark.parametrize("waits_ms", [0, 30_000])
async def test_while_nothing_runs_the_store_is_not_asked(waits_ms: int) -> None:
    fixture = on_manual_clock()
    await fixture.add(in_ms=HOUR)
    async with RunningWorker(fixture):
        await fixture.clock.advance(waits_ms)
    assert fixture.store.calls["to_cancel"] == 0
