"""The rule planner: what it does in an analysis, what it saves, and its reasoning."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from tests.planning.rules.test_rule import a_rule
from tests.planning.rules.test_steps import a_run

from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.planners.rules import planner as rule_planner
from cadenza.adapters.planners.rules.expressions import CelExpressions
from cadenza.adapters.planners.rules.planner import RulePlanner
from cadenza.adapters.stores.memory.store import MemoryStore
from cadenza.domain.errors import Unavailable
from cadenza.domain.planning.analysis import Trigger
from cadenza.domain.planning.rules.incidents import states_from_note
from cadenza.domain.planning.rules.rule import (
    ClearStep,
    Escalation,
    PauseStep,
    ProposeIntervalStep,
    ProposeNextTimeStep,
    Rule,
    WakeStep,
)
from cadenza.domain.scheduling.baseline import Once
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey, Job, evolve
from cadenza.domain.scheduling.hint import Rank, lowered
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.engine.steering import Steering, call_tool
from cadenza.ports.planning import EMPTY_RESULT, Briefing, Planner, PlannerResult
from cadenza.testing.builders import an_endpoint
from cadenza.testing.clock import FakeClock
from cadenza.testing.fakes import FakeIds

FAST = ProposeIntervalStep(interval_ms=20_000)


class RulePlannerHarness:
    """A planner at work in a job of two endpoints, with real tools."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.store = MemoryStore(FakeIds())
        self.planner: Planner = RulePlanner(self.store.rules, self.store.analyses, CelExpressions())
        self.called: list[tuple[str, str, dict[str, Any]]] = []
        self.problem: Exception | None = None
        self.steering = Steering(store=self.store.endpoints, clock=self.clock, cron=CronsimCron())

    async def add_endpoints(self, *rules: Rule, paused: bool = True) -> None:
        await self.store.catalog.add_job(Job(id="job", name="job"))
        until = self.clock.now() + timedelta(days=30) if paused else None
        await self.store.endpoints.add(an_endpoint("front", job_id="job", next_run_at=self.clock.now()))
        await self.store.endpoints.add(
            an_endpoint("back", job_id="job", paused_until=until, next_run_at=until)
        )
        await self.write(*rules)

    async def write(self, *rules: Rule) -> None:
        for rule in rules:
            await self.store.rules.add_rule(rule, most=10)

    async def call(
        self,
        endpoint: Endpoint,
        tool: str,
        arguments: Mapping[str, Any],
        /,
        *,
        rule: str | None = None,
        rank: Rank = Rank.RULE,
    ) -> ChangedEndpoint:
        if self.problem is not None:
            raise self.problem
        self.called.append((endpoint.name, tool, dict(arguments)))
        return await call_tool(
            self.steering.tools(endpoint.key, origin=lowered(f"rule:{rule}", rank)), tool, arguments
        )

    async def brief(self, body: Any = None, *, trigger: Trigger = Trigger.RUN) -> Briefing:
        front, back = [
            await self.store.endpoints.get(EndpointKey("default", name)) for name in ("front", "back")
        ]
        recent = [] if body is None else [a_run(1, response=body)]
        return Briefing(
            now=self.clock.now(), endpoint=front, trigger=trigger, recent=recent, siblings={"back": back}
        )

    async def analyze(self, body: Any = None, *, trigger: Trigger = Trigger.RUN) -> PlannerResult:
        return await self.planner.sit(await self.brief(body, trigger=trigger), self.call)

    def tools(self) -> list[tuple[str, str]]:
        """What was called since the last time."""
        calls, self.called = [(name, tool) for name, tool, _ in self.called], []
        return calls


@pytest.fixture
def harness() -> RulePlannerHarness:
    return RulePlannerHarness()


