"""A function that no process declares stops with its last program, says so, and comes back."""

import pytest
from tests.scheduling.worker.running_worker import RunningWorker, on_manual_clock
from tests.scheduling.worker.worker_fixtures import MINUTE, WorkerFixture

from cadenza.adapters.cron import CronsimCron
from cadenza.domain.errors import Conflict
from cadenza.domain.scheduling.endpoint import evolve
from cadenza.domain.scheduling.explain import explain
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.steer import clear_hints, redefine, resume, run_now
from cadenza.domain.scheduling.target import CallableTarget, HttpTarget
from cadenza.engine.worker.functions import FunctionDeclarations
from cadenza.testing import an_endpoint
from cadenza.testing.clock import NEW_YEAR

HOUR = 60 * MINUTE
CRON = CronsimCron()
RETIRED = an_endpoint(
    target=CallableTarget("gone"), next_run_at=None, next_source=Source.RETIRED, last_run_at=NEW_YEAR
)


def declarations(fixture: WorkerFixture, *names: str, after_ms: int | None = HOUR) -> FunctionDeclarations:
    return FunctionDeclarations(
        store=fixture.store.port.functions,
        names=lambda: names,
        clock=fixture.clock,
        cron=fixture.cron,
        log=fixture.log,
        retire_after_ms=after_ms,
    )


async def test_a_function_is_retired_when_its_last_program_is_gone_for_a_while() -> None:
    fixture = on_manual_clock()
    await fixture.add("check", target=CallableTarget("check"))
    async with RunningWorker(fixture, can_run=lambda: ["http"], functions=declarations(fixture)):
        await fixture.clock.advance(HOUR - MINUTE)
        assert not (await fixture.endpoint("check")).retired
        await fixture.clock.advance(3 * MINUTE)
    assert (await fixture.endpoint("check")).retired
    (line,) = [line for line in fixture.log.lines if line.level == "warning"]
    assert line.event == "endpoints are retired: no program declares their function any more"
    assert line.facts == {"endpoints": 1, "endpoint_ids": ["default/check"]}


async def test_a_program_that_runs_keeps_its_functions() -> None:
    fixture = on_manual_clock()
    await fixture.add("check", target=CallableTarget("check"))
    async with RunningWorker(fixture, functions=declarations(fixture, "check")):
        await fixture.clock.advance(3 * HOUR)
    assert not (await fixture.endpoint("check")).retired


async def test_a_program_that_comes_back_brings_its_functions_back() -> None:
    fixture = on_manual_clock()
    await fixture.add("check", target=CallableTarget("check"))
    async with RunningWorker(fixture, can_run=list, functions=declarations(fixture)):
        await fixture.clock.advance(2 * HOUR)
    assert (await fixture.endpoint("check")).retired
    moments = fixture.moments("check")
    async with RunningWorker(fixture, functions=declarations(fixture, "check")):
        await fixture.clock.advance(2 * MINUTE)
    assert moments
    assert "endpoints are active again: their function is declared" in fixture.log.events("info")


async def test_nothing_is_retired_where_that_is_switched_off() -> None:
    fixture = on_manual_clock()
    await fixture.add("check", target=CallableTarget("check"))
    async with RunningWorker(fixture, can_run=list, functions=declarations(fixture, after_ms=None)):
        await fixture.clock.advance(3 * HOUR)
    assert not (await fixture.endpoint("check")).retired


def test_what_is_retired_says_so_and_cannot_be_run() -> None:
    answer = explain(RETIRED, now=NEW_YEAR, cron=CRON)
    assert answer.sentences[0] == (
        "endpoint has no next run: no running program declares its function;"
        " it is active again when one does."
    )
    assert answer.gate == "retired: no running program declares its function"
    with pytest.raises(Conflict, match=r"cannot run now .retired: no running program declares its function"):
        run_now(RETIRED, now=NEW_YEAR)


def test_steering_does_not_bring_back_what_is_retired() -> None:
    paused = evolve(RETIRED, paused_until=NEW_YEAR.replace(year=2030))
    for changed in (
        clear_hints(RETIRED, now=NEW_YEAR, cron=CRON, origin="test"),
        resume(RETIRED, None, now=NEW_YEAR, cron=CRON, origin="test"),
        resume(paused, None, now=NEW_YEAR, cron=CRON, origin="test"),
    ):
        assert (changed.endpoint.retired, changed.endpoint.next_run_at) == (True, None)


async def test_a_hint_is_kept_for_when_it_comes_back() -> None:
    fixture = on_manual_clock()
    await fixture.add(**vars(RETIRED) | {"id": "endpoint"})
    changed = await fixture.tool("propose_interval", intervalMs=1_000)
    assert changed.nudge is not None
    assert not changed.nudge.applied
    assert (changed.endpoint.retired, changed.endpoint.next_run_at) == (True, None)


def test_a_new_target_brings_back_what_is_retired() -> None:
    page = evolve(RETIRED, target=HttpTarget("https://example.com/"))
    back = redefine(RETIRED, page, now=NEW_YEAR, cron=CRON).endpoint
    assert back.next_run_at is not None
    assert back.next_source is Source.BASELINE_INTERVAL
    described = evolve(RETIRED, description="what it did")
    assert redefine(RETIRED, described, now=NEW_YEAR, cron=CRON).endpoint.retired
