"""A store that is away for a while costs nothing but time; a bug ends the loop, and says so."""

import asyncio
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

from cadenza.domain.errors import Unavailable
from cadenza.domain.scheduling.run import Claim, RunStatus
from cadenza.testing.clock import NEW_YEAR

CALLS = ["claim_due", "finalize", "renew", "next_due", "sweep"]
OUTAGE = 10_000
LEASE = 30_000


def away() -> Unavailable:
    return Unavailable("The store is away.")


async def a_mixed_load(fixture: WorkerFixture) -> None:
    """Due now, due during the outage, due after it, and a run that outlasts it."""
    for name, due_ms in (("now", 0), ("during", 5_000), ("after", 20_000), ("long", 0)):
        await fixture.add(name, in_ms=due_ms, next_source="first")
    fixture.takes(15_000, "long")


async def verdicts(fixture: WorkerFixture) -> dict[str, list[str | None]]:
    names = ("now", "during", "after", "long")
    return {name: [run.status for run in await fixture.runs(name)] for name in names}


@pytest.mark.parametrize("call", CALLS)
async def test_an_outage_is_survived_without_loss(call: str) -> None:
    fixture = on_manual_clock(lease_ms=LEASE)
    await a_mixed_load(fixture)
    fixture.store.fail(call, away())
    async with RunningWorker(fixture):
        await fixture.clock.advance(OUTAGE)
        fixture.store.restore(call)
        await fixture.clock.advance(25_000)
        assert await verdicts(fixture) == {name: ["success"] for name in ("now", "during", "after", "long")}


@pytest.mark.parametrize("call", CALLS)
async def test_an_outage_makes_no_busy_loop(call: str) -> None:
    fixture = on_manual_clock(lease_ms=LEASE)
    await a_mixed_load(fixture)
    fixture.store.fail(call, away())
    async with RunningWorker(fixture):
        await fixture.clock.advance(OUTAGE)
        assert fixture.store.calls[call] <= 15
        assert fixture.store.calls.total() <= 55
        fixture.store.restore(call)


async def test_what_waits_for_its_moment_outlasts_an_outage() -> None:
    fixture = on_manual_clock(lease_ms=LEASE, claim_ahead_ms=10_000)
    await fixture.add(in_ms=5_000)
    fixture.store.fail("start", away())
    async with RunningWorker(fixture):
        await fixture.clock.advance(OUTAGE)
        assert fixture.store.calls["start"] <= 12
        fixture.store.restore("start")
        await fixture.clock.advance(1_000)
        run = (await fixture.runs())[0]
        assert (run.status, run.late_ms) == (RunStatus.SUCCESS, 6_000)


async def test_an_outage_that_lasts_is_one_warning_and_one_line_when_it_is_over() -> None:
    fixture = on_manual_clock()
    fixture.store.fail("claim_due", away())
    async with RunningWorker(fixture):
        await fixture.clock.advance(60_000)
        fixture.store.restore("claim_due")
        await fixture.clock.advance(2_000)
    assert fixture.log.lines[0].level == "debug"
    told = [line for line in fixture.log.lines if line.level != "debug"]
    assert [(line.level, line.facts["part"]) for line in told] == [
        ("warning", "worker/claim"),
        ("info", "worker/claim"),
    ]
    assert told[0].facts["problem"] == "The store is away."


async def test_passes_emit_their_events_during_an_outage() -> None:
    fixture = on_manual_clock()
    fixture.store.fail("claim_due", away())
    async with RunningWorker(fixture):
        await fixture.clock.advance(5_000)
    assert len([event for event in fixture.telemetry.events if event.name == "sched.tick.stop"]) >= 5


async def test_a_loop_can_be_stopped_during_an_outage() -> None:
    fixture = on_manual_clock()
    fixture.store.fail("claim_due", away())
    async with RunningWorker(fixture) as worker:
        worker.loop.stop()
        await fixture.clock.advance(0)
        assert worker.task.done()


