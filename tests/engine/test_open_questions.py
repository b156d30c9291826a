"""What the engine does not keep yet; each test states a promise that is broken at the moment."""

import asyncio
from typing import Any

import pytest
from tests.engine.corridor import MINUTE, SUCCESS, Corridor, Crowd
from tests.engine.witness import once
from tests.engine.workers import Worker, by_hand, others

from cadenza.domain.baseline import Cron, Every
from cadenza.domain.errors import Unavailable
from cadenza.domain.plan import Source
from cadenza.domain.run import Claim, Outcome
from cadenza.testing.clock import NEW_YEAR

# A tick that claims ahead.


async def test_a_tick_runs_no_more_at_a_time_than_allowed_also_of_what_it_claimed_ahead() -> None:
    corridor = by_hand(concurrency=2, within_ms=10_000)
    crowd = Crowd(lambda: corridor.clock.sleep(1_000))
    for number in range(6):
        await corridor.add(f"endpoint-{number}", in_ms=100 * (number // 2))
        corridor.dispatcher.on(f"endpoint-{number}", crowd)
    tick = asyncio.create_task(corridor.tick())
    await corridor.clock.advance(20_000)
    await tick
    assert crowd.most == 2


async def test_a_long_run_that_was_claimed_ahead_does_not_delay_the_next() -> None:
    corridor = by_hand(within_ms=10_000)
    await corridor.add("long", in_ms=1_000)
    await corridor.add("soon", in_ms=2_000)
    corridor.takes(8_000, "long")
    moments = corridor.moments("soon")
    tick = asyncio.create_task(corridor.tick())
    await corridor.clock.advance(10_000)
    await tick
    assert moments == [2_000]


async def test_a_tick_that_fails_leaves_no_task_behind() -> None:
    corridor = by_hand(within_ms=10_000)
    await corridor.add("now")
    await corridor.add("soon", in_ms=1_000)

    async def fail() -> Any:
        raise Unavailable("The quota is away.")

    corridor.asked.before["check"] = once(fail)
    with pytest.raises(Unavailable):
        await corridor.tick()
    assert others() == set()


# A loop.


async def test_a_bell_that_rings_while_claims_are_looked_at_is_heard() -> None:
    corridor = by_hand(within_ms=MINUTE)
    await corridor.add(in_ms=30_000)

    async def nudge() -> Any:
        await corridor.tool("propose_next_time", nextRunInMs=0)
        for _ in range(5):
            await asyncio.sleep(0)

    corridor.store.after["start"] = once(nudge)
    async with Worker(corridor, poll_ms=MINUTE):
        await corridor.add("other", in_ms=MINUTE)
        await corridor.clock.advance(0)
        assert corridor.dispatcher.names() == ["endpoint"]


async def test_a_stubborn_run_that_ends_after_all_is_settled_once() -> None:
    corridor = by_hand()
    await corridor.add()

    async def stubborn(_: Claim) -> Outcome:
        resting = asyncio.ensure_future(corridor.clock.sleep(20_002))
        while not resting.done():
            try:
                await asyncio.shield(resting)
            except asyncio.CancelledError:
                continue
        return SUCCESS

    corridor.dispatcher.on("endpoint", stubborn)
    async with Worker(corridor, grace_ms=10_000, linger_ms=5) as worker:
        worker.loop.stop()
        await corridor.clock.advance(20_010)
    assert len(corridor.telemetry.events) == 1


# Jitter.


async def a_herd(corridor: Corridor, **fields: Any) -> dict[str, list[float]]:
    """Twenty endpoints that would start together, and the moments at which they are dispatched."""
    names = [f"endpoint-{number}" for number in range(20)]
    for name in names:
        await corridor.add(name, **fields)
    return {name: corridor.moments(name) for name in names}


async def test_neither_the_bell_nor_the_poll_cuts_a_jitter_short() -> None:
    corridor = by_hand()
    seen = await a_herd(corridor, baseline=Cron("0 0 * * *"), next_source=Source.BASELINE_CRON)
    async with Worker(corridor, jitter_ms=3_000, poll_ms=1_000):
        await corridor.clock.advance(3_000)
    first = {name: moments[0] for name, moments in seen.items()}
    assert len(set(first.values())) > 15
    assert max(first.values()) > 2_000


async def test_after_downtime_a_herd_is_spread_from_now_on() -> None:
    corridor = by_hand()
    seen = await a_herd(corridor, baseline=Every(60 * MINUTE), next_source=Source.BASELINE_INTERVAL)
    corridor.clock.jump(30 * MINUTE)
    async with Worker(corridor, jitter_ms=MINUTE, poll_ms=10 * MINUTE):
        await corridor.clock.advance(MINUTE)
    assert len({moments[0] for moments in seen.values()}) > 15


async def test_what_is_paused_while_its_jitter_lasts_has_not_run() -> None:
    corridor = by_hand()
    await a_herd(corridor, baseline=Cron("0 0 * * *"), next_source=Source.BASELINE_CRON)
    names = [f"endpoint-{number}" for number in range(20)]
    async with Worker(corridor, jitter_ms=3_000, poll_ms=MINUTE):
        for name in names:
            await corridor.tool("pause_until", name, untilIso="2025-01-02T12:00:00Z")
        await corridor.clock.advance(0)
    ran = set(corridor.dispatcher.names())
    assert len(ran) < 20
    for name in set(names) - ran:
        endpoint, run = await corridor.endpoint(name), await corridor.only_run(name)
        assert (run.status, run.started_at, endpoint.last_run_at) == ("cancelled", None, None)
        assert endpoint.next_run_at != NEW_YEAR
