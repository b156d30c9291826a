"""Whatever await a worker is dropped at, every slot gets one verdict, and nothing silently runs twice."""

import os
from typing import Any

import pytest
from tests.faults.scheduling.crash_injection import CrashPoint, run_until_crash
from tests.faults.scheduling.mixed_endpoints import LEASE_MS, MixedEndpoints

from cadenza.domain.scheduling import settle as rules
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.run import Claim, RunStatus
from cadenza.engine.worker import sweeper

SEEDS = range(100) if os.environ.get("CADENZA_SOAK") else range(8)
TICKS = 4


async def work(mixed: MixedEndpoints, crash_point: CrashPoint, claim_ahead_ms: int) -> bool:
    """A few passes of one worker; False if it crashed."""
    worker = mixed.worker(crash_point, claim_ahead_ms=claim_ahead_ms)
    for _ in range(TICKS):
        if not await run_until_crash(crash_point, worker.run_once()):
            return False
        await mixed.clock.sleep(5_000)
    return True


async def crash(seed: int, at: int, claim_ahead_ms: int = 0) -> tuple[MixedEndpoints, bool]:
    """Endpoints whose first worker was dropped at the given await, after others have taken over."""
    mixed = MixedEndpoints(seed)
    await mixed.add_endpoints()
    survived = await work(mixed, CrashPoint(at), claim_ahead_ms)
    await mixed.recover(span_ms=LEASE_MS + 50_000)
    return mixed, survived


async def every_crash(seed: int, claim_ahead_ms: int) -> list[str]:
    """The complaints after each possible crash, until one comes too late to matter."""
    found: list[str] = []
    at = 0
    survived = False
    while not survived:
        at += 1
        mixed, survived = await crash(seed, at, claim_ahead_ms)
        found += [f"dropped at await {at}: {violation}" for violation in await mixed.violations()]
    assert at > 20, "there was hardly an await to be dropped at"
    return found


@pytest.mark.parametrize("claim_ahead_ms", [0, 4_000])
@pytest.mark.parametrize("seed", SEEDS)
async def test_a_scheduler_dropped_at_any_await_loses_no_slot_and_doubles_none(
    seed: int, claim_ahead_ms: int
) -> None:
    assert await every_crash(seed, claim_ahead_ms) == []


async def test_what_was_dispatched_and_lost_is_marked() -> None:
    lost = 0
    for at in range(1, 60):
        mixed, _ = await crash(1, at)
        runs = [
            run
            for end in await mixed.store.catalog.find("default")
            for run in await mixed.store.runs.runs(end.key)
        ]
        dispatched = {claim.run_id for claim in mixed.dispatched}
        abandoned = [run for run in runs if run.status is RunStatus.ABANDONED]
        lost += sum(run.id in dispatched for run in abandoned)
        assert all(run.started_at is not None for run in abandoned if run.id in dispatched)
    assert lost > 0


async def test_the_same_seed_and_await_give_the_same_history() -> None:
    first, _ = await crash(3, 17)
    second, _ = await crash(3, 17)
    assert [claim.run_id for claim in first.dispatched] == [claim.run_id for claim in second.dispatched]
    assert first.log.lines == second.log.lines


def lose_the_slot(endpoint: Endpoint, claim: Claim, now: Any, again: Any = None) -> Any:
    return rules._NextRun(evolve(endpoint, open_slot=None, next_run_at=now, lease=None), verdict=False)


async def test_a_rule_that_loses_slots_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "_keep_slot_open", lose_the_slot)
    assert any("verdicts" in violation for violation in await every_crash(1, 0))


async def test_a_rule_that_calls_an_abandoned_slot_over_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    original = rules._abandoned
    monkeypatch.setattr(rules, "_abandoned", lambda *given: original(*given)._replace(verdict=True))
    assert any("has 2 verdicts" in violation for violation in await every_crash(1, 0))


async def test_a_sweeper_that_does_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(_: object) -> list[object]:
        return []

    monkeypatch.setattr(sweeper.Sweeper, "sweep", nothing)
    assert any("still open" in violation for violation in await every_crash(1, 0))