async def test_a_loop_that_cannot_settle_gives_up_after_the_grace_and_leaves_it_to_the_sweeper() -> None:
    fixture = on_manual_clock()
    await fixture.add()
    fixture.store.fail("finalize", away())
    async with RunningWorker(fixture, grace_ms=5_000) as worker:
        await worker.stopped()
    assert other_tasks() == set()
    assert (await fixture.endpoint()).lease is not None
    fixture.clock.jump(MINUTE)
    await fixture.sweeper.sweep()
    assert (await fixture.only_run()).status is RunStatus.ABANDONED


async def test_an_answer_lost_after_the_commit_changes_nothing_twice() -> None:
    fixture = on_manual_clock()
    await fixture.add()

    async def fail() -> Any:
        raise away()

    fixture.store.after["finalize"] = once(fail)
    async with RunningWorker(fixture):
        await fixture.clock.advance(2_000)
    run, after = await fixture.only_run(), await fixture.endpoint()
    assert (run.status, run.verdict, after.last_run_at) == (RunStatus.SUCCESS, True, NEW_YEAR)


@pytest.mark.parametrize("call", [*CALLS, "start", "check"])
async def test_any_other_exception_ends_the_loop_with_it(call: str) -> None:
    fixture = on_manual_clock(lease_ms=3_000, claim_ahead_ms=1_000)
    await fixture.add("now")
    await fixture.add("soon", in_ms=500)
    (fixture.asked if call == "check" else fixture.store).fail(call, ZeroDivisionError("a bug"))
    fixture.takes(2_000, "now")
    async with RunningWorker(fixture) as worker:
        await fixture.clock.advance(5_000)
        with pytest.raises(ZeroDivisionError, match="a bug"):
            await worker.ended()
    assert other_tasks() == set()


async def test_a_loop_that_is_cancelled_ends_and_leaves_no_task_behind() -> None:
    fixture = on_manual_clock()
    async with RunningWorker(fixture) as worker:
        worker.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await worker.task
        assert other_tasks() == set()


async def test_a_loop_cancelled_in_the_middle_of_a_commit_leaves_its_run_to_the_sweeper() -> None:
    fixture = on_manual_clock(lease_ms=LEASE)
    await fixture.add()

    async def hang() -> Any:
        await asyncio.Event().wait()

    fixture.store.before["finalize"] = hang
    async with RunningWorker(fixture) as worker:
        worker.task.cancel()
        await asyncio.wait({worker.task})
    assert other_tasks() == set()
    fixture.clock.jump(LEASE)
    await fixture.sweeper.sweep()
    assert (await fixture.only_run()).status is RunStatus.ABANDONED


async def test_what_a_broken_loop_held_is_found_by_the_sweeper() -> None:
    fixture = on_manual_clock(lease_ms=LEASE)
    await fixture.add()
    fixture.store.fail("finalize", ZeroDivisionError("a bug"))
    async with RunningWorker(fixture) as worker:
        with pytest.raises(ZeroDivisionError):
            await worker.ended()
    fixture.store.restore("finalize")
    fixture.clock.jump(LEASE)
    async with RunningWorker(fixture):
        await fixture.clock.advance(0)
    assert [run.status for run in await fixture.runs()] == ["abandoned", "success"]


@pytest.mark.parametrize("how", ["with a bug", "by being cancelled"])
async def test_when_a_loop_has_ended_its_runs_have_ended_too(how: str) -> None:
    fixture = on_system_clock()
    await fixture.add()

    async def tidy_up(_: Claim) -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)

    fixture.dispatcher.on("endpoint", tidy_up)
    async with RunningWorker(fixture) as worker:
        await asyncio.sleep(0.01)
        if how == "with a bug":
            fixture.store.fail("claim_due", ZeroDivisionError("a bug"))
            await fixture.add("other")
        else:
            worker.task.cancel()
        await asyncio.wait({worker.task})
        assert other_tasks() == set()