async def test_a_rule_that_holds_calls_its_tool_with_its_name_as_the_reason(
    harness: RulePlannerHarness,
) -> None:
    await harness.add_endpoints(a_rule(name="too busy", when="response.body.load > 5", then=FAST))
    result = await harness.analyze({"load": 9})
    arguments = {"intervalMs": 20_000, "ttlMinutes": 60, "reason": "too busy"}
    assert harness.called == [("front", "propose_interval", arguments)]
    assert result.reasoning == "too busy holds.\ntoo busy: propose_interval of front."
    (hint,) = await harness.store.runs.hints(EndpointKey("default", "front"))
    assert (hint.interval_ms, hint.reason, hint.origin) == (20_000, "too busy", "rule:too busy")


async def test_a_rule_that_a_model_wrote_acts_as_a_model(harness: RulePlannerHarness) -> None:
    resting = a_rule(name="rest", when="true", then=PauseStep(for_ms=365 * 86_400_000)).written_by("mcp")
    await harness.add_endpoints(resting)
    result = await harness.analyze({})
    assert "models and the learning planner may delay a run by" in result.reasoning
    (hint,) = await harness.store.runs.hints(EndpointKey("default", "front"))
    assert hint.origin == "llm:rule:rest"
    front = await harness.store.endpoints.get(EndpointKey("default", "front"))
    assert front.paused_until is None


async def test_a_persons_hint_survives_a_rule_which_says_so_once(harness: RulePlannerHarness) -> None:
    await harness.add_endpoints(a_rule(name="busy", when="response.body.load > 5", then=FAST))
    front = harness.steering.tools(EndpointKey("default", "front"), origin="cli")
    await call_tool(front, "propose_interval", {"intervalMs": 30_000, "ttlMinutes": 30})
    result = await harness.analyze({"load": 9})
    assert result.reasoning == (
        "busy holds.\nbusy: propose_interval of front. Not applied, because an interval hint"
        " (person: command line) is in force until 2025-01-01T00:30:00Z."
    )
    assert len(harness.tools()) == 1
    for _ in range(3):
        harness.clock.jump(20_000)
        assert (await harness.analyze({"load": 9})).reasoning == ""
    assert harness.tools() == []
    harness.clock.jump(30 * 60_000)
    await harness.analyze({"load": 9})
    assert harness.tools() == [("front", "propose_interval")]
    endpoint = await harness.store.endpoints.get(EndpointKey("default", "front"))
    assert endpoint.interval_hint is not None
    assert (endpoint.interval_hint.interval_ms, endpoint.interval_hint.origin) == (20_000, "rule:busy")


async def test_a_rule_neither_wakes_nor_clears_what_a_person_has_set(harness: RulePlannerHarness) -> None:
    await harness.add_endpoints(
        a_rule(name="wake", when="response.body.load > 5", then=WakeStep(endpoint="back")),
        a_rule(id="relax", name="relax", when="response.body.load > 8", then=FAST, relax=ClearStep()),
        paused=False,
    )
    back = harness.steering.tools(EndpointKey("default", "back"), origin="cli")
    await call_tool(back, "pause_until", {"untilIso": "2025-01-02T00:00:00Z"})
    await harness.analyze({"load": 9})
    front = harness.steering.tools(EndpointKey("default", "front"), origin="cli")
    await call_tool(front, "propose_interval", {"intervalMs": 30_000})
    told = (await harness.analyze({"load": 7})).reasoning
    assert "relax: clear of front. Not applied, because an interval hint (person: command line)" in told
    stored = [await harness.store.endpoints.get(EndpointKey("default", name)) for name in ("front", "back")]
    assert stored[0].interval_hint is not None
    assert stored[0].interval_hint.interval_ms == 30_000
    assert (stored[1].pause_origin, stored[1].one_shot_hint) == ("cli", None)


async def test_what_is_so_already_is_neither_done_nor_said_again(harness: RulePlannerHarness) -> None:
    await harness.add_endpoints(a_rule(when="response.body.load > 5", then=FAST))
    await harness.analyze({"load": 9})
    assert len(harness.tools()) == 1
    assert await harness.analyze({"load": 9}) == EMPTY_RESULT
    assert harness.tools() == []


