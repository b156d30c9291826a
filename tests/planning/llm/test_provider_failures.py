"""What goes wrong between us and a provider, over a real socket: recorded, bounded, nothing changed."""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from llmock.pytest_plugin import LLMock
from llmock.scenarios import Delay, Fail, Reply, ToolCall, ToolFault
from tests.planning.llm.llm_fixtures import ANALYSIS, LlmJob, as_they_are

from cadenza.adapters.planners.llm.model import open_model
from cadenza.adapters.planners.llm.planner import LlmPlanner
from cadenza.domain.planning.analysis import Tokens

MODEL = "openai-chat:gpt-4o"
SUBMIT = Reply(tool_calls=(ToolCall("submit_analysis", ANALYSIS),))
TIGHTEN = Reply(tool_calls=(ToolCall("propose_interval", {"intervalMs": 20_000}),))


@pytest.fixture
async def job() -> LlmJob:
    job = await LlmJob().open()
    await job.ran({"queue": 1})
    await job.ran({"queue": 900})
    return job


def planner(job: LlmJob, llmock: LLMock, **limits: Any) -> LlmPlanner:
    return job.planner(open_model(MODEL, llmock.base_url()), **limits)


async def test_too_many_requests_are_tried_again_when_the_provider_says(job: LlmJob, llmock: LLMock) -> None:
    llmock.add(Fail(429, retry_after=7), Fail(503, retry_after=11), SUBMIT)
    finished = await job.analyze(planner(job, llmock))
    assert finished.result.error is None
    assert finished.result.reasoning
    assert job.waits == [7, 11]
    assert len(llmock.requests) == 3


async def test_without_advice_the_waits_grow_and_end(job: LlmJob, llmock: LLMock) -> None:
    before = await as_they_are(job)
    llmock.add(Fail(500, times=None))
    finished = await job.analyze(planner(job, llmock))
    assert finished.result.error == "The provider answered 500."
    assert job.waits == [1, 2, 4]
    assert len(llmock.requests) == 4, "nobody else tries again behind our back"
    assert await as_they_are(job) == before


async def test_a_wait_that_would_outlast_the_analysis_is_not_begun(job: LlmJob, llmock: LLMock) -> None:
    llmock.add(Fail(429, retry_after=3_600, times=None))
    finished = await job.analyze(planner(job, llmock))
    assert finished.result.error == "The provider answered 429."
    assert job.waits == []


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
async def test_what_the_provider_refuses_is_not_asked_again(job: LlmJob, llmock: LLMock, status: int) -> None:
    llmock.add(Fail(status, times=None, message="the key sk-123 is wrong"))
    finished = await job.analyze(planner(job, llmock))
    assert finished.result.error == f"The provider answered {status}."
    assert len(llmock.requests) == 1
    assert job.waits == []


async def test_a_provider_that_fails_half_way_is_paid_for_what_it_said(job: LlmJob) -> None:
    call = {"name": "propose_interval", "arguments": '{"intervalMs": 20000}'}
    message = {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": call}]}
    answer = {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": "gpt-4o",
        "choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}],
        "usage": {"prompt_tokens": 1_234, "completion_tokens": 56, "total_tokens": 1_290},
    }
    async with a_server(web.json_response(answer), web.Response(status=400)) as url:
        finished = await job.analyze(job.planner(open_model(MODEL, url)))
    assert finished.result.error == "The provider answered 400."
    assert finished.result.tokens == Tokens(1_234, 56)
    assert [call.tool for call in finished.calls] == ["propose_interval"]


async def test_a_model_that_takes_too_long_is_left(job: LlmJob, llmock: LLMock) -> None:
    before = await as_they_are(job)
    llmock.add(Delay(5), TIGHTEN)
    finished = await job.analyze(planner(job, llmock, timeout_s=0.3))
    assert finished.result.error == "The model did not answer in time."
    assert finished.result.tokens == Tokens()
    assert await as_they_are(job) == before


async def test_nobody_is_there(job: LlmJob) -> None:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        port = place.getsockname()[1]
    before = await as_they_are(job)
    finished = await job.analyze(job.planner(open_model(MODEL, f"http://127.0.0.1:{port}/v1")))
    assert finished.result.error == "The provider cannot be reached."
    assert len(job.waits) == 3
    assert await as_they_are(job) == before


@asynccontextmanager
async def a_server(*answers: web.Response) -> AsyncIterator[str]:
    """A server that speaks chat completions, or something else, one answer after the other."""
    left = list(answers)

    async def answered(_: web.Request) -> web.Response:
        return left.pop(0)

    app = web.Application()
    app.router.add_post("/v1/chat/completions", answered)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("<html>a login page</html>", "text/html"),
        ("{", "application/json"),
        ("{}", "application/json"),
        ("[1, 2]", "application/json"),
        ('{"choices": []}', "application/json"),
        ('{"choices": [{"message": null}]}', "application/json"),
    ],
)
async def test_a_server_that_speaks_something_else(job: LlmJob, body: str, kind: str) -> None:
    before = await as_they_are(job)
    async with a_server(web.Response(text=body, content_type=kind)) as url:
        finished = await job.analyze(job.planner(open_model(MODEL, url)))
    assert finished.result.error is not None
    assert finished.result.error.startswith("The provider")
    assert await as_they_are(job) == before


async def test_a_broken_call_and_an_unknown_tool_are_answered_and_mended(job: LlmJob, llmock: LLMock) -> None:
    llmock.add(ToolFault("malformed_arguments"), ToolFault("unknown_tool"), TIGHTEN, TIGHTEN, TIGHTEN, SUBMIT)
    finished = await job.analyze(planner(job, llmock))
    assert finished.result.error is None
    assert [call.tool for call in finished.calls] == ["propose_interval"]
    answers = [one["content"] for one in llmock.last_request.body["messages"] if one["role"] == "tool"]
    assert "not a JSON object" in answers[0]
    assert "not found" in answers[1]


async def test_its_questions_are_asked_in_time_however_often(job: LlmJob, llmock: LLMock) -> None:
    llmock.add(Reply(tool_calls=(ToolCall("get_health"),), times=None), Delay(0.3, times=None))
    finished = await job.analyze(planner(job, llmock, timeout_s=1.0, steps=50))
    assert finished.result.error == "The model did not answer in time."
    assert 1 < len(llmock.requests) < 6
    assert finished.result.tokens.input > 0
