"""A store that is away for a while costs nothing but time; a bug ends the loop, and says so."""

import asyncio
from typing import Any

import pytest
from tests.scheduling.worker.call_recorder import once
from tests.scheduling.worker.running_worker import Worker, by_hand, in_real_time, others
from tests.scheduling.worker.worker_fixtures import MINUTE, Corridor

from cadenza.domain.errors import Unavailable
from cadenza.domain.scheduling.run import Claim, RunStatus
from cadenza.testing.clock import NEW_YEAR

CALLS = ["claim_due", "finalize", "renew", "next_due", "sweep"]
OUTAGE = 10_000
LEASE = 30_000


def away() -> Unavailable:
    return Unavailable("The store is away.")


async def a_mixed_load(corridor: Corridor) -> None:
    """Due now, due during the outage, due after it, and a run that outlasts it."""
    for name, due_ms in (("now", 0), ("during", 5_000), ("after", 20_000), ("long", 0)):
        await corridor.add(name, in_ms=due_ms, next_source="first")
    corridor.takes(15_000, "long")


async def verdicts(corridor: Corridor) -> dict[str, list[str | None]]:
    names = ("now", "during", "after", "long")
    return {name: [run.status for run in await corridor.runs(name)] for name in names}


@pytest.mark.parametrize("call", CALLS)
async def test_an_outage_is_survived_without_loss(call: str) -> None:
    corridor = by_hand(lease_ms=LEASE)
    await a_mixed_load(corridor)
    corridor.store.breaks(call, away())
    async with Worker(corridor):
        await corridor.clock.advance(OUTAGE)
        corridor.store.heals(call)
        await corridor.clock.advance(25_000)
        assert await verdicts(corridor) == {name: ["success"] for name in ("now", "during", "after", "long")}


@pytest.mark.parametrize("call", CALLS)
async def test_an_outage_makes_no_busy_loop(call: str) -> None:
    corridor = by_hand(lease_ms=LEASE)
    await a_mixed_load(corridor)
    corridor.store.breaks(call, away())
    async with Worker(corridor):
        await corridor.clock.advance(OUTAGE)
        assert corridor.store.calls[call] <= 15
        assert corridor.store.calls.total() <= 45
        corridor.store.heals(call)


async def test_what_waits_for_its_moment_outlasts_an_outage() -> None:
    corridor = by_hand(lease_ms=LEASE, claim_ahead_ms=10_000)
    await corridor.add(in_ms=5_000)
    corridor.store.breaks("start", away())
    async with Worker(corridor):
        await corridor.clock.advance(OUTAGE)
        assert corridor.store.calls["start"] <= 12
        corridor.store.heals("start")
        await corridor.clock.advance(1_000)
        run = (await corridor.runs())[0]
        assert (run.status, run.late_ms) == (RunStatus.SUCCESS, 6_000)


async def test_an_outage_is_a_warning() -> None:
    corridor = by_hand()
    corridor.store.breaks("claim_due", away())
    async with Worker(corridor):
        line = corridor.log.lines[0]
        assert (line.level, line.facts) == ("warning", {"problem": "The store is away."})


async def test_a_loop_can_be_stopped_during_an_outage() -> None:
    corridor = by_hand()
    corridor.store.breaks("claim_due", away())
    async with Worker(corridor) as worker:
        worker.loop.stop()
        await corridor.clock.advance(0)
        assert worker.task.done()


async def test_a_loop_that_cannot_settle_gives_up_after_the_grace_and_leaves_it_to_the_sweeper() -> None:
    corridor = by_hand()
    await corridor.add()
    corridor.store.breaks("finalize", away())
    async with Worker(corridor, grace_ms=5_000) as worker:
        await worker.stopped()
    assert others() == set()
    assert (await corridor.endpoint()).lease is not None
    corridor.clock.jump(MINUTE)
    await corridor.sweeper.sweep()
    assert (await corridor.only_run()).status is RunStatus.ABANDONED


async def test_an_answer_lost_after_the_commit_changes_nothing_twice() -> None:
    corridor = by_hand()
    await corridor.add()

    async def fail() -> Any:
        raise away()

    corridor.store.after["finalize"] = once(fail)
    async with Worker(corridor):
        await corridor.clock.advance(2_000)
    run, after = await corridor.only_run(), await corridor.endpoint()
    assert (run.status, run.verdict, after.last_run_at) == (RunStatus.SUCCESS, True, NEW_YEAR)


@pytest.mark.parametrize("call", [*CALLS, "start", "check"])
async def test_any_other_exception_ends_the_loop_with_it(call: str) -> None:
    corridor = by_hand(lease_ms=3_000, claim_ahead_ms=1_000)
    await corridor.add("now")
    await corridor.add("soon", in_ms=500)
    (corridor.asked if call == "check" else corridor.store).breaks(call, ZeroDivisionError("a bug"))
    corridor.takes(2_000, "now")
    async with Worker(corridor) as worker:
        await corridor.clock.advance(5_000)
        with pytest.raises(ZeroDivisionError, match="a bug"):
            await worker.ended()
    assert others() == set()


async def test_a_loop_that_is_cancelled_ends_and_leaves_no_task_behind() -> None:
    corridor = by_hand()
    async with Worker(corridor) as worker:
        worker.task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await worker.task
        assert others() == set()


async def test_a_loop_cancelled_in_the_middle_of_a_commit_leaves_its_run_to_the_sweeper() -> None:
    corridor = by_hand(lease_ms=LEASE)
    await corridor.add()

    async def hang() -> Any:
        await asyncio.Event().wait()

    corridor.store.before["finalize"] = hang
    async with Worker(corridor) as worker:
        worker.task.cancel()
        await asyncio.wait({worker.task})
    assert others() == set()
    corridor.clock.jump(LEASE)
    await corridor.sweeper.sweep()
    assert (await corridor.only_run()).status is RunStatus.ABANDONED


async def test_what_a_broken_loop_held_is_found_by_the_sweeper() -> None:
    corridor = by_hand(lease_ms=LEASE)
    await corridor.add()
    corridor.store.breaks("finalize", ZeroDivisionError("a bug"))
    async with Worker(corridor) as worker:
        with pytest.raises(ZeroDivisionError):
            await worker.ended()
    corridor.store.heals("finalize")
    corridor.clock.jump(LEASE)
    async with Worker(corridor):
        await corridor.clock.advance(0)
    assert [run.status for run in await corridor.runs()] == ["abandoned", "success"]


@pytest.mark.parametrize("how", ["with a bug", "by being cancelled"])
async def test_when_a_loop_has_ended_its_runs_have_ended_too(how: str) -> None:
    corridor = in_real_time()
    await corridor.add()

    async def tidy_up(_: Claim) -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)

    corridor.dispatcher.on("endpoint", tidy_up)
    async with Worker(corridor) as worker:
        await asyncio.sleep(0.01)
        if how == "with a bug":
            corridor.store.breaks("claim_due", ZeroDivisionError("a bug"))
            await corridor.add("other")
        else:
            worker.task.cancel()
        await asyncio.wait({worker.task})
        assert others() == set()
