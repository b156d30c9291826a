"""Planners of schedules with a probe: they see looks, and steer when the next one is."""

from typing import Any

import pytest
from tests.planning.analyst_fixtures import AnalystHarness, ScriptedPlanner
from tests.scheduling.worker.worker_fixtures import MINUTE

from cadenza.adapters.planners.http_hints import HttpHints
from cadenza.adapters.planners.learning.planner import LearningPlanner
from cadenza.domain.agents.probe import NOTHING_NEW, planning_of
from cadenza.domain.agents.users import Agent, User
from cadenza.domain.errors import Conflict
from cadenza.domain.json_values import Json
from cadenza.domain.planning.planner_settings import Learning
from cadenza.domain.scheduling.baseline import Cron, Every
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey, evolve
from cadenza.domain.scheduling.policy import Guard
from cadenza.domain.scheduling.run import Outcome, RunStatus
from cadenza.domain.scheduling.target import HttpTarget, Probe, PromptTarget
from cadenza.engine.planning.analysis import PlannerEntry
from cadenza.engine.steering_commands import ProposeInterval
from cadenza.ports.planning import Briefing, CallTool, PlannerResult
from cadenza.testing import an_endpoint

TARGET = HttpTarget("https://example.com/stock")
GUARD = Guard(MINUTE // 2, 10 * MINUTE)


def a_watch(name: str, **fields: Any) -> dict[str, Any]:
    target = PromptTarget("helper", "ada", "Tell me.", probe=Probe(TARGET))
    given = {"target": target, "baseline": Every(MINUTE), "guard": GUARD, "job_id": "agenda"} | fields
    return given | {"planning": planning_of(an_endpoint(name, **given))}


class LookHarness(AnalystHarness):
    """Schedules of a user whose probes answer as a test says."""

    async def open(self) -> "LookHarness":
        await self.store.port.users.put_user(User(tenant_id="default", id="ada"))
        await self.store.port.agents.put_agent(Agent(tenant_id="default", id="helper", name="Helper"))
        return self

    async def watch(self, *names: str, **fields: Any) -> None:
        for name in names:
            await self.fixture.add(name, in_ms=60 * MINUTE, **a_watch(name, **fields))

    async def look(self, name: str, body: Json, *, new: bool = False, **parts: Json) -> None:
        """Let a schedule look now; with `new`, its agent is told."""
        response: Json = {"probe": {"status": 200, "body": body, **parts}, "probe_ms": 5}
        outcome = Outcome(RunStatus.SKIPPED, reason=NOTHING_NEW, response=response, seen={"of": "x"})
        if new:
            outcome = outcome._replace(status=RunStatus.SUCCESS, reason=None)
        self.fixture.dispatcher.on(name, lambda _: outcome)
        await self.fixture.change(name, next_run_at=self.clock.now())
        await self.fixture.tick()
        await self.settle(1_000)

    async def at(self, name: str) -> Endpoint:
        found: Endpoint = await self.store.port.endpoints.get(EndpointKey("default", name))
        return found


async def test_a_planner_sees_an_endpoint_that_does_what_the_probe_does() -> None:
    harness, planner = await LookHarness().open(), ScriptedPlanner()
    await harness.watch("stock", "other")
    async with harness.watched_by(planner):
        await harness.look("stock", 1)
        await harness.look("stock", 2, new=True)
    first, second = planner.briefings
    assert first.endpoint.target == TARGET
    assert first.siblings == {}
    assert [(run.status, run.duration_ms) for run in second.recent] == [(RunStatus.SUCCESS, 5)] * 2
    assert [run.response for run in second.recent] == [
        {"status": 200, "body": 2},
        {"status": 200, "body": 1},
    ]


async def test_a_failed_turn_after_a_good_look_is_a_good_look() -> None:
    harness, planner = await LookHarness().open(), ScriptedPlanner()
    await harness.watch("stock")
    failures = [
        Outcome(RunStatus.FAILURE, error="the model is gone", response={"probe": {"status": 200}}),
        Outcome(RunStatus.FAILURE, error="503", response={"failed_probe": {"status": 503}}),
    ]
    async with harness.watched_by(planner):
        for outcome in failures:
            harness.fixture.dispatcher.on("stock", lambda _, said=outcome: said)  # type: ignore[misc]
            await harness.fixture.change("stock", next_run_at=harness.clock.now())
            await harness.fixture.tick()
            await harness.settle()
    assert [(run.status.value, run.response) for run in planner.briefings[-1].recent if run.status] == [
        ("failure", {"status": 503}),
        ("success", {"status": 200}),
    ]


async def test_a_prompt_without_a_probe_is_not_analyzed() -> None:
    harness, planner = await LookHarness().open(), ScriptedPlanner()
    await harness.fixture.add(
        "plain", target=PromptTarget("helper", "ada", "Hi."), baseline=Cron("* * * * *")
    )
    async with harness.watched_by(planner):
        await harness.run("plain")
    assert planner.briefings == []


async def test_a_planner_steers_looks_and_nobody_else_does() -> None:
    async def steers(briefing: Briefing, call: CallTool) -> PlannerResult:
        await call(briefing.endpoint, "propose_interval", {"intervalMs": 2 * MINUTE, "reason": "quiet"})
        return PlannerResult("relaxed")

    harness, planner = await LookHarness().open(), ScriptedPlanner(steers)
    await harness.watch("stock")
    async with harness.watched_by(planner):
        await harness.look("stock", 1)
    stock = await harness.at("stock")
    assert stock.interval_hint is not None
    assert (stock.interval_hint.interval_ms, stock.interval_hint.origin) == (2 * MINUTE, "planner:scripted")
    assert isinstance(stock.target, PromptTarget)
    command = ProposeInterval.parse({"intervalMs": MINUTE})
    with pytest.raises(Conflict, match="delete_schedule"):
        await harness.fixture.steering.steer(stock.key, command, origin="key:ops")


async def test_headers_of_an_answer_set_the_pace_of_looks() -> None:
    harness = await LookHarness().open()
    await harness.watch("stock")
    async with harness.watched_by(PlannerEntry(HttpHints())):
        await harness.look("stock", 1, headers={"cache-control": "max-age=300"})
    hint = (await harness.at("stock")).interval_hint
    assert hint is not None
    assert hint.interval_ms == 5 * MINUTE


async def test_the_learning_planner_looks_where_something_changes_within_the_guard() -> None:
    harness = await LookHarness().open()
    await harness.watch("quiet", "busy")
    planner = PlannerEntry(LearningPlanner(harness.dependencies.store))
    async with harness.watched_by(planner):
        for number in range(60):
            await harness.look("quiet", "as ever")
            await harness.look("busy", number, new=True)
            await harness.clock.advance(MINUTE - 2_000)
    quiet, busy = [(await harness.at(name)).interval_hint for name in ("quiet", "busy")]
    assert quiet is not None
    assert busy is not None
    assert busy.interval_ms < MINUTE < quiet.interval_ms
    assert GUARD.min_interval_ms is not None
    assert GUARD.max_interval_ms is not None
    assert GUARD.min_interval_ms <= busy.interval_ms
    assert quiet.interval_ms <= GUARD.max_interval_ms


@pytest.mark.parametrize(
    ("fields", "learning", "http_hints"),
    [
        ({}, Learning.ON, True),
        ({"guard": Guard()}, Learning.OFF, True),
        ({"guard": Guard(MINUTE)}, Learning.OFF, True),
        ({"guard": Guard(), "baseline": Cron("0 9 * * *")}, Learning.OFF, False),
    ],
)
def test_planners_apply_within_bounds_alone(fields: Any, learning: Learning, *, http_hints: bool) -> None:
    watch = an_endpoint("stock", **a_watch("stock", **fields))
    assert (planning_of(watch).learning, planning_of(watch).http_hints) == (learning, http_hints)
    plain = evolve(watch, target=PromptTarget("helper", "ada", "Hi."))
    assert (planning_of(plain).learning, planning_of(plain).http_hints) == (Learning.OFF, False)
