"""What a model may do in an analysis, and what happens if it does anything else."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import RequestUsage
from tests.planning.llm.llm_fixtures import ANALYSIS, SHOP, STRANGER, TRACE, LlmJob, as_they_are

from cadenza.domain.planning.planner_settings import Planning
from cadenza.domain.scheduling.policy import Guard

ScriptedCall = tuple[str, Any]
SUBMIT: ScriptedCall = ("submit_analysis", ANALYSIS)


class Script:
    """A model that says one thing after the other, and the last for ever."""

    def __init__(self, *answers: Sequence[ScriptedCall] | str, tokens: tuple[int, int] = (500, 50)) -> None:
        self._answers = answers
        self._tokens = tokens
        self.offered: list[list[str]] = []
        self.results: list[str] = []

    @property
    def model(self) -> FunctionModel:
        return FunctionModel(self._answer)

    def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        self.offered.append([tool.name for tool in (*info.function_tools, *info.output_tools)])
        last = messages[-1]
        assert isinstance(last, ModelRequest)
        self.results += [str(part.content) for part in last.parts if isinstance(part, ToolReturnPart)]
        answer = self._answers[min(len(self.offered), len(self._answers)) - 1]
        input_tokens, output_tokens = self._tokens
        parts = [TextPart(answer)] if isinstance(answer, str) else [ToolCallPart(*made) for made in answer]
        return ModelResponse(
            parts, usage=RequestUsage(input_tokens=input_tokens, output_tokens=output_tokens)
        )


@pytest.fixture
async def job() -> LlmJob:
    job = await LlmJob().open(guard=Guard(min_interval_ms=10_000))
    await job.ran({"queue": 1})
    await job.ran({"queue": 900})
    return job


async def test_a_refusal_is_read_and_mended(job: LlmJob) -> None:
    script = Script(
        [("propose_interval", {"intervalMs": -5})],
        [("propose_interval", {"intervalMs": "30s"})],
        [("propose_interval", {"intervalMs": 30_000, "url": "http://example.com"})],
        [("propose_interval", {"intervalMs": 30_000})],
        [SUBMIT],
    )
    finished = await job.analyze(script.model)
    assert finished.result.error is None
    assert [call.error is None for call in finished.calls] == [False, False, False, True]
    assert "intervalMs must be a whole number of milliseconds from 1" in script.results[0]
    assert "is unknown here; known are" in script.results[2]
    hint = (await job.endpoint()).interval_hint
    assert hint is not None
    assert hint.interval_ms == 30_000


@pytest.mark.parametrize("name", [STRANGER, "nobody", 7, ["checkout"], ""])
async def test_nothing_outside_its_job_can_be_named(job: LlmJob, name: Any) -> None:
    before = await as_they_are(job)
    script = Script([("pause_until", {"endpoint": name, "untilIso": "2030-01-01T00:00:00Z"})], [SUBMIT])
    finished = await job.analyze(script.model)
    assert finished.calls == ()
    assert "not found" in script.results[0]
    assert await as_they_are(job) == before


@pytest.mark.parametrize("tool", ["delete_endpoint", "create_key", "submit", "", "get_health; drop"])
async def test_an_unknown_tool_does_nothing(job: LlmJob, tool: str) -> None:
    before = await as_they_are(job)
    script = Script([(tool, {})], [SUBMIT])
    finished = await job.analyze(script.model)
    assert finished.result.error is None
    assert "not found" in script.results[0]
    assert await as_they_are(job) == before


async def test_plain_text_is_no_answer(job: LlmJob) -> None:
    before = await as_they_are(job)
    script = Script("I would rather talk about the weather.")
    finished = await job.analyze(job.planner(script.model, steps=4))
    assert finished.result.error == "The model did not submit its analysis within 4 steps."
    assert finished.result.tokens == (2_000, 200)
    assert len(script.offered) == 4
    assert await as_they_are(job) == before


async def test_a_model_that_goes_in_circles_is_stopped(job: LlmJob) -> None:
    script = Script([("get_health", {})])
    finished = await job.analyze(job.planner(script.model, steps=6))
    assert finished.result.error is not None
    assert len(script.offered) == 6
    assert script.offered[-1] == ["submit_analysis"], "the last answer can only be the analysis"
    assert all(len(offered) == 7 for offered in script.offered[:-1])


async def test_who_acts_in_the_last_step_is_refused(job: LlmJob) -> None:
    before = await as_they_are(job)
    script = Script([("get_health", {})], [("propose_interval", {"intervalMs": 20_000}), SUBMIT])
    finished = await job.analyze(job.planner(script.model, steps=2))
    assert finished.result.error is None
    assert finished.calls == ()
    assert await as_they_are(job) == before


async def test_only_so_many_calls_may_steer(job: LlmJob) -> None:
    script = Script([("propose_interval", {"intervalMs": 20_000 + n}) for n in range(5)], [SUBMIT])
    finished = await job.analyze(job.planner(script.model, most_tool_calls=3))
    assert finished.result.error is None
    assert len(finished.calls) == 3
    assert "Tool limit reached" in script.results[4]


async def test_a_flood_of_calls_is_not_carried_out(job: LlmJob) -> None:
    script = Script([("get_health", {})] * 500, [SUBMIT])
    finished = await job.analyze(script.model)
    assert finished.result.error is None
    assert sum("Too many calls" in results for results in script.results) == 480


async def test_tokens_that_run_out_bring_the_end_forward(job: LlmJob) -> None:
    script = Script([("get_health", {})], [("get_health", {})], [SUBMIT], tokens=(7_000, 50))
    finished = await job.analyze(job.planner(script.model, input_tokens=22_000))
    assert finished.result.error is None
    assert script.offered[-1] == ["submit_analysis"]
    assert len(script.offered) == 3


async def test_who_exceeds_its_tokens_does_nothing_more(job: LlmJob) -> None:
    before = await as_they_are(job)
    script = Script([("propose_interval", {"intervalMs": 20_000})], tokens=(90_000, 50))
    finished = await job.analyze(script.model)
    assert finished.result.error == "The analysis has used up its tokens (90000 in, 50 out)."
    assert finished.result.tokens == (90_000, 50)
    assert finished.calls == ()
    assert await as_they_are(job) == before


async def test_who_writes_too_much_does_nothing_more(job: LlmJob) -> None:
    script = Script([("propose_interval", {"intervalMs": 20_000})], tokens=(500, 9_000))
    finished = await job.analyze(script.model)
    assert finished.result.error is not None
    assert finished.result.tokens == (500, 9_000)
    assert finished.calls == ()


@pytest.mark.parametrize(
    "words",
    [
        {},
        {"reasoning": "", "confidence": 0.5},
        {"reasoning": "x", "confidence": 7},
        {"reasoning": "x", "confidence": 0.5, "look_again_minutes": -1},
        {"reasoning": "x", "confidence": 0.5, "grant": "admin"},
        "not even JSON",
    ],
)
async def test_an_analysis_that_makes_no_sense_is_asked_for_again(job: LlmJob, words: Any) -> None:
    script = Script([("submit_analysis", words)], [SUBMIT])
    finished = await job.analyze(script.model)
    assert finished.result.error is None
    assert "refused" in script.results[0]


async def test_it_analyzes_again_no_sooner_than_it_may(job: LlmJob) -> None:
    script = Script([("submit_analysis", ANALYSIS | {"look_again_minutes": 0.01})])
    finished = await job.analyze(job.planner(script.model, pause_s=300))
    assert finished.result.look_again_ms == 300_000


async def test_the_guard_bounds_a_model_too(job: LlmJob) -> None:
    script = Script([("propose_interval", {"intervalMs": 1})], [SUBMIT])
    now = job.bench.clock.now()
    await job.analyze(script.model)
    next_run_at = (await job.endpoint()).next_run_at
    assert next_run_at is not None
    assert (next_run_at - now).total_seconds() >= 0


async def test_hints_written_before_a_failure_stand_and_expire(job: LlmJob) -> None:
    script = Script([("propose_interval", {"intervalMs": 20_000, "ttlMinutes": 5})], "and now something else")
    finished = await job.analyze(job.planner(script.model, steps=3))
    assert finished.result.error is not None
    assert [call.tool for call in finished.calls] == ["propose_interval"]
    hint = (await job.endpoint()).interval_hint
    assert hint is not None
    assert hint.expires_at == job.bench.ms(5 * 60_000)


@pytest.mark.parametrize(
    ("question", "answered"),
    [
        (("get_health", {"endpoint": SHOP}), lambda told: told[0]["runs"] == 2),
        (("get_health", {"endpoint": TRACE}), lambda told: told[0]["runs"] == 0),
        (("list_runs", {"limit": 1}), lambda told: [run["response"] for run in told] == [{"queue": 900}]),
        (
            ("list_runs", {"beforeIso": "2025-01-01T00:00:30Z"}),
            lambda told: [run["response"] for run in told] == [{"queue": 1}],
        ),
        (("list_runs", {"limit": 1_000}), lambda told: "limit" in told["refused"]),
        (("list_runs", {"beforeIso": "yesterday"}), lambda told: "beforeIso" in told["refused"]),
        (("latest_response", {"endpoint": SHOP}), lambda told: told["response"] == {"queue": 900}),
        (("latest_response", {"endpoint": TRACE}), lambda told: "not answered yet" in told["refused"]),
        (("latest_response", {"endpoint": STRANGER}), lambda told: "not found" in told["refused"]),
    ],
)
async def test_questions_about_the_job_are_answered(
    job: LlmJob, question: ScriptedCall, answered: Callable[[Any], bool]
) -> None:
    script = Script([question], [SUBMIT])
    await job.analyze(script.model)
    assert answered(json.loads(script.results[0])), script.results[0]


async def test_the_librarys_own_test_model_that_calls_everything_is_bounded(job: LlmJob) -> None:
    finished = await job.analyze(TestModel())
    assert len(finished.calls) <= 3
    assert {call.endpoint_id for call in finished.calls} <= {SHOP, TRACE}


async def test_an_endpoint_without_runs_can_be_analyzed(job: LlmJob) -> None:
    planning = Planning(llm=True)
    await job.bench.add("fresh", job_id="shop", planning=planning)
    script = Script([SUBMIT])
    finished = await job.analyze(script.model, name="fresh", trigger="due", due_planners=frozenset({"llm"}))
    assert finished.result.error is None
