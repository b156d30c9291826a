"""The flash sale under planners: the same world, scheduler and checks, another hand."""

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from cadenza.adapters.planners.llm.planner import LlmPlanner
from cadenza.adapters.stores.memory import MemoryStore
from cadenza.domain.errors import InvalidRequest, Unavailable
from cadenza.ports.planning import Planner
from cadenza.ports.store import Store
from cadenza.roots.wiring.llm import steering_tool_schemas
from cadenza.roots.wiring.simulation_planners import learning, planners_for
from cadenza.sim.catalogue import Planners, run_product, simulate
from cadenza.sim.flash_sale.policies import TRAFFIC
from cadenza.sim.flash_sale.scenario import flash_sale
from cadenza.sim.flash_sale.scripted import ScriptedPlanner
from cadenza.sim.planner_run import run_planner
from cadenza.sim.report import Mode, document
from cadenza.testing.fakes import FakeIds

SALE = "flash-sale"
RESPONSES = re.compile(r"<responses>\n(.*)\n</responses>", re.DOTALL)


@pytest.mark.parametrize("word", ["scripted", "rules"])
async def test_planners_steer_the_sale_as_its_policies_do(word: str) -> None:
    report = await simulate(SALE, planners=planners_for(word, SALE))
    assert [check.name for check in report.checks if not check.passed] == []
    assert report.recording.counts() == (await run_product(flash_sale())).counts()
    assert report.mode is Mode.PLANNED
    assert document(report)["planner"] == word


@pytest.mark.parametrize("word", ["scripted", "rules"])
async def test_a_planned_simulation_is_always_the_same(word: str) -> None:
    first, again = [await simulate(SALE, planners=planners_for(word, SALE)) for _ in range(2)]
    assert document(first) == document(again)


async def test_without_anybody_everything_keeps_its_baseline() -> None:
    async def nobody(_: Store) -> Sequence[Planner]:
        return []

    report = await simulate(SALE, planners=Planners("nobody", nobody))
    counts = report.recording.counts()
    assert counts["traffic_monitor"] == 41
    assert counts["cache_warm_up"] == 0
    assert not all(check.passed for check in report.checks)
    assert report.passed, "checks of the policies do not judge planners"


async def test_a_model_that_reads_its_briefing_steers_the_traffic_monitor() -> None:
    asked: Counter[str] = Counter()

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        first = messages[0]
        assert isinstance(first, ModelRequest)
        briefing = next(part.content for part in first.parts if isinstance(part, UserPromptPart))
        found = RESPONSES.search(str(briefing))
        assert found is not None
        newest: dict[str, Any] = json.loads(found[1])["recent_runs"][0]["response"]
        asked["sittings"] += len(messages) == 1
        seconds = TRAFFIC.interval_s(newest["traffic"])
        if len(messages) == 1 and seconds is not None:
            return ModelResponse([ToolCallPart("propose_interval", {"intervalMs": seconds * 1_000})])
        analysis = {"reasoning": f"{newest['traffic']} visitors.", "confidence": 0.9}
        return ModelResponse([ToolCallPart("submit_analysis", analysis)])

    class OnlyTraffic(LlmPlanner):
        def wants(self, briefing: Any) -> bool:
            return briefing.endpoint.name == "traffic_monitor" and super().wants(briefing)

    async def make_planners(store: Store) -> Sequence[Planner]:
        return [OnlyTraffic(FunctionModel(answer), store=store.runs, steering=steering_tool_schemas())]

    recording = await run_planner(flash_sale(), make_planners)
    assert asked["sittings"] == 4, "one for each change, and none for all the runs between"
    gaps = Counter(gap.length for gap in recording.gaps("traffic_monitor"))
    assert gaps[30] == 20, "from the fifth minute to the fifteenth, when the second pause is over"
    assert gaps[20] > 15
    assert gaps[60] > 18


async def test_the_planner_that_learns_is_the_one_of_a_running_system(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Learner(ScriptedPlanner):
        name = "learned"

    def there_are(*planners: Planner) -> None:
        monkeypatch.setattr("cadenza.roots.planner.planners", lambda *_: list(planners))

    there_are(ScriptedPlanner(), learner := Learner())
    assert list(await learning(MemoryStore(FakeIds()))) == [learner]
    there_are(ScriptedPlanner())
    with pytest.raises(Unavailable):
        await learning(MemoryStore(FakeIds()))


@pytest.mark.parametrize(
    ("word", "scenario"),
    [
        ("scripted", "system-resources"),
        ("rules", "system-resources"),
        ("nobody", SALE),
        ("rules:nowhere.yaml", SALE),
    ],
)
def test_a_planner_that_does_not_fit_is_refused(word: str, scenario: str) -> None:
    with pytest.raises(InvalidRequest):
        planners_for(word, scenario)


async def test_the_published_rules_take_no_planner() -> None:
    with pytest.raises(InvalidRequest):
        await simulate(SALE, as_published=True, planners=planners_for("scripted", SALE))
