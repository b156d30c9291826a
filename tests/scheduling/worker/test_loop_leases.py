"""Leases are renewed while a run goes on; one that is lost stops the run here."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.scheduling.worker.running_worker import RunningWorker, on_manual_clock, other_tasks
from tests.scheduling.worker.worker_fixtures import MINUTE, ConcurrencyCounter, WorkerFixture

from cadenza.domain.errors import Unavailable
from cadenza.domain.scheduling.run import Claim, RunStatus
from cadenza.domain.validation import milliseconds
from cadenza.engine.worker.execute import Executor
from cadenza.ports.access import QuotaAnswer, QuotaRequest
from cadenza.testing import FakeClock

LEASE = 3_000


async def long_run(fixture: WorkerFixture, cut: list[str]) -> None:
    """An endpoint that is due and takes half a minute, and says when it is cut short."""
    await fixture.add()

    async def slowly(claim: Claim) -> Any:
        try:
            await fixture.clock.sleep(30_000)
        except asyncio.CancelledError:
            cut.append(claim.run_id)
            raise

    fixture.dispatcher.on("endpoint", slowly)


async def lose(fixture: WorkerFixture) -> None:
    """Let somebody whose clock is far ahead end every lease, and keep the endpoint for themselves."""
    ahead = WorkerFixture(store=fixture.store.port, lease_ms=MINUTE)
    ahead.clock.jump(LEASE + 30_000)
    assert len(await ahead.sweeper.sweep()) == 1
    assert len(await ahead.claim(1)) == 1


async def test_another_worker_finds_nothing_to_sweep_while_a_long_run_goes_on() -> None:
    fixture = on_manual_clock(lease_ms=LEASE)
    other = WorkerFixture(clock=fixture.clock, store=fixture.store.port, lease_ms=LEASE)
    await fixture.add()
    fixture.takes(30_000)
    async with RunningWorker(fixture):
        for _ in range(31):
            assert await other.sweeper.sweep() == []
            assert await other.tick() == []
            await fixture.clock.advance(1_000)
    assert (await fixture.only_run()).status is RunStatus.SUCCESS


async def test_all_leases_are_renewed_in_one_call_three_times_in_their_length() -> None:
    fixture = on_manual_clock(lease_ms=LEASE)
    for number in range(10):
        await fixture.add(f"endpoint-{number}")
        fixture.takes(30_000, f"endpoint-{number}")
    async with RunningWorker(fixture):
        await fixture.clock.advance(9_999)
        assert fixture.store.calls["renew"] == 9


async def test_nothing_is_renewed_when_nothing_is_held() -> None:
    fixture = on_manual_clock(lease_ms=LEASE)
    async with RunningWorker(fixture):
        await fixture.clock.advance(MINUTE)
    assert fixture.store.calls["renew"] == 0


async def test_leases_are_renewed_while_claims_wait_for_their_moment() -> None:
    fixture = on_manual_clock(lease_ms=LEASE, claim_ahead_ms=30_000)
    await fixture.add(in_ms=20_000)
    moments = fixture.moments()
    async with RunningWorker(fixture):
        await fixture.clock.advance(21_000)
    assert moments == [20_000]
    assert (await fixture.runs())[0].status is RunStatus.SUCCESS


async def test_leases_are_renewed_while_a_stopping_loop_lets_runs_finish() -> None:
    fixture = on_manual_clock(lease_ms=LEASE)
    await fixture.add()
    fixture.takes(9_000)
    async with RunningWorker(fixture, grace_ms=10_000) as worker:
        await worker.stopped()
    assert (await fixture.only_run()).status is RunStatus.SUCCESS
    assert fixture.log.events("warning") == []


async def test_leases_are_renewed_while_the_store_cannot_settle() -> None:
    fixture = on_manual_clock(lease_ms=LEASE)
    await fixture.add()

    async def slowly() -> Any:
        await fixture.clock.sleep(10 * LEASE)

    fixture.store.before["finalize"] = slowly
    async with RunningWorker(fixture, grace_ms=MINUTE):
        await fixture.clock.advance(11 * LEASE)
    assert (await fixture.runs())[0].status is RunStatus.SUCCESS


async def test_a_lost_lease_stops_the_run_and_is_logged() -> None:
    fixture = on_manual_clock(lease_ms=LEASE)
    cut: list[str] = []
    await long_run(fixture, cut)
    async with RunningWorker(fixture):
        await lose(fixture)
        await fixture.clock.advance(LEASE / 3)
        (line,) = [line for line in fixture.log.lines if "leases were lost" in line.event]
        assert (line.level, line.facts) == ("warning", {"run_ids": cut})
    assert [run.status for run in await fixture.runs()] == [RunStatus.ABANDONED, None]


async def test_a_worker_that_lost_a_lease_has_room_again_and_goes_on() -> None:
    fixture = on_manual_clock(lease_ms=LEASE, concurrency=1)
    await long_run(fixture, [])
    await fixture.add("next", in_ms=500)
    async with RunningWorker(fixture):
        await lose(fixture)
        await fixture.clock.advance(LEASE)
        assert fixture.dispatcher.names() == ["endpoint", "next"]
    assert other_tasks() == set()


async def test_a_loop_sweeps_what_a_dead_worker_left_and_runs_it() -> None:
    fixture = on_manual_clock(lease_ms=LEASE)
    dead = WorkerFixture(clock=fixture.clock, store=fixture.store.port, lease_ms=LEASE)
    await fixture.add()
    await dead.claim(1)
    moments = fixture.moments()
    async with RunningWorker(fixture):
        await fixture.clock.advance(2 * LEASE)
    assert moments == [LEASE]
    abandoned, run = await fixture.runs()
    assert (abandoned.status, abandoned.verdict) == (RunStatus.ABANDONED, False)
    assert (run.slot, run.attempt, run.status) == (abandoned.slot, 2, RunStatus.SUCCESS)


async def test_a_loop_sweeps_at_once_when_it_starts() -> None:
    fixture = on_manual_clock(lease_ms=MINUTE)
    dead = WorkerFixture(clock=fixture.clock, store=fixture.store.port, lease_ms=1_000)
    await fixture.add()
    await dead.claim(1)
    fixture.clock.jump(1_000)
    async with RunningWorker(fixture):
        assert [run.status for run in await fixture.runs()] == ["abandoned", "success"]


@pytest.mark.parametrize("times", [1, 2, 3])
async def test_an_endpoint_whose_workers_keep_dying_is_paused_after_three_times(times: int) -> None:
    fixture = WorkerFixture(lease_ms=LEASE)
    await fixture.add()
    for _ in range(times):
        await fixture.claim(1)
        fixture.clock.jump(LEASE)
        await fixture.sweeper.sweep()
    paused = (await fixture.endpoint()).pause_reason
    assert paused == (
        "its process died 3 times while it ran alone; resume it when that is fixed" if times == 3 else None
    )


async def test_a_run_settled_while_its_lease_was_being_renewed_is_not_called_lost() -> None:
    fixture = on_manual_clock(lease_ms=3_000)
    await fixture.add()
    fixture.takes(1_200)

    async def slowly() -> Any:
        await fixture.clock.sleep(500)

    fixture.store.before["renew"] = slowly
    async with RunningWorker(fixture):
        await fixture.clock.advance(2_000)
        assert fixture.log.events("warning") == []


@pytest.mark.parametrize("renewing", ["is refused", "never returns"])
async def test_a_run_whose_lease_ran_out_unrenewed_is_stopped_before_another_worker_runs_it(
    renewing: str,
) -> None:
    fixture = on_manual_clock(lease_ms=3_000)
    other = WorkerFixture(clock=fixture.clock, store=fixture.store.port, lease_ms=3_000)
    await fixture.add()
    counter = ConcurrencyCounter(lambda: fixture.clock.sleep(30_000))
    fixture.dispatcher.on("endpoint", counter)
    other.dispatcher.on("endpoint", counter)
    if renewing == "is refused":
        fixture.store.fail("renew", Unavailable("The store is away."))
    else:
        fixture.store.before["renew"] = asyncio.Event().wait
    async with RunningWorker(fixture), RunningWorker(other):
        await fixture.clock.advance(10_000)
        assert counter.most == 1


def moments_of_cuts(fixture: WorkerFixture) -> list[datetime]:
    """From now on runs take half a minute; the moments at which they are cut short."""
    cut: list[datetime] = []

    async def slowly(_: Claim) -> Any:
        try:
            await fixture.clock.sleep(30_000)
        except asyncio.CancelledError:
            cut.append(fixture.clock.now())
            raise

    fixture.dispatcher.on("endpoint", slowly)
    return cut


@pytest.mark.parametrize("in_ms", [0, 130, 250, 499])
async def test_a_run_is_stopped_a_sixth_of_its_lease_before_it_ends(in_ms: int) -> None:
    fixture = on_manual_clock(lease_ms=LEASE)
    await fixture.add(in_ms=in_ms)
    cut, last = moments_of_cuts(fixture), fixture.at(in_ms + LEASE * 5 / 6)
    fixture.store.fail("renew", Unavailable("The store is away."))
    async with RunningWorker(fixture):
        await fixture.clock.advance(LEASE * 2 / 3)
        assert cut == []
        await fixture.clock.advance(LEASE)
        assert last - milliseconds(LEASE / 12) <= cut[0] <= last


class ClockThatIsSet(FakeClock):
    """A clock that a test sets while sleepers go on sleeping."""

    offset = timedelta()

    def now(self) -> datetime:
        return super().now() + self.offset


async def test_a_run_is_stopped_by_the_earlier_lease_that_a_clock_set_back_gave_it() -> None:
    clock = ClockThatIsSet(manual=True)
    fixture = WorkerFixture(clock=clock, lease_ms=LEASE)
    await fixture.add()
    cut = moments_of_cuts(fixture)
    fixture.store.after["renew"] = asyncio.Event().wait
    async with RunningWorker(fixture):
        clock.offset = -timedelta(minutes=1)
        await clock.advance(LEASE / 3)
        lease = (await fixture.endpoint()).lease
        assert lease is not None
        assert lease.until == fixture.at(LEASE)
        await clock.advance(LEASE)
        assert cut[0] < lease.until


class Freezing:
    """A quota that takes its time to answer: meanwhile the process is frozen."""

    def __init__(self, freeze: Callable[[], None]) -> None:
        self._freeze = freeze

    async def check(self, requests: Sequence[QuotaRequest]) -> list[QuotaAnswer]:
        self._freeze()
        return [QuotaAnswer() for _ in requests]


class Monotonic:
    """A stopwatch that a test moves."""

    def __init__(self) -> None:
        self.ms = 0.0

    def elapsed_ms(self) -> float:
        return self.ms


@pytest.mark.parametrize("by", ["wall", "stopwatch"])
async def test_a_worker_that_was_frozen_beyond_its_lease_dispatches_nothing_of_it(by: str) -> None:
    fixture, stopwatch = on_manual_clock(lease_ms=LEASE), Monotonic()
    await fixture.add("first", in_ms=100)
    await fixture.add("second", in_ms=100)

    def freeze() -> None:
        if by == "wall":
            fixture.clock.jump(LEASE)
        else:
            stopwatch.ms += LEASE

    executor = Executor(dispatcher=fixture.dispatcher, quota=Freezing(freeze), clock=fixture.clock)
    async with RunningWorker(fixture, executor=executor, stopwatch=stopwatch) as running:
        await fixture.clock.advance(100)
        assert fixture.dispatcher.names() == []
        assert running.loop.in_flight == 0
        await fixture.clock.advance(LEASE / 6)
        assert "leases ran out before their runs could start" in fixture.log.events("warning")


@pytest.mark.parametrize(("part", "dispatched"), [(3 / 4, ["endpoint"]), (5 / 6, [])])
async def test_a_claim_is_dispatched_while_its_lease_protects_for_another_sixth(
    part: float, dispatched: list[str]
) -> None:
    fixture, stopwatch = on_manual_clock(lease_ms=LEASE), Monotonic()
    await fixture.add(in_ms=100)

    def freeze() -> None:
        fixture.clock.jump(LEASE * part)
        stopwatch.ms += LEASE * part

    executor = Executor(dispatcher=fixture.dispatcher, quota=Freezing(freeze), clock=fixture.clock)
    async with RunningWorker(fixture, executor=executor, stopwatch=stopwatch):
        await fixture.clock.advance(100)
        assert fixture.dispatcher.names() == dispatched
