"""Every planner keeps its contract."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests.agents.llm.scripted_model import ScriptedModel
from tests.planning.llm.llm_fixtures import ANALYSIS
from tests.planning.rules.test_rule import a_rule
from tests.planning.rules.test_steps import a_run

from cadenza.adapters.planners.http_hints import HttpHints
from cadenza.adapters.planners.learning.planner import LearningPlanner
from cadenza.adapters.planners.llm.planner import LlmPlanner
from cadenza.adapters.planners.rules.expressions import CelExpressions
from cadenza.adapters.planners.rules.planner import RulePlanner
from cadenza.adapters.stores.memory import MemoryStore
from cadenza.domain.planning.analysis import Trigger
from cadenza.domain.planning.planner_settings import Learning, Planning
from cadenza.domain.planning.rules.rule import ProposeIntervalStep
from cadenza.domain.scheduling.endpoint import Job
from cadenza.ports.planning import Briefing, Planner
from cadenza.roots.wiring.llm import steering_tool_schemas
from cadenza.testing import FakeIds, RuleBasedPlanner
from cadenza.testing.builders import an_endpoint
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.contracts import PlannerContract
from cadenza.testing.fakes import PlannerRule


def a_briefing(response: Any = None, *, job_id: str = "job", **planning: Any) -> Briefing:
    """A briefing about an endpoint that has run once, with a sibling."""
    endpoint = an_endpoint("front", job_id=job_id, planning=Planning(**planning), last_run_at=NEW_YEAR)
    return Briefing(
        now=NEW_YEAR + timedelta(seconds=1),
        endpoint=endpoint,
        recent=[a_run(1, response=response)],
        siblings={"back": an_endpoint("back", job_id=job_id)},
    )


class TestRuleBasedPlanner(PlannerContract):
    @pytest.fixture
    def planner(self) -> Planner:
        busy = PlannerRule(
            lambda briefing: briefing.recent[0].response == "busy", "propose_interval", {"intervalMs": 30_000}
        )
        return RuleBasedPlanner(busy)

    @pytest.fixture
    def interesting(self) -> Briefing:
        return a_briefing("busy")

    @pytest.fixture
    def boring(self) -> Briefing:
        return a_briefing("calm")


class TestHttpHints(PlannerContract):
    @pytest.fixture
    def planner(self) -> Planner:
        return HttpHints()

    @pytest.fixture
    def interesting(self) -> Briefing:
        return a_briefing({"status": 503, "headers": {"retry-after": "120"}}, http_hints=True)

    @pytest.fixture
    def boring(self) -> Briefing:
        return a_briefing({"status": 200, "headers": {}}, http_hints=True)


class TestRulePlanner(PlannerContract):
    @pytest.fixture
    async def planner(self) -> Planner:
        store = MemoryStore(FakeIds())
        await store.catalog.add_job(Job(id="job", name="job"))
        busy = a_rule(when="response.body.load > 5", then=ProposeIntervalStep(interval_ms=20_000))
        await store.rules.add_rule(busy, most=10)
        planner = RulePlanner(store.rules, store.analyses, CelExpressions())
        await planner.sit(a_briefing({"load": 0}), _no_call)  # It has read which jobs have rules.
        return planner

    @pytest.fixture
    def interesting(self) -> Briefing:
        return a_briefing({"load": 9})

    @pytest.fixture
    def boring(self) -> Briefing:
        return a_briefing({"load": 9}, job_id="without-rules")


class TestLearningPlanner(PlannerContract):
    """One run is too little to act on."""

    acts = False

    @pytest.fixture
    def planner(self) -> Planner:
        return LearningPlanner(MemoryStore(FakeIds()))

    @pytest.fixture
    def interesting(self) -> Briefing:
        return a_briefing({"visitors": 1}, learning=Learning.ON)

    @pytest.fixture
    def boring(self) -> Briefing:
        return a_briefing({"visitors": 1}, learning=Learning.OFF)


class TestLlmPlanner(PlannerContract):
    @pytest.fixture
    def planner(self) -> Planner:
        call = ("propose_interval", {"endpoint": "front", "intervalMs": 30_000, "reason": "busy"})
        model = ScriptedModel([call], [("submit_analysis", ANALYSIS)]).model
        return LlmPlanner(model, store=MemoryStore(FakeIds()).runs, steering=steering_tool_schemas())

    @pytest.fixture
    def interesting(self) -> Briefing:
        return replace(a_briefing({"load": 9}, llm=True), trigger=Trigger.DUE)

    @pytest.fixture
    def boring(self, interesting: Briefing) -> Briefing:
        return replace(interesting, endpoint=an_endpoint("front"))


async def _no_call(*_: object, **__: object) -> Any:
    raise AssertionError("there is nothing to do")
