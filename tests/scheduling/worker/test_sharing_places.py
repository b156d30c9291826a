"""A tenant that hangs in every place it may have delays nobody else."""

import asyncio
from collections import Counter
from typing import Any

import pytest
from tests.scheduling.worker.running_worker import RunningWorker, on_manual_clock
from tests.scheduling.worker.worker_fixtures import MINUTE, WorkerFixture

from cadenza.domain.access.places import places_for
from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.policy import Policy
from cadenza.domain.scheduling.target import CallableTarget, HttpTarget
from cadenza.ports.telemetry import IN_FLIGHT

HOUR = 60 * MINUTE
PATIENT = Policy(timeout_ms=10 * HOUR)
TARGETS = (HttpTarget("https://example.com/"), CallableTarget("function"))


async def add_hanging(fixture: WorkerFixture, tenant_id: str, count: int, **fields: Any) -> None:
    """Endpoints that are due and do not end within hours."""
    fixture.takes(5 * HOUR, tenant_id)
    for number in range(count):
        given = {"id": f"{tenant_id}-{number}", "target": TARGETS[number % 2], "policy": PATIENT} | fields
        await fixture.add(tenant_id, tenant_id=tenant_id, **given)


def running(fixture: WorkerFixture) -> Counter[str]:
    """How many runs each tenant was given."""
    return Counter(claim.endpoint.tenant_id for claim in fixture.dispatcher.executed)


@pytest.mark.parametrize("claim_ahead_ms", [0, 500])
async def test_neighbours_of_a_tenant_that_hangs_run_at_their_moments(claim_ahead_ms: int) -> None:
    fixture = on_manual_clock(concurrency=20, claim_ahead_ms=claim_ahead_ms)
    await add_hanging(fixture, "hanging", 120)
    seen = {name: fixture.moments(name) for name in ("one", "two", "three")}
    for offset_ms, name in enumerate(seen):
        await fixture.add(name, tenant_id=name, in_ms=1_000 + offset_ms, baseline=Every(1_000))
    async with RunningWorker(fixture, grace_ms=0):
        await fixture.clock.advance(30_500)
    for offset_ms, moments in enumerate(seen.values()):
        assert moments == [1_000 * second + offset_ms for second in range(1, 31)]
    assert running(fixture)["hanging"] == places_for(0, free=20) == 16


async def test_a_tenant_that_hangs_costs_no_claims_while_it_waits() -> None:
    fixture = on_manual_clock(concurrency=20)
    await add_hanging(fixture, "hanging", 120)
    async with RunningWorker(fixture, grace_ms=0):
        before = fixture.store.calls["claim_due"]
        await fixture.clock.advance(10_000)
        assert fixture.store.calls["claim_due"] - before <= 11


async def test_some_places_stay_free_however_many_tenants_hang() -> None:
    fixture = on_manual_clock(concurrency=100)
    for number in range(3):
        await add_hanging(fixture, f"hanging-{number}", 120)
    moments = fixture.moments("last")
    async with RunningWorker(fixture, grace_ms=0):
        await fixture.clock.advance(MINUTE)
        held = running(fixture)
        assert max(held.values()) - min(held.values()) <= 4
        await fixture.add("last", tenant_id="last", baseline=Every(1_000))
        await fixture.clock.advance(5_000)
    assert len(moments) >= 4


async def test_a_place_that_becomes_free_is_given_to_those_who_wait() -> None:
    fixture = on_manual_clock(concurrency=20)
    await add_hanging(fixture, "busy", 40)
    fixture.takes(1_000, "busy")
    async with RunningWorker(fixture):
        await fixture.clock.advance(999)
        assert running(fixture) == {"busy": 16}
        await fixture.clock.advance(20)
        assert running(fixture) == {"busy": 32}
        await fixture.clock.advance(2_000)
    assert running(fixture) == {"busy": 40}


async def test_others_come_first_when_places_become_free() -> None:
    fixture = on_manual_clock(concurrency=4)
    await add_hanging(fixture, "first", 40)
    fixture.takes(10_000, "first")
    async with RunningWorker(fixture):
        await fixture.clock.advance(5_000)
        assert running(fixture) == {"first": 4}
        await add_hanging(fixture, "second", 2)
        await fixture.clock.advance(5_010)
        assert running(fixture)["second"] == 2


async def test_suspects_take_only_a_few_places_beyond_a_share() -> None:
    fixture = on_manual_clock(concurrency=40)
    await add_hanging(fixture, "hanging", 60)
    for number in range(60):
        fields: dict[str, Any] = {"target": TARGETS[0], "policy": PATIENT, "abandoned_count": 1}
        await fixture.add("hanging", id=f"suspect-{number}", tenant_id="hanging", **fields)
    async with RunningWorker(fixture, grace_ms=0, can_run=lambda: ["http", "callable:function"]):
        await fixture.clock.advance(10 * MINUTE)
    assert places_for(0, free=40) < running(fixture)["hanging"] < 40


async def test_two_workers_bound_each_for_itself() -> None:
    first = on_manual_clock(concurrency=10)
    second = WorkerFixture(clock=first.clock, store=first.store.port, concurrency=10)
    await add_hanging(first, "hanging", 60)
    second.takes(5 * HOUR, "hanging")
    async with RunningWorker(first, grace_ms=0), RunningWorker(second, grace_ms=0):
        await asyncio.sleep(0)
        await first.clock.advance(5_000)
    assert running(first) == running(second) == {"hanging": 8}


async def test_how_many_tenants_hold_all_they_may_is_told() -> None:
    fixture = on_manual_clock(concurrency=20)
    await add_hanging(fixture, "hanging", 40)
    async with RunningWorker(fixture, grace_ms=0):
        await fixture.clock.advance(2_000)
    told = [event for event in fixture.telemetry.events if event.name == IN_FLIGHT]
    assert told[-1].measurements == {"in_flight": 16}
    assert (told[-1].metadata["max_concurrency"], told[-1].metadata["full_tenants"]) == (20, 1)
