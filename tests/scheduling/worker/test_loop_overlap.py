"""Claiming, starting and settling go on side by side: none of them waits for another."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from tests.scheduling.worker.call_recorder import Hook, once
from tests.scheduling.worker.running_worker import RunningWorker, on_manual_clock, other_tasks
from tests.scheduling.worker.worker_fixtures import MINUTE, WorkerFixture

from cadenza.domain.errors import Unavailable
from cadenza.domain.scheduling.baseline import Cron, Every
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import RunStatus
from cadenza.testing.clock import NEW_YEAR

AHEAD = 10_000


def slowly(fixture: WorkerFixture, span_ms: float) -> Hook:
    async def wait() -> Any:
        await fixture.clock.sleep(span_ms)

    return wait


class Crowded:
    """A hook that notes how many calls are under way."""

    def __init__(self, pause: Hook) -> None:
        self.inside = self.most = 0
        self._pause = pause

    async def __call__(self) -> None:
        self.inside += 1
        self.most = max(self.most, self.inside)
        await self._pause()
        self.inside -= 1


async def test_what_waits_starts_at_its_moment_though_a_claim_takes_long() -> None:
    fixture = on_manual_clock(claim_ahead_ms=AHEAD)
    await fixture.add(in_ms=5_000)
    moments = fixture.moments()
    async with RunningWorker(fixture):
        fixture.store.before["claim_due"] = slowly(fixture, 3_000)
        await fixture.clock.advance(6_000)
        assert moments == [5_000]


async def test_what_is_due_is_claimed_though_a_look_takes_long() -> None:
    fixture = on_manual_clock(claim_ahead_ms=AHEAD)
    await fixture.add("waits", in_ms=1_000)
    fixture.store.before["start"] = slowly(fixture, 5_000)
    moments = fixture.moments("due")
    async with RunningWorker(fixture):
        await fixture.clock.advance(2_000)
        await fixture.add("due")
        await fixture.clock.advance(0)
        assert moments == [2_000]


@pytest.mark.parametrize("at_once", [1, 2, 3])
async def test_when_commits_take_long_so_many_are_under_way_and_no_more(at_once: int) -> None:
    fixture = on_manual_clock()
    for number in range(12):
        await fixture.add(f"endpoint-{number}")
    counter = Crowded(slowly(fixture, 4_000))
    fixture.store.before["finalize"] = counter
    async with RunningWorker(fixture, settle_batch=2, settle_at_once=at_once):
        for inside in range(1, at_once + 1):
            await fixture.clock.advance(500)
            assert (counter.inside, counter.most) == (inside, inside)
            await fixture.clock.advance(500)
        await fixture.clock.advance(30_000)
        assert counter.most == at_once
        assert len(fixture.run_events) == 12
    assert [run.status for n in range(12) for run in await fixture.runs(f"endpoint-{n}")] == ["success"] * 12


async def test_one_batch_is_settled_after_the_other() -> None:
    fixture = on_manual_clock()
    for number in range(6):
        await fixture.add(f"endpoint-{number}")
    counter = Crowded(slowly(fixture, 900))
    fixture.store.before["finalize"] = counter
    async with RunningWorker(fixture, settle_batch=2, settle_at_once=2):
        await fixture.clock.advance(3_000)
        assert (counter.most, len(fixture.run_events)) == (1, 6)


async def test_a_commit_that_takes_long_does_not_keep_later_runs_from_being_settled() -> None:
    fixture = on_manual_clock()
    await fixture.add("first")
    await fixture.add("second", in_ms=1_000)
    fixture.store.before["finalize"] = once(slowly(fixture, 30_000))
    async with RunningWorker(fixture, settle_linger_ms=5):
        await fixture.clock.advance(1_005)
        assert (await fixture.only_run("second")).status is RunStatus.SUCCESS
        assert (await fixture.only_run("first")).status is None
        await fixture.clock.advance(30_000)
    assert (await fixture.only_run("first")).status is RunStatus.SUCCESS


async def test_a_commit_that_hangs_holds_up_one_batch_and_not_each_that_follows() -> None:
    fixture = on_manual_clock()
    for number in range(10):
        await fixture.add(f"endpoint-{number}", in_ms=100 * number)
    fixture.store.before["finalize"] = once(slowly(fixture, 30_000))
    async with RunningWorker(fixture, settle_batch=2, settle_at_once=2, settle_linger_ms=5):
        await fixture.clock.advance(1_100)
        assert len(fixture.run_events) == 9
        await fixture.clock.advance(30_000)
    assert len(fixture.run_events) == 10


async def test_while_a_commit_is_under_way_what_ends_is_gathered() -> None:
    fixture = on_manual_clock()
    await fixture.add("first")
    for number in range(5):
        await fixture.add(f"later-{number}", in_ms=100 + number)
    fixture.store.before["finalize"] = slowly(fixture, 900)
    async with RunningWorker(fixture, settle_linger_ms=5):
        await fixture.clock.advance(1_800)
        assert (fixture.store.calls["finalize"], len(fixture.run_events)) == (2, 6)


async def test_what_is_claimed_ahead_is_gathered_and_never_late() -> None:
    fixture = on_manual_clock(claim_ahead_ms=500, concurrency=1_000)
    moments = {}
    for number in range(100):
        name = f"endpoint-{number:03}"
        moments[name] = fixture.moments(name)
        await fixture.add(name, in_ms=2_000 + 10 * number, baseline=Every(1_000))
    async with RunningWorker(fixture):
        before = fixture.store.calls.copy()
        await fixture.clock.advance(5_995)
        made = fixture.store.calls - before
    assert all(seen[:3] == [seen[0], seen[0] + 1_000, seen[0] + 2_000] for seen in moments.values())
    assert [seen[0] for seen in moments.values()] == [2_000 + 10 * number for number in range(100)]
    assert made["claim_due"] <= 6 * 1_000 / (500 / 20)
    assert made["next_due"] <= made["claim_due"]


async def test_what_comes_due_sooner_than_claims_are_gathered_is_claimed_at_its_moment() -> None:
    fixture = on_manual_clock(claim_ahead_ms=AHEAD)
    await fixture.add(in_ms=AHEAD, baseline=Every(7))
    moments = fixture.moments()
    async with RunningWorker(fixture):
        await fixture.clock.advance(AHEAD + 70)
        assert moments == [AHEAD + 7 * number for number in range(11)]


async def test_a_full_claim_does_not_ask_what_is_due_next() -> None:
    fixture = on_manual_clock(claim_limit=1, concurrency=4)
    for number in range(4):
        await fixture.add(f"endpoint-{number}")
        fixture.takes(MINUTE, f"endpoint-{number}")
    async with RunningWorker(fixture):
        assert (fixture.store.calls["claim_due"], fixture.store.calls["next_due"]) == (4, 0)


async def test_what_was_moved_during_the_claim_that_took_it_is_looked_at_again() -> None:
    fixture = on_manual_clock(claim_ahead_ms=AHEAD)
    await fixture.add("other", in_ms=9_000)
    moments = fixture.moments()

    async def nudge() -> Any:
        await fixture.tool("propose_next_time", nextRunInMs=0)
        await fixture.clock.sleep(10)

    async with RunningWorker(fixture, poll_ms=MINUTE):
        fixture.store.after["claim_due"] = once(nudge)
        await fixture.add(in_ms=5_000)
        await fixture.clock.advance(10)
        assert moments == [10]


async def test_what_is_lost_during_a_look_is_not_started_by_it() -> None:
    fixture = on_manual_clock(claim_ahead_ms=AHEAD, lease_ms=6_000)
    await fixture.add(in_ms=4_800)
    fixture.store.before["renew"] = slowly(fixture, MINUTE)
    fixture.store.after["start"] = slowly(fixture, 500)
    async with RunningWorker(fixture, poll_ms=MINUTE) as worker:
        lost = await fixture.only_run()
        await fixture.clock.advance(5_000)
        assert worker.loop.in_flight == 0
        await fixture.clock.advance(2_000)
        assert lost.id not in [claim.run_id for claim in fixture.dispatcher.executed]


async def test_what_is_held_back_by_jitter_starts_once_though_the_store_is_told_slowly() -> None:
    fixture = on_manual_clock()
    await fixture.add(baseline=Cron("0 0 * * *"), next_source=Source.BASELINE_CRON)
    fixture.takes(50_000)
    fixture.store.after["start"] = once(slowly(fixture, 20_000))
    async with RunningWorker(fixture, jitter_ms=10_000, poll_ms=1_000):
        await fixture.clock.advance(45_000)
        assert fixture.store.calls["start"] >= 2
        assert len(fixture.dispatcher.executed) == 1


async def unavailable() -> None:
    raise Unavailable("the database does not answer")


@pytest.mark.parametrize("moment", ["before", "after"])
async def test_what_is_held_back_by_jitter_starts_though_the_store_could_not_be_told(moment: str) -> None:
    """It would be held, and its lease renewed, for ever."""
    fixture = on_manual_clock()
    await fixture.add(baseline=Cron("0 0 * * *"), next_source=Source.BASELINE_CRON)
    getattr(fixture.store, moment)["start"] = once(unavailable)
    async with RunningWorker(fixture, jitter_ms=10_000, poll_ms=1_000):
        await fixture.clock.advance(MINUTE)
        assert len(fixture.dispatcher.executed) == 1


async def test_a_loop_that_hangs_in_a_look_does_not_call_itself_alive() -> None:
    fixture = on_manual_clock(claim_ahead_ms=AHEAD)
    await fixture.add(in_ms=1_000)
    fixture.store.before["start"] = asyncio.Event().wait
    async with RunningWorker(fixture, grace_ms=0) as worker:
        await fixture.clock.advance(MINUTE)
        assert worker.loop.alive_at == NEW_YEAR + timedelta(seconds=1)
    assert other_tasks() == set()


async def test_an_idle_loop_calls_itself_alive() -> None:
    fixture = on_manual_clock()
    async with RunningWorker(fixture, poll_ms=1_000) as worker:
        await fixture.clock.advance(MINUTE)
        assert fixture.at(-1_000) <= worker.loop.alive_at
