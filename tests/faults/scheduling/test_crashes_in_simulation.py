"""Whatever await a scheduler is dropped at, every slot gets one verdict, and nothing silently runs twice."""

import os
from typing import Any

import pytest
from tests.faults.scheduling.crash_injection import Life, live
from tests.faults.scheduling.mixed_endpoints import LEASE_MS, Household

from cadenza.domain.scheduling import settle as rules
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.run import Claim, RunStatus
from cadenza.engine.worker import sweeper

SEEDS = range(100) if os.environ.get("CADENZA_SOAK") else range(8)
TICKS = 4


async def work(household: Household, life: Life, claim_ahead_ms: int) -> bool:
    """A few ticks of one scheduler; False if it did not survive them."""
    worker = household.worker(life, claim_ahead_ms=claim_ahead_ms)
    for _ in range(TICKS):
        if not await live(life, worker.run_once()):
            return False
        await household.clock.sleep(5_000)
    return True


async def crash(seed: int, at: int, claim_ahead_ms: int = 0) -> tuple[Household, bool]:
    """A household whose first scheduler was dropped at the given await, after others have taken over."""
    household = Household(seed)
    await household.move_in()
    survived = await work(household, Life(at), claim_ahead_ms)
    await household.recover(span_ms=LEASE_MS + 50_000)
    return household, survived


async def every_crash(seed: int, claim_ahead_ms: int) -> list[str]:
    """The complaints after each possible crash, until one comes too late to matter."""
    found: list[str] = []
    at = 0
    survived = False
    while not survived:
        at += 1
        household, survived = await crash(seed, at, claim_ahead_ms)
        found += [f"dropped at await {at}: {complaint}" for complaint in await household.complaints()]
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
        household, _ = await crash(1, at)
        runs = [
            run
            for end in await household.store.catalog.find("default")
            for run in await household.store.runs.runs(end.key)
        ]
        dispatched = {claim.run_id for claim in household.dispatched}
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
    assert any("verdicts" in complaint for complaint in await every_crash(1, 0))


async def test_a_rule_that_calls_an_abandoned_slot_over_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    original = rules._abandoned
    monkeypatch.setattr(rules, "_abandoned", lambda *given: original(*given)._replace(verdict=True))
    assert any("has 2 verdicts" in complaint for complaint in await every_crash(1, 0))


async def test_a_sweeper_that_does_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(_: object) -> list[object]:
        return []

    monkeypatch.setattr(sweeper.Sweeper, "sweep", nothing)
    assert any("still open" in complaint for complaint in await every_crash(1, 0))
