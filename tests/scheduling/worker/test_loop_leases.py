"""Leases are renewed while a run goes on; one that is lost stops the run here."""

import asyncio
from typing import Any

import pytest
from tests.scheduling.worker.running_worker import Worker, by_hand, others
from tests.scheduling.worker.worker_fixtures import MINUTE, Corridor, Crowd

from cadenza.domain.errors import Unavailable
from cadenza.domain.scheduling.run import Claim, RunStatus

LEASE = 3_000


async def long_run(corridor: Corridor, cut: list[str]) -> None:
    """An endpoint that is due and takes half a minute, and says when it is cut short."""
    await corridor.add()

    async def slowly(claim: Claim) -> Any:
        try:
            await corridor.clock.sleep(30_000)
        except asyncio.CancelledError:
            cut.append(claim.run_id)
            raise

    corridor.dispatcher.on("endpoint", slowly)


async def lose(corridor: Corridor) -> None:
    """Let somebody whose clock is far ahead end every lease, and keep the endpoint for themselves."""
    ahead = Corridor(store=corridor.store.port, lease_ms=MINUTE)
    ahead.clock.jump(LEASE + 30_000)
    assert len(await ahead.sweeper.sweep()) == 1
    assert len(await ahead.claim(1)) == 1


async def test_another_worker_finds_nothing_to_sweep_while_a_long_run_goes_on() -> None:
    corridor = by_hand(lease_ms=LEASE)
    other = Corridor(clock=corridor.clock, store=corridor.store.port, lease_ms=LEASE)
    await corridor.add()
    corridor.takes(30_000)
    async with Worker(corridor):
        for _ in range(31):
            assert await other.sweeper.sweep() == []
            assert await other.tick() == []
            await corridor.clock.advance(1_000)
    assert (await corridor.only_run()).status is RunStatus.SUCCESS


async def test_all_leases_are_renewed_in_one_call_three_times_in_their_length() -> None:
    corridor = by_hand(lease_ms=LEASE)
    for number in range(10):
        await corridor.add(f"endpoint-{number}")
        corridor.takes(30_000, f"endpoint-{number}")
    async with Worker(corridor):
        await corridor.clock.advance(9_999)
        assert corridor.store.calls["renew"] == 9


async def test_nothing_is_renewed_when_nothing_is_held() -> None:
    corridor = by_hand(lease_ms=LEASE)
    async with Worker(corridor):
        await corridor.clock.advance(MINUTE)
    assert corridor.store.calls["renew"] == 0


async def test_leases_are_renewed_while_claims_wait_for_their_moment() -> None:
    corridor = by_hand(lease_ms=LEASE, claim_ahead_ms=30_000)
    await corridor.add(in_ms=20_000)
    moments = corridor.moments()
    async with Worker(corridor):
        await corridor.clock.advance(21_000)
    assert moments == [20_000]
    assert (await corridor.runs())[0].status is RunStatus.SUCCESS


async def test_leases_are_renewed_while_a_stopping_loop_lets_runs_finish() -> None:
    corridor = by_hand(lease_ms=LEASE)
    await corridor.add()
    corridor.takes(9_000)
    async with Worker(corridor, grace_ms=10_000) as worker:
        await worker.stopped()
    assert (await corridor.only_run()).status is RunStatus.SUCCESS
    assert corridor.log.events("warning") == []


async def test_leases_are_renewed_while_the_store_cannot_settle() -> None:
    corridor = by_hand(lease_ms=LEASE)
    await corridor.add()

    async def slowly() -> Any:
        await corridor.clock.sleep(10 * LEASE)

    corridor.store.before["finalize"] = slowly
    async with Worker(corridor, grace_ms=MINUTE):
        await corridor.clock.advance(11 * LEASE)
    assert (await corridor.runs())[0].status is RunStatus.SUCCESS