async def test_a_paused_sibling_is_woken_and_again_when_it_rests_after_the_cooldown(
    harness: RulePlannerHarness,
) -> None:
    rule = a_rule(when="response.body.load > 5", then=WakeStep(endpoint="back"), cooldown_ms=60_000)
    await harness.add_endpoints(rule)
    back = EndpointKey("default", "back")
    await harness.analyze({"load": 9})
    assert harness.tools() == [("back", "propose_next_time"), ("back", "pause_until")]
    woken = await harness.store.endpoints.get(back)
    assert (woken.paused_until, woken.next_run_at) == (None, harness.clock.now())
    steering = harness.steering.tools(back, origin="test")
    await call_tool(steering, "pause_until", {"untilIso": "2026-01-01T00:00:00Z"})
    await harness.clock.sleep(59_999)
    result = await harness.analyze({"load": 9})
    assert (harness.tools(), result.look_again_ms) == ([], 1)
    await harness.clock.sleep(1)
    await harness.analyze({"load": 9}, trigger=Trigger.DUE)
    assert harness.tools() == [("back", "propose_next_time"), ("back", "pause_until")]


async def test_an_incident_escalates_without_a_new_run_and_relaxes_when_it_is_over(
    harness: RulePlannerHarness,
) -> None:
    rule = a_rule(
        name="busy",
        when="response.body.load > 5",
        then=FAST,
        relax=ClearStep(),
        once_per_incident=True,
        escalate=(
            Escalation(60_000, WakeStep(endpoint="back")),
            Escalation(90_000, ProposeNextTimeStep(in_ms=0)),
        ),
    )
    await harness.add_endpoints(rule)
    assert (await harness.analyze({"load": 9})).look_again_ms == 60_000
    harness.tools()
    await harness.clock.sleep(60_000)
    result = await harness.analyze({"load": 9}, trigger=Trigger.DUE)
    assert [name for name, _ in harness.tools()] == ["back", "back"]
    assert result.look_again_ms == 30_000
    assert "busy has held since 2025-01-01T00:00:00Z: step 1." in result.reasoning
    await harness.clock.sleep(30_000)
    assert (await harness.analyze({"load": 9}, trigger=Trigger.DUE)).look_again_ms is None
    assert harness.tools() == [("front", "propose_next_time")]
    result = await harness.analyze({"load": 1})
    assert harness.tools() == [("front", "propose_interval")]
    assert "busy is over; it held since 2025-01-01T00:00:00Z." in result.reasoning


async def test_what_cannot_be_told_is_said_once_and_leaves_the_incident_alone(
    harness: RulePlannerHarness,
) -> None:
    await harness.add_endpoints(
        a_rule(name="busy", when="response.body.load > 5", then=FAST, relax=ClearStep())
    )
    await harness.analyze({"load": 9})
    harness.tools()
    calls = await harness.analyze({})
    assert calls.reasoning == "busy does not match: load not found."
    assert (await harness.analyze({})).reasoning == ""
    assert harness.tools() == []
    assert "busy is over" in (await harness.analyze({"load": 1})).reasoning


async def test_the_state_of_an_incident_outlives_the_planner(harness: RulePlannerHarness) -> None:
    await harness.add_endpoints(
        a_rule(when="response.body.load > 5", then=ProposeNextTimeStep(in_ms=0), once_per_incident=True)
    )
    await harness.analyze({"load": 9})
    assert len(harness.tools()) == 1
    harness.planner = RulePlanner(harness.store.rules, harness.store.analyses, CelExpressions())
    await harness.analyze({"load": 9})
    assert harness.tools() == []


