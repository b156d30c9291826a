"""A worker keeps limits and priorities, and lets everything else go on."""

import asyncio
from typing import Any

import pytest
from tests.scheduling.worker.running_worker import RunningWorker, on_manual_clock
from tests.scheduling.worker.worker_fixtures import SUCCESS, TENANT, WorkerFixture

from cadenza.domain.access.run_limit import LimitKind, RunLimit
from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.policy import Misfire, Policy
from cadenza.domain.scheduling.run import Claim, Outcome, RunStatus

HOUR, LEASE = 3_600_000, 20_000


def noop() -> list[str]:
    return ["callable:noop"]


def worker(fixture: WorkerFixture, **settings: Any) -> RunningWorker:
    return RunningWorker(fixture, can_run=noop, **settings)


async def put(fixture: WorkerFixture, name: str = "shop", **numbers: int) -> None:
    most, pace = numbers.get("max_in_flight"), numbers.get("max_per_minute")
    limit = RunLimit(tenant_id=TENANT, kind=LimitKind.JOB, name=name, max_in_flight=most, max_per_minute=pace)
    await fixture.store.port.limits.put_limit(limit)


class SlowRuns:
    """Endpoints whose runs take a while, in the order in which they began."""

    def __init__(self, fixture: WorkerFixture, span_ms: float) -> None:
        self._fixture, self._span_ms = fixture, span_ms
        self.began: list[str] = []
        self.inside = self.most_inside = 0

    async def add(self, name: str, **fields: Any) -> None:
        self._fixture.dispatcher.on(name, self._run)
        given: dict[str, Any] = {"job_id": "shop", "baseline": Every(HOUR)} | fields
        await self._fixture.add(name, **given)

    async def _run(self, claim: Claim) -> Outcome:
        self.began.append(claim.endpoint.id)
        self.inside += 1
        self.most_inside = max(self.most_inside, self.inside)
        await self._fixture.clock.sleep(self._span_ms)
        self.inside -= 1
        return SUCCESS


SUSPICIONS = ({"abandoned_count": 2}, {"abandoned_count": 2, "abandoned_alone_count": 2})


@pytest.mark.parametrize("suspicion", SUSPICIONS, ids=["tried alone", "tried quietly"])
async def test_a_suspect_that_a_limit_holds_back_holds_nothing_else_back(suspicion: dict[str, int]) -> None:
    fixture = on_manual_clock(lease_ms=LEASE)
    runs = SlowRuns(fixture, HOUR)
    await runs.add("long")
    await runs.add("suspect", next_run_at=fixture.at(LEASE), **suspicion)
    moments = fixture.moments("healthy")
    await fixture.add("healthy", baseline=Every(1_000))
    await put(fixture, max_in_flight=1)
    async with worker(fixture):
        await fixture.clock.advance(90_000)
    assert runs.began == ["long"]
    assert len(moments) > 65


@pytest.mark.parametrize("most", [1, 2])
async def test_what_is_held_back_runs_when_others_end_and_nothing_else_waits_for_it(most: int) -> None:
    fixture = on_manual_clock()
    runs, free = SlowRuns(fixture, 300), SlowRuns(fixture, 300)
    for number in range(4):
        await runs.add(f"e{number}")
    await free.add("free", job_id="free")
    await put(fixture, max_in_flight=most)
    async with worker(fixture):
        await fixture.clock.advance(50)
        assert (len(runs.began), free.began) == (most, ["free"])
        await fixture.clock.advance(4_000)
    assert sorted(runs.began) == ["e0", "e1", "e2", "e3"]
    assert runs.most_inside == most
    statuses = {run.status for number in range(4) for run in await fixture.runs(f"e{number}")}
    assert statuses == {RunStatus.SUCCESS}


async def test_what_is_held_back_costs_a_look_now_and_then_and_no_run() -> None:
    fixture = on_manual_clock()
    runs = SlowRuns(fixture, 60_000)
    await runs.add("long")
    await runs.add("held", in_ms=1)
    await put(fixture, max_in_flight=1)
    async with worker(fixture, lease_ms=10 * HOUR):
        await fixture.clock.advance(1_000)
        before = fixture.store.calls["claim_due"]
        await fixture.clock.advance(10_000)
        assert fixture.store.calls["claim_due"] - before <= 2 * 10_000 / 500 + 2
        assert runs.began == ["long"]
        assert await fixture.runs("held") == []
        await fixture.clock.advance(60_000)


