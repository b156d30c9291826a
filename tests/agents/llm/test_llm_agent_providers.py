"""Turns with a model in the words of each provider, over a real socket: mended, bounded, nothing lost."""

import json
from typing import Any

import pytest
from aiohttp import web
from llmock.pytest_plugin import LLMock
from llmock.scenarios import Delay, Fail, Reply, ToolCall, ToolFault
from tests.agents.agent_fixtures import MINUTE, AgentFixture
from tests.agents.llm.scripted_model import with_model
from tests.planning.llm.test_provider_failures import a_server

from cadenza.adapters.planners.llm.model import open_model
from cadenza.domain.errors import Unavailable
from cadenza.domain.scheduling.run import RunStatus

MODELS = {
    "openai-chat:gpt-4o": "openai",
    "openai:gpt-4o": "openai",
    "anthropic:claude-haiku-4-5": "anthropic",
}
CHAT = "openai-chat:gpt-4o"
CREATE: dict[str, Any] = {"name": "Pizza", "prompt": "take the pizza out", "schedule_type": "one-shot"}


def create(**words: Any) -> Reply:
    return Reply(tool_calls=(ToolCall("create_schedule", CREATE | words),))


async def over(llmock: LLMock, name: str = CHAT, **limits: Any) -> AgentFixture:
    return await with_model(lambda _: open_model(name, llmock.base_url(MODELS[name])), **limits)


def sent(llmock: LLMock) -> str:
    return json.dumps(llmock.last_request.body, ensure_ascii=False)


@pytest.mark.parametrize("name", MODELS)
async def test_a_wrong_time_is_refused_read_and_corrected(llmock: LLMock, name: str) -> None:
    llmock.add(
        create(run_at="2025-11-16T17:00:00+01:00"),
        create(run_at="2026-11-16T17:00:00+01:00"),
        Reply("I will remind you on Monday at 17:00."),
    )
    agents = await over(llmock, name)
    assert await agents.say("remind me of the pizza at 5pm") == "I will remind you on Monday at 17:00."
    (planned,) = await agents.schedules()
    assert planned["next_run_at"] == "2026-11-16T16:00:00Z"
    assert len(llmock.requests) == 3
    assert "is in the past: it is 2026-11-16T09:17:30Z now" in sent(llmock)
    assert "Monday, 16 November 2026, 17:00 Europe/Berlin" in sent(llmock)


@pytest.mark.parametrize("name", MODELS)
async def test_a_fired_schedule_is_answered_and_offered_less(llmock: LLMock, name: str) -> None:
    llmock.add(Reply("Time to take the pizza out!"))
    agents = await over(llmock, name)
    made = await agents.schedule()
    await agents.fire()
    assert await agents.undelivered_texts() == ["Time to take the pizza out!"]
    (run,) = await agents.runs(made["id"])
    assert run.status is RunStatus.SUCCESS
    assert "[SCHEDULED: Pizza] take the pizza out" in sent(llmock)
    names = [str(tool.get("function", tool)["name"]) for tool in llmock.last_request.body["tools"]]
    assert names == ["list_schedules", "delete_schedule", "send_canvas_command", "nothing_to_report"]


async def test_what_the_provider_fails_at_is_tried_again(llmock: LLMock) -> None:
    llmock.add(Fail(429, retry_after=1), Fail(503), Reply("Here I am."))
    agents = await over(llmock)
    assert await agents.say("hello") == "Here I am."
    assert len(llmock.requests) == 3


async def test_a_provider_that_stays_down_is_a_clear_error_and_a_failed_run(llmock: LLMock) -> None:
    llmock.add(Fail(500, times=8), Reply("At last."))
    agents = await over(llmock)
    with pytest.raises(Unavailable, match="The agent could not answer: The provider answered 500"):
        await agents.say("hello")
    made = await agents.schedule()
    await agents.fire()
    (run,) = await agents.runs(made["id"])
    assert (run.status, run.error) == (RunStatus.FAILURE, "The provider answered 500.")
    await agents.fire(MINUTE)
    assert await agents.undelivered_texts() == ["At last."], "never a lost event"


async def test_a_key_in_the_providers_words_is_not_repeated(llmock: LLMock) -> None:
    llmock.add(Fail(401, times=None, message="the key sk-123 is wrong"))
    agents = await over(llmock)
    with pytest.raises(Unavailable) as problem:
        await agents.say("hello")
    assert "sk-123" not in problem.value.message
    assert len(llmock.requests) == 1


async def test_a_model_that_takes_too_long_is_left(llmock: LLMock) -> None:
    llmock.add(Delay(5), Reply("Too late."))
    agents = await over(llmock, timeout_s=0.3)
    with pytest.raises(Unavailable, match="The model did not answer in time"):
        await agents.say("hello")
    assert await agents.messages() == []


async def test_a_broken_call_and_an_unknown_tool_are_answered_and_mended(llmock: LLMock) -> None:
    llmock.add(
        ToolFault("malformed_arguments"),
        ToolFault("unknown_tool"),
        *[create(delay_seconds=60)] * 3,
        Reply("Done."),
    )
    agents = await over(llmock)
    assert await agents.say("plan it") == "Done."
    answers = [one["content"] for one in llmock.last_request.body["messages"] if one["role"] == "tool"]
    assert "not a JSON object" in answers[0]
    assert "not found" in answers[1]
    assert len(await agents.schedules()) == 1


async def test_a_loop_ends_with_its_steps(llmock: LLMock) -> None:
    llmock.add(Reply(tool_calls=(ToolCall("list_schedules"),), times=None))
    agents = await over(llmock, steps=4)
    with pytest.raises(Unavailable, match="The model did not answer within 4 steps"):
        await agents.say("loop")
    assert len(llmock.requests) == 4


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("<html>a login page</html>", "text/html"),
        ("{", "application/json"),
        ('{"choices": []}', "application/json"),
        ('{"choices": [{"message": null}]}', "application/json"),
    ],
)
async def test_a_server_that_speaks_something_else_is_a_sentence(body: str, kind: str) -> None:
    async with a_server(web.Response(text=body, content_type=kind)) as url:
        agents = await with_model(lambda _: open_model(CHAT, url))
        with pytest.raises(Unavailable, match="The agent could not answer: The provider"):
            await agents.say("hello")
    assert await agents.messages() == []
