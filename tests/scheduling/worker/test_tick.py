"""A tick: claim what is due, run it, settle it; two commits a batch."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.scheduling.worker.call_recorder import once
from tests.scheduling.worker.running_worker import RunningWorker, on_manual_clock, other_tasks
from tests.scheduling.worker.worker_fixtures import MINUTE, SUCCESS, ConcurrencyCounter, WorkerFixture

from cadenza.domain.access.places import places_for
from cadenza.domain.errors import Unavailable
from cadenza.domain.scheduling.baseline import Cron
from cadenza.domain.scheduling.due import FOREVER
from cadenza.domain.scheduling.policy import Misfire, Policy
from cadenza.domain.scheduling.run import Claim, Outcome, RunStatus
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
    fixture = WorkerFixture()
    for number in range(count):
        await fixture.add(f"endpoint-{number}")
    assert len(await fixture.tick()) == count
    assert fixture.store.calls == {"claim_due": 1, "finalize": 1}
    assert fixture.asked.calls == {"check": 1}


async def test_a_tick_with_nothing_due_only_looks() -> None:
    fixture = WorkerFixture()
    await fixture.add(in_ms=1)
    assert await fixture.tick() == []
    assert fixture.store.calls == {"claim_due": 1}
    assert fixture.asked.calls == {}


async def test_a_tick_claims_no_more_than_its_limit() -> None:
    fixture = WorkerFixture(claim_limit=3)
    for number in range(5):
        await fixture.add(f"endpoint-{number}")
    assert [len(await fixture.tick()) for _ in range(3)] == [3, 2, 0]


@pytest.mark.parametrize("concurrency", [1, 3, 20])
async def test_a_tick_runs_as_many_at_a_time_as_allowed(concurrency: int) -> None:
    fixture = WorkerFixture(concurrency=concurrency)
    counter = ConcurrencyCounter(lambda: asyncio.sleep(0.001))
    for number in range(20):
        await fixture.add(f"endpoint-{number}")
        fixture.dispatcher.on(f"endpoint-{number}", counter)
    assert len(await fixture.drain()) == 20
    assert counter.most == concurrency


@pytest.mark.parametrize("concurrency", [1, 3, 20])
async def test_a_loop_runs_as_many_at_a_time_as_allowed(concurrency: int) -> None:
    fixture = on_manual_clock(concurrency=concurrency)
    counter = ConcurrencyCounter(lambda: fixture.clock.sleep(100))
    for number in range(20):
        await fixture.add(f"endpoint-{number}")
        fixture.dispatcher.on(f"endpoint-{number}", counter)
    async with RunningWorker(fixture):
        await fixture.clock.advance(MINUTE - 1)
    assert counter.most == places_for(0, free=concurrency)
    assert len(fixture.dispatcher.executed) == 20


@pytest.mark.parametrize(
    ("late_ms", "status"), [(GRACE - 1, "success"), (GRACE, "success"), (GRACE + 1, "skipped")]
)
async def test_what_may_be_skipped_is_skipped_beyond_its_grace(late_ms: int, status: str) -> None:
    fixture = WorkerFixture()
    await fixture.add(policy=Policy(misfire=Misfire.SKIP, misfire_grace_ms=GRACE))
    fixture.clock.jump(late_ms)
    await fixture.tick()
    run = await fixture.only_run()
    assert (run.status, run.late_ms) == (status, late_ms)
    assert bool(fixture.dispatcher.executed) is (status == "success")


async def test_a_skipped_slot_says_how_late_it_was_and_moves_only_where_planning_starts() -> None:
    fixture = WorkerFixture()
    await fixture.add(policy=Policy(misfire=Misfire.SKIP, misfire_grace_ms=GRACE))
    fixture.clock.jump(GRACE + 1)
    await fixture.tick()
    after = await fixture.endpoint()
    assert (await fixture.only_run()).reason == "60001 ms late, beyond its grace"
    assert (after.last_run_at, after.next_run_at) == (None, fixture.at(MINUTE))


@pytest.mark.parametrize("late_ms", [GRACE - 1, GRACE, GRACE + 1, 10 * GRACE])
async def test_by_default_what_is_late_runs_once_and_says_how_late(late_ms: int) -> None:
    fixture = WorkerFixture()
    await fixture.add()
    fixture.clock.jump(late_ms)
    await fixture.tick()
    await fixture.tick()
    run = await fixture.only_run()
    assert (run.status, run.late_ms, run.coalesced) == (RunStatus.SUCCESS, late_ms, late_ms // MINUTE)


async def test_an_endpoint_that_cannot_be_planned_is_paused_and_does_not_block_its_batch() -> None:
    fixture = WorkerFixture(cron=PickyCron())
    await fixture.add("odd", baseline=Cron("unreadable"))
    await fixture.add("even", baseline=Cron("* * * * *"))
    assert len(await fixture.tick()) == 2
    odd, even = await fixture.endpoint("odd"), await fixture.endpoint("even")
    assert (odd.pause_reason, odd.paused_until) == ("it cannot be planned: five fields, please", FOREVER)
    assert (odd.lease, even.next_run_at) == (None, fixture.at(MINUTE))
    told = {line.event: line.facts for line in fixture.log.lines}
    ids = told["an endpoint cannot be planned and is paused"]
    assert {"tenant_id", "job_id", "endpoint_id", "run_id"} <= ids.keys()


async def test_the_run_of_an_endpoint_that_cannot_be_planned_is_still_closed() -> None:
    fixture = WorkerFixture(cron=PickyCron())
    await fixture.add(baseline=Cron("unreadable"))
    await fixture.tick()
    run = await fixture.only_run()
    assert (run.status, run.verdict) == (RunStatus.SUCCESS, True)


async def test_a_lost_lease_is_logged_as_a_warning_and_changes_nothing() -> None:
    fixture = WorkerFixture(lease_ms=1_000)
    await fixture.add()

    async def oversleep(_: Claim) -> Any:
        fixture.clock.jump(1_000)
        await fixture.sweeper.sweep()
        return SUCCESS

    fixture.dispatcher.on("endpoint", oversleep)
    assert await fixture.tick() == []
    run, after = await fixture.only_run(), await fixture.endpoint()
    assert (run.status, after.failure_count) == (RunStatus.ABANDONED, 1)
    (line,) = [line for line in fixture.log.lines if "a lease was lost" in line.event]
    ids = {"tenant_id": "default", "job_id": "default", "endpoint_id": "endpoint", "run_id": run.id}
    assert (line.level, line.facts) == ("warning", ids)


async def test_a_hint_written_during_the_run_counts() -> None:
    fixture = WorkerFixture()
    await fixture.add()

    async def steer(_: Claim) -> Outcome:
        await fixture.tool("propose_interval", intervalMs=5_000)
        return SUCCESS

    fixture.dispatcher.on("endpoint", steer)
    ((endpoint, *_),) = await fixture.tick()
    assert (endpoint.next_run_at, endpoint.next_source) == (fixture.at(5_000), "ai-interval")


async def test_a_tick_emits_an_event_for_each_run_and_one_for_itself() -> None:
    fixture = WorkerFixture()
    await fixture.add("good")
    await fixture.add("bad")
    fixture.dispatcher.fails("bad")
    fixture.takes(40, "good")
    await fixture.tick()
    first = {"source": "first", "scheduler": "endpoints"}
    took = {"duration_ms": 0, "late_ms": 0}
    events = [event for event in fixture.telemetry.events if event.name.startswith("sched.")]
    assert events == [
        EmittedEvent("sched.job.stop", took, {"result": "ok", **first}),
        EmittedEvent("sched.job.stop", took, {"result": "error", "error_class": "unknown", **first}),
        EmittedEvent("sched.tick.stop", {"duration_ms": 40}, {"claimed": 2, "scheduler": "endpoints"}),
    ]


async def test_a_loop_emits_an_event_for_each_run() -> None:
    fixture = on_manual_clock()
    await fixture.add()
    async with RunningWorker(fixture):
        await fixture.clock.advance(MINUTE)
    names = [event.name for event in fixture.telemetry.events]
    assert names.count("sched.job.stop") == 2
    rounds = names.count("sched.tick.stop")
    assert rounds == names.count("sched.queue.depth") == names.count("sched.executor.in_flight") > 2


async def test_a_tick_runs_no_more_at_a_time_than_allowed_also_of_what_it_claimed_ahead() -> None:
    fixture = on_manual_clock(concurrency=2, claim_ahead_ms=10_000)
    counter = ConcurrencyCounter(lambda: fixture.clock.sleep(1_000))
    for number in range(6):
        await fixture.add(f"endpoint-{number}", in_ms=100 * (number // 2))
        fixture.dispatcher.on(f"endpoint-{number}", counter)
    drained = asyncio.create_task(fixture.drain())
    await fixture.clock.advance(20_000)
    assert len(await drained) == 6
    assert counter.most == 2


async def test_a_long_run_that_was_claimed_ahead_does_not_delay_the_next() -> None:
    fixture = on_manual_clock(claim_ahead_ms=10_000)
    await fixture.add("long", in_ms=1_000)
    await fixture.add("soon", in_ms=2_000)
    fixture.takes(8_000, "long")
    moments = fixture.moments("soon")
    tick = asyncio.create_task(fixture.tick())
    await fixture.clock.advance(10_000)
    await tick
    assert moments == [2_000]


async def test_a_tick_that_fails_leaves_no_task_behind() -> None:
    fixture = on_manual_clock(claim_ahead_ms=10_000)
    await fixture.add("now")
    await fixture.add("soon", in_ms=1_000)

    async def fail() -> Any:
        raise Unavailable("The quota is away.")

    fixture.asked.before["check"] = once(fail)
    with pytest.raises(Unavailable):
        await fixture.tick()
    assert other_tasks() == set()
