"""Many runs are settled together, a single one at once; of two workers, one runs each slot."""

from collections import Counter
from itertools import pairwise

import pytest
from tests.scheduling.worker.running_worker import RunningWorker, on_manual_clock, on_system_clock, until
from tests.scheduling.worker.worker_fixtures import MINUTE, WorkerFixture

from cadenza.domain.access.places import places_for
from cadenza.domain.scheduling.baseline import Every

MANY = 200


async def a_crowd(fixture: WorkerFixture, count: int, takes_ms: int = 0) -> None:
    for number in range(count):
        name = f"endpoint-{number}"
        await fixture.add(name)
        if takes_ms:
            fixture.takes(number % takes_ms, name)


async def test_many_that_end_together_are_settled_in_few_commits() -> None:
    fixture = on_manual_clock(concurrency=2 * MANY, claim_limit=MANY)
    await a_crowd(fixture, MANY)
    async with RunningWorker(fixture):
        assert len(fixture.run_events) == MANY
        assert fixture.store.calls["finalize"] <= 2
        assert fixture.store.calls["claim_due"] <= 3
        assert fixture.asked.calls["check"] == 1


async def test_what_ends_within_the_linger_is_settled_together() -> None:
    fixture = on_manual_clock(concurrency=2 * MANY, claim_limit=MANY)
    await a_crowd(fixture, MANY, takes_ms=4)
    async with RunningWorker(fixture, settle_linger_ms=5):
        await fixture.clock.advance(10)
        assert len(fixture.run_events) == MANY
        assert fixture.store.calls["finalize"] <= 3


async def test_a_batch_is_no_larger_than_allowed() -> None:
    fixture = on_manual_clock(concurrency=2 * MANY, claim_limit=MANY)
    await a_crowd(fixture, MANY)
    async with RunningWorker(fixture, settle_batch=50):
        await fixture.clock.advance(10)
        assert len(fixture.run_events) == MANY
        assert fixture.store.calls["finalize"] >= MANY / 50


async def test_a_run_that_ends_alone_is_settled_at_once() -> None:
    fixture = on_manual_clock()
    await fixture.add()
    async with RunningWorker(fixture, settle_linger_ms=MINUTE):
        await fixture.clock.advance(0)
        run = await fixture.only_run()
        assert (run.status, fixture.clock.now()) == ("success", run.finished_at)


async def test_a_run_that_ends_beside_a_long_one_waits_only_for_the_linger() -> None:
    fixture = on_manual_clock()
    await fixture.add("long")
    await fixture.add("short")
    fixture.takes(MINUTE, "long")
    async with RunningWorker(fixture, settle_linger_ms=5):
        assert (await fixture.only_run("short")).status is None
        await fixture.clock.advance(5)
        assert (await fixture.only_run("short")).status == "success"


async def test_a_loop_claims_no_more_than_it_has_room_for() -> None:
    fixture = on_manual_clock(concurrency=7, claim_limit=50)
    await a_crowd(fixture, 20)
    for number in range(20):
        fixture.takes(10_000, f"endpoint-{number}")
    async with RunningWorker(fixture):
        await fixture.clock.advance(5_000)
        held = [end for end in await fixture.store.port.catalog.find("default") if end.lease is not None]
        assert len(held) == places_for(0, free=7)


async def test_what_waits_for_its_moment_takes_up_room() -> None:
    fixture = on_manual_clock(concurrency=7, claim_ahead_ms=MINUTE)
    for number in range(20):
        await fixture.add(f"endpoint-{number}", in_ms=30_000)
    async with RunningWorker(fixture):
        held = [end for end in await fixture.store.port.catalog.find("default") if end.lease is not None]
        assert len(held) == places_for(0, free=7)


@pytest.mark.parametrize("claim_ahead_ms", [0, 3_000])
async def test_of_two_workers_one_runs_each_slot(claim_ahead_ms: int) -> None:
    first = on_manual_clock(concurrency=5, claim_ahead_ms=claim_ahead_ms)
    second = WorkerFixture(
        clock=first.clock, store=first.store.port, concurrency=5, claim_ahead_ms=claim_ahead_ms
    )
    for number in range(30):
        name = f"endpoint-{number}"
        await first.add(name, baseline=Every(10_000))
        first.takes(500, name)
        second.takes(500, name)
    async with RunningWorker(first), RunningWorker(second):
        await first.clock.advance(MINUTE)
    ran = [*first.dispatcher.executed, *second.dispatcher.executed]
    assert set(Counter((claim.endpoint.id, claim.slot) for claim in ran).values()) == {1}
    assert len(ran) >= 30 * 5
    assert min(len(first.dispatcher.executed), len(second.dispatcher.executed)) > 30


async def test_of_two_workers_neither_ever_overlaps_the_other() -> None:
    first = on_manual_clock(concurrency=3)
    second = WorkerFixture(clock=first.clock, store=first.store.port, concurrency=3)
    for number in range(10):
        await first.add(f"endpoint-{number}", baseline=Every(1_000))
        first.takes(1_700, f"endpoint-{number}")
        second.takes(2_300, f"endpoint-{number}")
    async with RunningWorker(first), RunningWorker(second):
        await first.clock.advance(MINUTE)
    for number in range(10):
        runs = await first.runs(f"endpoint-{number}")
        spans = sorted((run.started_at or run.slot, run.finished_at or run.slot) for run in runs)
        assert all(ended <= began for (_, ended), (began, _) in pairwise(spans))


async def test_in_real_time_two_workers_share_a_crowd() -> None:
    first = on_system_clock(concurrency=10)
    second = WorkerFixture(clock=first.clock, store=first.store.port, concurrency=10)
    for number in range(100):
        await first.add(f"endpoint-{number}")
        for fixture in (first, second):
            fixture.takes(5, f"endpoint-{number}")
    async with RunningWorker(first), RunningWorker(second):
        await until(lambda: len(first.run_events) + len(second.run_events) == 100)
    ran = Counter([*first.dispatcher.names(), *second.dispatcher.names()])
    assert set(ran.values()) == {1}
    assert len(ran) == 100
