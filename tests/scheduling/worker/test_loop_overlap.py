"""Claiming, starting and settling go on side by side: none of them waits for another."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from tests.scheduling.worker.call_recorder import Hook, once
from tests.scheduling.worker.running_worker import Worker, by_hand, others
from tests.scheduling.worker.worker_fixtures import MINUTE, Corridor

from cadenza.domain.scheduling.baseline import Cron, Every
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import RunStatus
from cadenza.testing.clock import NEW_YEAR

AHEAD = 10_000


def slowly(corridor: Corridor, span_ms: float) -> Hook:
    async def wait() -> Any:
        await corridor.clock.sleep(span_ms)

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
    corridor = by_hand(claim_ahead_ms=AHEAD)
    await corridor.add(in_ms=5_000)
    moments = corridor.moments()
    async with Worker(corridor):
        corridor.store.before["claim_due"] = slowly(corridor, 3_000)
        await corridor.clock.advance(6_000)
        assert moments == [5_000]


async def test_what_is_due_is_claimed_though_a_look_takes_long() -> None:
    corridor = by_hand(claim_ahead_ms=AHEAD)
    await corridor.add("waits", in_ms=1_000)
    corridor.store.before["start"] = slowly(corridor, 5_000)
    moments = corridor.moments("due")
    async with Worker(corridor):
        await corridor.clock.advance(2_000)
        await corridor.add("due")
        await corridor.clock.advance(0)
        assert moments == [2_000]


@pytest.mark.parametrize("at_once", [1, 2, 3])
async def test_when_commits_take_long_so_many_are_under_way_and_no_more(at_once: int) -> None:
    corridor = by_hand()
    for number in range(12):
        await corridor.add(f"endpoint-{number}")
    crowd = Crowded(slowly(corridor, 4_000))
    corridor.store.before["finalize"] = crowd
    async with Worker(corridor, settle_batch=2, settle_at_once=at_once):
        for inside in range(1, at_once + 1):
            await corridor.clock.advance(500)
            assert (crowd.inside, crowd.most) == (inside, inside)
            await corridor.clock.advance(500)
        await corridor.clock.advance(30_000)
        assert crowd.most == at_once
        assert len(corridor.told) == 12
    assert [run.status for n in range(12) for run in await corridor.runs(f"endpoint-{n}")] == ["success"] * 12


async def test_one_batch_is_settled_after_the_other() -> None:
    corridor = by_hand()
    for number in range(6):
        await corridor.add(f"endpoint-{number}")
    crowd = Crowded(slowly(corridor, 900))
    corridor.store.before["finalize"] = crowd
    async with Worker(corridor, settle_batch=2, settle_at_once=2):
        await corridor.clock.advance(3_000)
        assert (crowd.most, len(corridor.told)) == (1, 6)


async def test_a_commit_that_takes_long_does_not_keep_later_runs_from_being_settled() -> None:
    corridor = by_hand()
    await corridor.add("first")
    await corridor.add("second", in_ms=1_000)
    corridor.store.before["finalize"] = once(slowly(corridor, 30_000))
    async with Worker(corridor, settle_linger_ms=5):
        await corridor.clock.advance(1_005)
        assert (await corridor.only_run("second")).status is RunStatus.SUCCESS
        assert (await corridor.only_run("first")).status is None
        await corridor.clock.advance(30_000)
    assert (await corridor.only_run("first")).status is RunStatus.SUCCESS


async def test_a_commit_that_hangs_holds_up_one_batch_and_not_each_that_follows() -> None:
    corridor = by_hand()
    for number in range(10):
        await corridor.add(f"endpoint-{number}", in_ms=100 * number)
    corridor.store.before["finalize"] = once(slowly(corridor, 30_000))
    async with Worker(corridor, settle_batch=2, settle_at_once=2, settle_linger_ms=5):
        await corridor.clock.advance(1_100)
        assert len(corridor.told) == 9
        await corridor.clock.advance(30_000)
    assert len(corridor.told) == 10


async def test_while_a_commit_is_under_way_what_ends_is_gathered() -> None:
    corridor = by_hand()
    await corridor.add("first")
    for number in range(5):
        await corridor.add(f"later-{number}", in_ms=100 + number)
    corridor.store.before["finalize"] = slowly(corridor, 900)
    async with Worker(corridor, settle_linger_ms=5):
        await corridor.clock.advance(1_800)
        assert (corridor.store.calls["finalize"], len(corridor.told)) == (2, 6)


async def test_what_is_claimed_ahead_is_gathered_and_never_late() -> None:
    corridor = by_hand(claim_ahead_ms=500, concurrency=1_000)
    moments = {}
    for number in range(100):
        name = f"endpoint-{number:03}"
        moments[name] = corridor.moments(name)
        await corridor.add(name, in_ms=2_000 + 10 * number, baseline=Every(1_000))
    async with Worker(corridor):
        before = corridor.store.calls.copy()
        await corridor.clock.advance(5_995)
        made = corridor.store.calls - before
    assert all(seen[:3] == [seen[0], seen[0] + 1_000, seen[0] + 2_000] for seen in moments.values())
    assert [seen[0] for seen in moments.values()] == [2_000 + 10 * number for number in range(100)]
    assert made["claim_due"] <= 6 * 1_000 / (500 / 20)
    assert made["next_due"] <= made["claim_due"]


async def test_what_comes_due_sooner_than_claims_are_gathered_is_claimed_at_its_moment() -> None:
    corridor = by_hand(claim_ahead_ms=AHEAD)
    await corridor.add(in_ms=AHEAD, baseline=Every(7))
    moments = corridor.moments()
    async with Worker(corridor):
        await corridor.clock.advance(AHEAD + 70)
        assert moments == [AHEAD + 7 * number for number in range(11)]


async def test_after_a_full_claim_nobody_asks_what_is_due_next() -> None:
    corridor = by_hand(claim_limit=5, concurrency=20)
    for number in range(20):
        await corridor.add(f"endpoint-{number}")
        corridor.takes(MINUTE, f"endpoint-{number}")
    async with Worker(corridor):
        assert (corridor.store.calls["claim_due"], corridor.store.calls["next_due"]) == (4, 0)


async def test_what_was_moved_during_the_claim_that_took_it_is_looked_at_again() -> None:
    corridor = by_hand(claim_ahead_ms=AHEAD)
    await corridor.add("other", in_ms=9_000)
    moments = corridor.moments()

    async def nudge() -> Any:
        await corridor.tool("propose_next_time", nextRunInMs=0)
        await corridor.clock.sleep(10)

    async with Worker(corridor, poll_ms=MINUTE):
        corridor.store.after["claim_due"] = once(nudge)
        await corridor.add(in_ms=5_000)
        await corridor.clock.advance(10)
        assert moments == [10]


async def test_what_is_lost_during_a_look_is_not_started_by_it() -> None:
    corridor = by_hand(claim_ahead_ms=AHEAD, lease_ms=6_000)
    await corridor.add(in_ms=4_800)
    corridor.store.before["renew"] = slowly(corridor, MINUTE)
    corridor.store.after["start"] = slowly(corridor, 500)
    async with Worker(corridor, poll_ms=MINUTE) as worker:
        lost = await corridor.only_run()
        await corridor.clock.advance(5_000)
        assert worker.loop.in_flight == 0
        await corridor.clock.advance(2_000)
        assert lost.id not in [claim.run_id for claim in corridor.dispatcher.executed]


async def test_what_is_held_back_by_jitter_starts_once_though_the_store_is_told_slowly() -> None:
    corridor = by_hand()
    await corridor.add(baseline=Cron("0 0 * * *"), next_source=Source.BASELINE_CRON)
    corridor.takes(50_000)
    corridor.store.after["start"] = once(slowly(corridor, 20_000))
    async with Worker(corridor, jitter_ms=10_000, poll_ms=1_000):
        await corridor.clock.advance(45_000)
        assert corridor.store.calls["start"] >= 2
        assert len(corridor.dispatcher.executed) == 1


async def test_a_loop_that_hangs_in_a_look_does_not_call_itself_alive() -> None:
    corridor = by_hand(claim_ahead_ms=AHEAD)
    await corridor.add(in_ms=1_000)
    corridor.store.before["start"] = asyncio.Event().wait
    async with Worker(corridor, grace_ms=0) as worker:
        await corridor.clock.advance(MINUTE)
        assert worker.loop.alive_at == NEW_YEAR + timedelta(seconds=1)
    assert others() == set()


async def test_an_idle_loop_calls_itself_alive() -> None:
    corridor = by_hand()
    async with Worker(corridor, poll_ms=1_000) as worker:
        await corridor.clock.advance(MINUTE)
        assert corridor.at(-1_000) <= worker.loop.alive_at
