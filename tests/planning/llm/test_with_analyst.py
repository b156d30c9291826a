"""The LLM planner in a running system: a run ends, a model hears of it over HTTP, and all is recorded."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
from llmock.pytest_plugin import LLMock
from llmock.scenarios import Fail, Reply, ToolCall
from tests.planning.llm.llm_fixtures import ANALYSIS, LlmJob

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.null import NoLog, NoTelemetry
from cadenza.domain.planning.analysis import Analysis
from cadenza.domain.scheduling.run import RunStatus
from cadenza.roots.planner import PlannerContext, analyst, planners
from cadenza.roots.settings import Settings

ACT = Reply(tool_calls=(ToolCall("propose_interval", {"intervalMs": 30_000, "reason": "it fails"}),))
SUBMIT = Reply(tool_calls=(ToolCall("submit_analysis", ANALYSIS),))


@pytest.fixture
async def job() -> LlmJob:
    job = LlmJob()
    job.bench.clock = SystemClock()  # type: ignore[assignment]
    return await job.open()


@asynccontextmanager
async def an_analyst(job: LlmJob, llmock: LLMock) -> AsyncIterator[None]:
    settings = Settings(llm_model="openai-chat:gpt-4o", llm_base_url=llmock.base_url())
    context = PlannerContext(job.store, SystemClock(), NoLog(), NoTelemetry())
    task = asyncio.create_task(analyst(planners(settings, job.store), context).run())
    await asyncio.sleep(0.05)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


async def recorded(job: LlmJob) -> Analysis:
    key = (await job.endpoint()).key
    async with asyncio.timeout(60):
        while True:
            found = [one for one in await job.store.analyses.analyses(key) if one.planner == "llm"]
            if found:
                return found[0]
            await asyncio.sleep(0.02)


async def test_a_failure_is_analyzed_and_the_analysis_recorded(job: LlmJob, llmock: LLMock) -> None:
    llmock.add(ACT, SUBMIT)
    async with an_analyst(job, llmock):
        await job.bench.run_once(RunStatus.FAILURE)
        analysis = await recorded(job)
    assert analysis.error is None
    assert analysis.reasoning.startswith("The page load rises.")
    assert [(call.tool, call.arguments, call.error) for call in analysis.calls] == [
        ("propose_interval", {"intervalMs": 30_000, "reason": "it fails"}, None)
    ]
    endpoint = await job.endpoint()
    assert endpoint.interval_hint is not None
    assert endpoint.interval_hint.interval_ms == 30_000
    (hint, *_) = await job.store.runs.hints(endpoint.key)
    assert hint.origin == "planner:llm"
    (spent, *_) = await job.store.analyses.usage_by_day(endpoint.key, analysis.began_at)
    assert spent.tokens == analysis.tokens
    assert spent.tokens.total > 1_000


async def test_a_provider_that_refuses_leaves_the_baseline(job: LlmJob, llmock: LLMock) -> None:
    llmock.add(Fail(401, times=None))
    async with an_analyst(job, llmock):
        await job.bench.run_once(RunStatus.FAILURE)
        analysis = await recorded(job)
    assert analysis.error == "The provider answered 401."
    assert analysis.calls == ()
    endpoint = await job.endpoint()
    assert endpoint.interval_hint is None
    assert endpoint.next_source == "baseline-interval"
