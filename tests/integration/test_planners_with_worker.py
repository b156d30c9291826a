"""Planners beside a real worker: on a file, over HTTP, in real time, and when they crash."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, generate_latest
from tests.integration.http.loopback_server import a_server, says

from cadenza.adapters.clock import FastClock, SystemClock
from cadenza.adapters.daily.single_process import FileLeaderLock
from cadenza.adapters.dispatch.callables import CallableDispatcher
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.telemetry.event_bus import RunEndedWakeup
from cadenza.adapters.telemetry.prometheus import PlannerMetrics
from cadenza.domain.planning.planner_settings import Learning, Planning
from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.target import CallableTarget, HttpTarget
from cadenza.engine.planning.feed import FEED_KEY, NOTES_OWNER
from cadenza.engine.supervision import Part, RestartPolicy, Supervisor
from cadenza.ports.clock import Clock
from cadenza.ports.planning import Briefing, CallTool, PlannerResult
from cadenza.ports.store import Store
from cadenza.roots import planner as root
from cadenza.roots.planner import PlannerContext, PlannerService
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.stores import open_store
from cadenza.roots.wiring.worker import ProcessContext, open_loop
from cadenza.testing import FakeLog

RESTARTS = RestartPolicy(crashes=2, first_ms=10)
FOLLOWS = Planning(learning=Learning.OFF, http_hints=True)


class PlannerFixture:
    """A worker and its planners in one process."""

    def __init__(self, settings: Settings, store: Store, clock: Clock) -> None:
        self.settings, self.store, self.clock = settings, store, clock
        self.log, self.registry, self.callables = FakeLog(), CollectorRegistry(), CallableDispatcher()
        self._bell = RunEndedWakeup()
        self.context = ProcessContext(
            store=store, clock=clock, log=self.log, callables=self.callables, telemetry=self._bell
        )

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        context = PlannerContext(self.store, self.clock, self.log, PlannerMetrics(self.registry), self._bell)
        async with open_loop(self.settings, self.context) as loop:
            thinker = PlannerService(self.settings, context)
            supervisor = Supervisor(clock=SystemClock(), log=self.log, restarts=RESTARTS)
            planning = supervisor.run(Part("planner", thinker.run, vital=False))
            tasks = [asyncio.create_task(work) for work in (loop.run(), planning)]
            try:
                await until(
                    lambda: self.store.analyses.notes(NOTES_OWNER, [FEED_KEY])
                )  # Runs before that are not told.
                yield
            finally:
                loop.stop()
                await tasks[0]
                tasks[1].cancel()
                await asyncio.wait({tasks[1]})

    async def add(self, name: str = "endpoint", **fields: Any) -> EndpointKey:
        now = self.clock.now()
        given: dict[str, Any] = {"baseline": Every(60_000), "next_run_at": now, "planning": FOLLOWS}
        endpoint = Endpoint(id=name, name=name, **(given | fields))
        await self.store.endpoints.add(endpoint)
        return endpoint.key


@pytest.fixture
async def fixture(tmp_path: Path) -> AsyncIterator[PlannerFixture]:
    async with planner_fixture(tmp_path, SystemClock()) as fixture:
        yield fixture


@asynccontextmanager
async def planner_fixture(folder: Path, clock: Clock) -> AsyncIterator[PlannerFixture]:
    settings = Settings(
        database_url=f"sqlite:///{folder / 'cadenza.db'}", jitter_ms=0, allow_private_targets=True
    )
    async with open_store(settings, ids=TimeOrderedIds(), log=FakeLog()) as store:
        yield PlannerFixture(settings, store, clock)


async def until(holds: Callable[[], Any], seconds: float = 60) -> Any:
    """Wait until something asked for is there; what it is."""
    limit = time.monotonic() + seconds
    while not (found := await holds()):
        assert time.monotonic() < limit, "it did not happen in time"
        await asyncio.sleep(0.005)
    return found


async def test_retry_after_over_real_http_pauses_within_a_second(fixture: PlannerFixture) -> None:
    async with a_server(says(status=503, Retry_After="120")) as server, fixture.working():
        key = await fixture.add(target=HttpTarget(server.url()))

        async def paused() -> Any:
            endpoint = await fixture.store.endpoints.get(key)
            return endpoint if endpoint.paused_until is not None else None

        endpoint = await until(paused)
        (hint,) = await fixture.store.runs.hints(key)
        (run,) = await fixture.store.runs.runs(key)
        (analysis,) = await until(lambda: fixture.store.analyses.analyses(key))
    assert run.finished_at is not None
    assert hint.origin == "planner:http"
    assert hint.reason == endpoint.pause_reason == "503 with Retry-After: 120"
    assert (endpoint.paused_until - run.finished_at).total_seconds() == pytest.approx(120, abs=0.01)
    assert (hint.written_at - run.finished_at).total_seconds() < 1
    assert (analysis.planner, analysis.trigger) == ("http", "failure")
    assert [call.tool for call in analysis.calls] == ["pause_until"]
    figures = generate_latest(fixture.registry).decode()
    assert 'cadenza_planner_sittings_total{planner="http",result="done"} 1.0' in figures
    assert "endpoint" not in "".join(line for line in figures.splitlines() if not line.startswith("#"))


async def test_max_age_over_real_http_sets_the_pace(fixture: PlannerFixture) -> None:
    async with a_server(says("{}", Cache_Control="max-age=300")) as server, fixture.working():
        key = await fixture.add(target=HttpTarget(server.url()))

        async def hinted() -> Any:
            return (await fixture.store.endpoints.get(key)).interval_hint

        hint = await until(hinted)
    assert (hint.interval_ms, hint.reason) == (300_000, "Cache-Control: max-age=300")


class Quick:
    """A planner that answers every run with a hint."""

    name = "quick"

    def wants(self, briefing: Briefing) -> bool:
        return briefing.trigger == "run"

    async def sit(self, briefing: Briefing, call: CallTool) -> PlannerResult:
        await call(briefing.endpoint, "propose_interval", {"intervalMs": 3_600_000})
        return PlannerResult("seen")


async def quick_ones(fixture: PlannerFixture, count: int) -> list[EndpointKey]:
    """Endpoints that run one after the other, and of which planners know nothing else."""
    fixture.callables.register("work", lambda: 1)
    keys = []
    for number in range(count):
        keys.append(
            await fixture.add(f"endpoint-{number}", target=CallableTarget("work"), job_id=f"{number}")
        )
        await asyncio.sleep(0.05)
    return keys


async def test_a_hint_follows_its_run_within_a_second(
    fixture: PlannerFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(root, "planners", lambda *_: [Quick()])
    async with fixture.working():
        keys = await quick_ones(fixture, 20)
        await until(lambda: fixture.store.runs.hints(keys[-1]))
        delays = []
        for key in keys:
            (hint,) = await fixture.store.runs.hints(key)
            (run,) = await fixture.store.runs.runs(key)
            assert run.finished_at is not None
            delays.append((hint.written_at - run.finished_at).total_seconds() * 1_000)
    assert max(delays) < 1_000
    assert median(delays) < 250


async def test_planners_that_crash_start_again_and_scheduling_goes_on(
    fixture: PlannerFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(root, "planners", lambda *_: [Quick()])
    broken = [True]
    read = fixture.store.analyses.with_siblings

    async def with_siblings(*given: Any) -> Any:
        if broken:
            raise ZeroDivisionError("a bug")
        return await read(*given)

    monkeypatch.setattr(fixture.store.analyses, "with_siblings", with_siblings)
    async with fixture.working():
        (first,) = await quick_ones(fixture, 1)

        async def crashed() -> bool:
            return len(fixture.log.events("warning")) > RESTARTS.crashes

        await until(crashed)
        assert await fixture.store.runs.runs(first)
        broken.clear()
        await until(lambda: fixture.store.runs.hints(first))
    line = next(line for line in fixture.log.lines if "a part crashed" in line.event)
    assert (line.facts["part"], line.facts["problem"]) == ("planner", "ZeroDivisionError: a bug")


async def test_planners_keep_up_with_a_fast_clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(root, "planners", lambda *_: [Quick()])
    async with planner_fixture(tmp_path, FastClock(60)) as fixture:
        async with fixture.working():
            (key,) = await quick_ones(fixture, 1)

            async def many() -> bool:
                return len(await fixture.store.runs.hints(key)) >= 1

            await until(many)
        hint = (await fixture.store.runs.hints(key))[0]
        (run, *_) = await fixture.store.runs.runs(key)
    assert run.finished_at is not None
    assert (hint.written_at - run.finished_at).total_seconds() < 60


async def test_beside_a_file_one_process_plans_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cadenza.adapters.daily.single_process.RETRY_S", 0.01)
    log, at_work, most = FakeLog(), 0, 0
    leave = [asyncio.Event(), asyncio.Event()]

    def work(number: int) -> Callable[[], Any]:
        async def working() -> None:
            nonlocal at_work, most
            at_work += 1
            most = max(most, at_work)
            await leave[number].wait()
            at_work -= 1

        return working

    tasks = [
        asyncio.create_task(FileLeaderLock(tmp_path / "cadenza.db", log).hold(work(number)))
        for number in (0, 1)
    ]

    async def one_works() -> bool:
        return at_work == 1 and bool(log.events())

    await until(one_works)
    leave[0].set()
    await asyncio.wait_for(tasks[0], 60)
    await until(one_works)
    leave[1].set()
    await asyncio.wait_for(tasks[1], 60)
    assert most == 1
    assert log.events() == ["another process plans; waiting for the lock"]