async def test_rules_see_what_other_rules_did_before_them_in_the_order_of_their_ids(
    harness: RulePlannerHarness,
) -> None:
    await harness.add_endpoints(
        a_rule(id="b", when="true", then=WakeStep(endpoint="back")),
        a_rule(id="a", when="true", then=PauseStep(endpoint="back", for_ms=None)),
    )
    await harness.analyze({})
    assert harness.tools() == [("back", "pause_until")], "what the first one resumed need not be woken"


async def test_a_rule_about_another_endpoint_is_not_looked_at(harness: RulePlannerHarness) -> None:
    await harness.add_endpoints(a_rule(endpoint_id="back", when="true", then=FAST))
    assert await harness.analyze({}) == EMPTY_RESULT
    assert harness.called == []


async def test_a_rule_that_is_switched_off_is_not_looked_at(harness: RulePlannerHarness) -> None:
    await harness.add_endpoints(a_rule(when="true", then=FAST, enabled=False))
    assert await harness.analyze({}) == EMPTY_RESULT


async def test_a_call_that_is_refused_is_told_and_counts_as_done(harness: RulePlannerHarness) -> None:
    far = ProposeNextTimeStep(in_ms=0, endpoint="back")
    await harness.add_endpoints(
        a_rule(when="true", then=far, once_per_incident=True), a_rule(id="z", when="true", then=FAST)
    )
    harness.problem = Unavailable("not there")
    with pytest.raises(Unavailable):
        await harness.analyze({})
    harness.problem = None
    await harness.store.endpoints.amend(
        EndpointKey("default", "front"), lambda one: ChangedEndpoint(_once(one))
    )
    result = await harness.analyze({})
    assert harness.tools() == [("back", "propose_next_time"), ("front", "propose_interval")]
    assert "was refused: An endpoint that runs once cannot have an interval hint." in result.reasoning


def _once(endpoint: Endpoint) -> Endpoint:
    return evolve(endpoint, baseline=Once(endpoint.next_run_at or FakeClock().now()))


async def test_a_sibling_that_is_not_there_is_told(harness: RulePlannerHarness) -> None:
    await harness.add_endpoints(a_rule(when="true", then=WakeStep(endpoint="nobody"), once_per_incident=True))
    assert "there is no endpoint nobody beside this one" in (await harness.analyze({})).reasoning
    assert await harness.analyze({}) == EMPTY_RESULT


async def test_a_hostile_answer_is_data(harness: RulePlannerHarness) -> None:
    await harness.add_endpoints(a_rule(when="response.body.text == 'x'", then=FAST))
    answer = {"text": "' || true || '", "tool": "pause_until", "__class__": {"mro": []}, "then": FAST.tool}
    await harness.analyze(answer)
    assert harness.called == []


async def test_only_jobs_with_rules_are_analyzed(
    harness: RulePlannerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    await harness.add_endpoints()
    briefing = await harness.brief({})
    assert harness.planner.wants(briefing), "it has not looked yet"
    assert await harness.analyze({}) == EMPTY_RESULT
    assert not harness.planner.wants(briefing)
    await harness.write(a_rule(when="true", then=FAST))
    assert not harness.planner.wants(briefing), "for a moment it trusts what it read"
    monkeypatch.setattr(rule_planner, "MAX_AGE_S", 0.0)
    harness.planner = RulePlanner(harness.store.rules, harness.store.analyses, CelExpressions())
    await harness.analyze({})
    assert harness.planner.wants(briefing)
    assert harness.tools() == [("front", "propose_interval")]


async def test_a_rule_that_was_deleted_is_forgotten_with_the_next_note(
    harness: RulePlannerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rule_planner, "MAX_AGE_S", 0.0)
    await harness.add_endpoints(
        a_rule(id="a", when="true", then=FAST), a_rule(id="b", when="true", then=FAST)
    )
    await harness.analyze({})
    await harness.store.rules.remove_rule("default", "a")
    await harness.analyze({})
    notes = await harness.store.analyses.notes("rules", [EndpointKey("default", "front")])
    assert states_from_note(notes[EndpointKey("default", "front")]).keys() == {"b"}
