"""From settings to a planner, or to one sentence that says why not."""

import sys

import pytest
from llmock.pytest_plugin import LLMock
from tests.planning.llm.llm_fixtures import SHOP, LlmJob

from cadenza.domain.errors import InvalidRequest, Unavailable
from cadenza.roots.planner import PlannerContext, PlannerService
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.llm import llm_planner, steering_tool_schemas
from cadenza.testing import FakeLog, FakeTelemetry

KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "CADENZA_LLM_MODEL")


@pytest.fixture(autouse=True)
def without_keys(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if "llmock" not in request.fixturenames:
        for key in KEYS:
            monkeypatch.delenv(key, raising=False)


def test_without_a_model_there_is_no_planner() -> None:
    assert llm_planner(Settings(), LlmJob().store.runs) is None


def test_without_the_extra_there_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [
        name for name in sys.modules if name.startswith(("pydantic_ai", "cadenza.adapters.planners.llm"))
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pydantic_ai", None)
    with pytest.raises(
        Unavailable, match=r" takes the extra llm, .* -m pip install 'pydantic-ai-slim\[.*'` installs\.$"
    ):
        llm_planner(Settings(llm_model="openai:gpt-4o"), LlmJob().store.runs)


@pytest.mark.parametrize("name", ["openai:gpt-4o", "anthropic:claude-haiku-4-5"])
def test_without_a_key_the_sentence_says_which(name: str) -> None:
    key = f"{name.partition(':')[0].upper()}_API_KEY"
    with pytest.raises(
        InvalidRequest, match=rf"^CADENZA_LLM_MODEL names '{name}', whose key is missing: set {key}\.$"
    ):
        llm_planner(Settings(llm_model=name), LlmJob().store.runs)


@pytest.mark.parametrize("name", ["gpt-4o", "nobody:gpt-4o", ":", "openai"])
def test_a_model_that_nobody_knows_is_refused(name: str) -> None:
    with pytest.raises(InvalidRequest, match=r"^CADENZA_LLM_MODEL cannot be used: "):
        llm_planner(Settings(llm_model=name), LlmJob().store.runs)


def test_a_model_that_cannot_be_used_is_refused_when_planners_start() -> None:
    job = LlmJob()
    context = PlannerContext(job.store, job.bench.clock, FakeLog(), FakeTelemetry())
    with pytest.raises(InvalidRequest, match=r"^CADENZA_LLM_MODEL cannot be used: "):
        PlannerService(Settings(llm_model="nobody:gpt-4o"), context)


def test_a_model_whose_library_is_missing_is_refused() -> None:
    with pytest.raises(Unavailable, match="library is not installed"):
        llm_planner(Settings(llm_model="mistral:mistral-large-latest"), LlmJob().store.runs)


async def test_settings_lead_to_a_planner_that_analyzes(llmock: LLMock) -> None:
    job = await LlmJob().open()
    await job.ran({"queue": 1})
    settings = Settings(llm_model="openai-chat:gpt-4o", llm_base_url=llmock.base_url(), llm_steps=2)
    planner = llm_planner(settings, job.store.runs)
    assert planner is not None
    assert planner.name == "llm"
    llmock.call_tool("submit_analysis", {"reasoning": "All is calm.", "confidence": 1})
    finished = await job.analyze(planner)  # type: ignore[arg-type]
    assert finished.result.reasoning == "All is calm. (Confidence 100%.)"


def test_the_tools_have_the_seeds_own_arguments() -> None:
    named = {shape.name: set(shape.schema["properties"]) for shape in steering_tool_schemas()}
    assert named == {
        "propose_interval": {"intervalMs", "ttlMinutes", "reason"},
        "propose_next_time": {"nextRunInMs", "nextRunAtIso", "ttlMinutes", "reason"},
        "pause_until": {"untilIso", "reason"},
    }
    assert SHOP not in str(steering_tool_schemas())