async def test_a_lost_lease_stops_the_run_and_is_logged() -> None:
    corridor = by_hand(lease_ms=LEASE)
    cut: list[str] = []
    await long_run(corridor, cut)
    async with Worker(corridor):
        await lose(corridor)
        await corridor.clock.advance(LEASE / 3)
        (line,) = [line for line in corridor.log.lines if "leases were lost" in line.event]
        assert (line.level, line.facts) == ("warning", {"run_ids": cut})
    assert [run.status for run in await corridor.runs()] == [RunStatus.ABANDONED, None]


async def test_a_worker_that_lost_a_lease_has_room_again_and_goes_on() -> None:
    corridor = by_hand(lease_ms=LEASE, concurrency=1)
    await long_run(corridor, [])
    await corridor.add("next", in_ms=500)
    async with Worker(corridor):
        await lose(corridor)
        await corridor.clock.advance(LEASE)
        assert corridor.dispatcher.names() == ["endpoint", "next"]
    assert others() == set()


async def test_a_loop_sweeps_what_a_dead_worker_left_and_runs_it() -> None:
    corridor = by_hand(lease_ms=LEASE)
    dead = Corridor(clock=corridor.clock, store=corridor.store.port, lease_ms=LEASE)
    await corridor.add()
    await dead.claim(1)
    moments = corridor.moments()
    async with Worker(corridor):
        await corridor.clock.advance(2 * LEASE)
    assert moments == [LEASE]
    abandoned, run = await corridor.runs()
    assert (abandoned.status, abandoned.verdict) == (RunStatus.ABANDONED, False)
    assert (run.slot, run.attempt, run.status) == (abandoned.slot, 2, RunStatus.SUCCESS)


async def test_a_loop_sweeps_at_once_when_it_starts() -> None:
    corridor = by_hand(lease_ms=MINUTE)
    dead = Corridor(clock=corridor.clock, store=corridor.store.port, lease_ms=1_000)
    await corridor.add()
    await dead.claim(1)
    corridor.clock.jump(1_000)
    async with Worker(corridor):
        assert [run.status for run in await corridor.runs()] == ["abandoned", "success"]


@pytest.mark.parametrize("times", [1, 2, 3])
async def test_an_endpoint_whose_workers_keep_dying_is_paused_after_three_times(times: int) -> None:
    corridor = Corridor(lease_ms=LEASE)
    await corridor.add()
    for _ in range(times):
        await corridor.claim(1)
        corridor.clock.jump(LEASE)
        await corridor.sweeper.sweep()
    paused = (await corridor.endpoint()).pause_reason
    assert paused == ("abandoned 3 times in a row" if times == 3 else None)


async def test_a_run_settled_while_its_lease_was_being_renewed_is_not_called_lost() -> None:
    corridor = by_hand(lease_ms=3_000)
    await corridor.add()
    corridor.takes(1_200)

    async def slowly() -> Any:
        await corridor.clock.sleep(500)

    corridor.store.before["renew"] = slowly
    async with Worker(corridor):
        await corridor.clock.advance(2_000)
        assert corridor.log.events("warning") == []


@pytest.mark.parametrize("renewing", ["is refused", "never returns"])
async def test_a_run_whose_lease_ran_out_unrenewed_is_stopped_before_another_worker_runs_it(
    renewing: str,
) -> None:
    corridor = by_hand(lease_ms=3_000)
    other = Corridor(clock=corridor.clock, store=corridor.store.port, lease_ms=3_000)
    await corridor.add()
    crowd = Crowd(lambda: corridor.clock.sleep(30_000))
    corridor.dispatcher.on("endpoint", crowd)
    other.dispatcher.on("endpoint", crowd)
    if renewing == "is refused":
        corridor.store.breaks("renew", Unavailable("The store is away."))
    else:
        corridor.store.before["renew"] = asyncio.Event().wait
    async with Worker(corridor), Worker(other):
        await corridor.clock.advance(10_000)
        assert crowd.most == 1
