"""A tick: claim what is due, run it, settle it; two commits a batch."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.scheduling.worker.call_recorder import once
from tests.scheduling.worker.running_worker import Worker, by_hand, others
from tests.scheduling.worker.worker_fixtures import MINUTE, SUCCESS, Corridor, Crowd

from cadenza.domain.errors import Unavailable
from cadenza.domain.scheduling.baseline import Cron
from cadenza.domain.scheduling.policy import Misfire, Policy
from cadenza.domain.scheduling.run import Claim, Outcome, RunStatus
from cadenza.domain.scheduling.settle import FOREVER
from cadenza.testing.fakes import EmittedEvent

GRACE = 60_000


class PickyCron:
    """Fires a minute later, and cannot read one line."""

    def next(self, expression: str, after: datetime, timezone: str = "UTC") -> datetime:
        if expression == "unreadable":
            raise ValueError("five fields, please")
        return after + timedelta(minutes=1)

    def check(self, expression: str, timezone: str = "UTC") -> None:
        """Take anything."""


@pytest.mark.parametrize("count", [1, 2, 50])
async def test_a_tick_claims_once_and_finalizes_once_however_many_are_due(count: int) -> None:
    corridor = Corridor()
    for number in range(count):
        await corridor.add(f"endpoint-{number}")
    assert len(await corridor.tick()) == count
    assert corridor.store.calls == {"claim_due": 1, "finalize": 1}
    assert corridor.asked.calls == {"check": 1}


async def test_a_tick_with_nothing_due_only_looks() -> None:
    corridor = Corridor()
    await corridor.add(in_ms=1)
    assert await corridor.tick() == []
    assert corridor.store.calls == {"claim_due": 1}
    assert corridor.asked.calls == {}


async def test_a_tick_claims_no_more_than_its_limit() -> None:
    corridor = Corridor(claim_limit=3)
    for number in range(5):
        await corridor.add(f"endpoint-{number}")
    assert [len(await corridor.tick()) for _ in range(3)] == [3, 2, 0]


@pytest.mark.parametrize("concurrency", [1, 3, 20])
async def test_a_tick_runs_as_many_at_a_time_as_allowed(concurrency: int) -> None:
    corridor = Corridor(concurrency=concurrency)
    crowd = Crowd(lambda: asyncio.sleep(0.001))
    for number in range(20):
        await corridor.add(f"endpoint-{number}")
        corridor.dispatcher.on(f"endpoint-{number}", crowd)
    assert len(await corridor.drain()) == 20
    assert crowd.most == concurrency


@pytest.mark.parametrize("concurrency", [1, 3, 20])
async def test_a_loop_runs_as_many_at_a_time_as_allowed(concurrency: int) -> None:
    corridor = by_hand(concurrency=concurrency)
    crowd = Crowd(lambda: corridor.clock.sleep(100))
    for number in range(20):
        await corridor.add(f"endpoint-{number}")
        corridor.dispatcher.on(f"endpoint-{number}", crowd)
    async with Worker(corridor):
        await corridor.clock.advance(MINUTE - 1)
    assert crowd.most == concurrency
    assert len(corridor.dispatcher.executed) == 20


@pytest.mark.parametrize(
    ("late_ms", "status"), [(GRACE - 1, "success"), (GRACE, "success"), (GRACE + 1, "skipped")]
)
async def test_what_may_be_skipped_is_skipped_beyond_its_grace(late_ms: int, status: str) -> None:
    corridor = Corridor()
    await corridor.add(policy=Policy(misfire=Misfire.SKIP, misfire_grace_ms=GRACE))
    corridor.clock.jump(late_ms)
    await corridor.tick()
    run = await corridor.only_run()
    assert (run.status, run.late_ms) == (status, late_ms)
    assert bool(corridor.dispatcher.executed) is (status == "success")


async def test_a_skipped_slot_says_how_late_it_was_and_moves_only_where_planning_starts() -> None:
    corridor = Corridor()
    await corridor.add(policy=Policy(misfire=Misfire.SKIP, misfire_grace_ms=GRACE))
    corridor.clock.jump(GRACE + 1)
    await corridor.tick()
    after = await corridor.endpoint()
    assert (await corridor.only_run()).reason == "60001 ms late, beyond its grace"
    assert (after.last_run_at, after.next_run_at) == (None, corridor.at(MINUTE))


@pytest.mark.parametrize("late_ms", [GRACE - 1, GRACE, GRACE + 1, 10 * GRACE])
async def test_by_default_what_is_late_runs_once_and_says_how_late(late_ms: int) -> None:
    corridor = Corridor()
    await corridor.add()
    corridor.clock.jump(late_ms)
    await corridor.tick()
    await corridor.tick()
    run = await corridor.only_run()
    assert (run.status, run.late_ms, run.coalesced) == (RunStatus.SUCCESS, late_ms, late_ms // MINUTE)


async def test_an_endpoint_that_cannot_be_planned_is_paused_and_does_not_block_its_batch() -> None:
    corridor = Corridor(cron=PickyCron())
    await corridor.add("odd", baseline=Cron("unreadable"))
    await corridor.add("even", baseline=Cron("* * * * *"))
    assert len(await corridor.tick()) == 2
    odd, even = await corridor.endpoint("odd"), await corridor.endpoint("even")
    assert (odd.pause_reason, odd.paused_until) == ("it cannot be planned: five fields, please", FOREVER)
    assert (odd.lease, even.next_run_at) == (None, corridor.at(MINUTE))
    assert "an endpoint cannot be planned and is paused" in corridor.log.events("warning")


async def test_the_run_of_an_endpoint_that_cannot_be_planned_is_still_closed() -> None:
    corridor = Corridor(cron=PickyCron())
    await corridor.add(baseline=Cron("unreadable"))
    await corridor.tick()
    run = await corridor.only_run()
    assert (run.status, run.verdict) == (RunStatus.SUCCESS, True)


async def test_a_lost_lease_is_logged_as_a_warning_and_changes_nothing() -> None:
    corridor = Corridor(lease_ms=1_000)
    await corridor.add()

    async def oversleep(_: Claim) -> Any:
        corridor.clock.jump(1_000)
        await corridor.sweeper.sweep()
        return SUCCESS

    corridor.dispatcher.on("endpoint", oversleep)
    assert await corridor.tick() == []
    run, after = await corridor.only_run(), await corridor.endpoint()
    assert (run.status, after.failure_count) == (RunStatus.ABANDONED, 1)
    (line,) = [line for line in corridor.log.lines if "a lease was lost" in line.event]
    assert (line.level, line.facts) == ("warning", {"endpoint_id": "endpoint", "run_id": run.id})


async def test_a_hint_written_during_the_run_counts() -> None:
    corridor = Corridor()
    await corridor.add()

    async def steer(_: Claim) -> Outcome:
        await corridor.tool("propose_interval", intervalMs=5_000)
        return SUCCESS

    corridor.dispatcher.on("endpoint", steer)
    ((endpoint, *_),) = await corridor.tick()
    assert (endpoint.next_run_at, endpoint.next_source) == (corridor.at(5_000), "ai-interval")


async def test_a_tick_emits_an_event_for_each_run_and_one_for_itself() -> None:
    corridor = Corridor()
    await corridor.add("good")
    await corridor.add("bad")
    corridor.dispatcher.fails("bad")
    corridor.takes(40, "good")
    await corridor.tick()
    first = {"source": "first", "scheduler": "endpoints"}
    took = {"duration_ms": 0, "late_ms": 0}
    events = [event for event in corridor.telemetry.events if event.name.startswith("sched.")]
    assert events == [
        EmittedEvent("sched.job.stop", took, {"result": "ok", **first}),
        EmittedEvent("sched.job.stop", took, {"result": "error", "error_class": "unknown", **first}),
        EmittedEvent("sched.tick.stop", {"duration_ms": 40}, {"claimed": 2, "scheduler": "endpoints"}),
    ]


async def test_a_loop_emits_an_event_for_each_run() -> None:
    corridor = by_hand()
    await corridor.add()
    async with Worker(corridor):
        await corridor.clock.advance(MINUTE)
    names = [event.name for event in corridor.telemetry.events]
    assert names.count("sched.job.stop") == 2
    rounds = names.count("sched.tick.stop")
    assert rounds == names.count("sched.queue.depth") == names.count("sched.executor.in_flight") > 2


async def test_a_tick_runs_no_more_at_a_time_than_allowed_also_of_what_it_claimed_ahead() -> None:
    corridor = by_hand(concurrency=2, claim_ahead_ms=10_000)
    crowd = Crowd(lambda: corridor.clock.sleep(1_000))
    for number in range(6):
        await corridor.add(f"endpoint-{number}", in_ms=100 * (number // 2))
        corridor.dispatcher.on(f"endpoint-{number}", crowd)
    drained = asyncio.create_task(corridor.drain())
    await corridor.clock.advance(20_000)
    assert len(await drained) == 6
    assert crowd.most == 2


async def test_a_long_run_that_was_claimed_ahead_does_not_delay_the_next() -> None:
    corridor = by_hand(claim_ahead_ms=10_000)
    await corridor.add("long", in_ms=1_000)
    await corridor.add("soon", in_ms=2_000)
    corridor.takes(8_000, "long")
    moments = corridor.moments("soon")
    tick = asyncio.create_task(corridor.tick())
    await corridor.clock.advance(10_000)
    await tick
    assert moments == [2_000]


async def test_a_tick_that_fails_leaves_no_task_behind() -> None:
    corridor = by_hand(claim_ahead_ms=10_000)
    await corridor.add("now")
    await corridor.add("soon", in_ms=1_000)

    async def fail() -> Any:
        raise Unavailable("The quota is away.")

    corridor.asked.before["check"] = once(fail)
    with pytest.raises(Unavailable):
        await corridor.tick()
    assert others() == set()