async def test_a_minute_that_is_used_up_lets_the_rest_wait_for_the_next() -> None:
    fixture = on_manual_clock()
    runs = SlowRuns(fixture, 1)
    for number in range(3):
        await runs.add(f"e{number}")
    await put(fixture, max_per_minute=2)
    async with worker(fixture):
        await fixture.clock.advance(60_000)
        assert len(runs.began) == 2
        await fixture.clock.advance(2_500)
    assert len(runs.began) == 3
    (late,) = [run for number in range(3) for run in await fixture.runs(f"e{number}") if run.late_ms]
    assert late.reason is not None
    assert "by the limit for job shop" in late.reason


async def test_a_changed_limit_reaches_a_worker_that_sleeps_within_a_second() -> None:
    fixture = on_manual_clock()
    runs = SlowRuns(fixture, 60_000)
    for number in range(3):
        await runs.add(f"e{number}")
    await put(fixture, max_in_flight=1)
    async with worker(fixture, lease_ms=10 * HOUR):
        await fixture.clock.advance(10_000)
        assert len(runs.began) == 1
        await put(fixture, max_in_flight=2)
        await fixture.clock.advance(1_000)
        assert len(runs.began) == 2
        await fixture.store.port.limits.delete_limit(TENANT, LimitKind.JOB, "shop")
        await fixture.clock.advance(1_000)
        assert len(runs.began) == 3
        await fixture.clock.advance(120_000)


async def test_a_place_of_the_worker_goes_to_the_higher_priority() -> None:
    fixture = on_manual_clock(concurrency=1, claim_limit=1)
    runs = SlowRuns(fixture, 50)
    for name, priority in (("low", 1), ("middle", 5), ("high", 9)):
        await runs.add(name, priority=priority)
    async with worker(fixture):
        await fixture.clock.advance(2_000)
    assert runs.began == ["high", "middle", "low"]


async def test_a_backlog_without_priorities_leaves_places_to_what_has_one() -> None:
    fixture = on_manual_clock(concurrency=4, claim_limit=4)
    runs = SlowRuns(fixture, 100)
    for number in range(60):
        await runs.add(f"plain{number}")
    async with worker(fixture):
        await fixture.clock.advance(150)
        for number in range(4):
            await runs.add(f"high{number}", priority=1)
        await fixture.clock.advance(600)
        assert {f"high{number}" for number in range(4)} <= set(runs.began)
        assert len(runs.began) < 60
        await fixture.clock.advance(4_000)
    assert len(runs.began) == 64


async def test_nothing_in_order_is_claimed_that_cannot_begin() -> None:
    fixture = on_manual_clock(concurrency=10, claim_limit=10)
    runs = SlowRuns(fixture, 400)
    for number in range(30):
        await runs.add(f"e{number}", priority=1)
    async with worker(fixture):
        await fixture.clock.advance(6_000)
    statuses = [run.status for number in range(30) for run in await fixture.runs(f"e{number}")]
    assert statuses == [RunStatus.SUCCESS] * 30


async def test_what_is_skipped_because_it_was_held_back_says_so() -> None:
    fixture = on_manual_clock()
    runs = SlowRuns(fixture, 30_000)
    await runs.add("long")
    policy = Policy(misfire=Misfire.SKIP, misfire_grace_ms=5_000)
    await runs.add("strict", in_ms=1, policy=policy)
    await put(fixture, max_in_flight=1)
    async with worker(fixture, lease_ms=10 * HOUR):
        await fixture.clock.advance(40_000)
    run = await fixture.only_run("strict")
    assert run.status is RunStatus.SKIPPED
    assert run.reason is not None
    assert run.reason.endswith("beyond its grace: held back for 30 seconds by the limit for job shop")


async def test_a_worker_that_runs_once_keeps_limits_too() -> None:
    fixture = on_manual_clock()
    for number in range(3):
        await fixture.add(f"e{number}", job_id="shop", baseline=Every(HOUR))
    await put(fixture, max_in_flight=2)
    loop = fixture.loop(can_run=noop)
    ended = [len(await asyncio.wait_for(loop.run_once(), 30)) for _ in range(3)]
    assert ended == [2, 1, 0]
