"""Turns as an HTTP agent gets them over a real connection, and what its answers mean."""

import importlib.util
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.integration.http.loopback_server import FakeSecrets, Server, a_dispatcher, a_server, says

from cadenza.adapters.agents.http_turns import HttpTurnSender
from cadenza.adapters.clock import SystemClock
from cadenza.domain.agents.agent_turn import AgentTurn, AnswerCall, TurnAnswer, TurnState
from cadenza.domain.agents.conversation import ConversationKey
from cadenza.domain.agents.users import Agent, Runtime, agent_target
from cadenza.ports.own_agents.turns import SentTurn

KEY = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
SECRETS = {"KEY": KEY, "PASSWORD": "a secret word"}
EXAMPLE = Path(__file__).parents[3] / "examples/http_agent.py"
JSON_TYPE = "application/json"


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The example of an HTTP agent, which verifies what it is sent."""
    monkeypatch.setenv("SIGNING_KEY", KEY)
    spec = importlib.util.spec_from_file_location("http_agent", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def an_agent(url: str) -> Agent:
    target = agent_target(url, {"X-Password": "${secret:PASSWORD}"}, ["${secret:KEY}"])
    return Agent(id="service", name="Service", runtime=Runtime.HTTP, target=target)


def a_turn(**fields: Any) -> AgentTurn:
    now = datetime.now(UTC)
    given: dict[str, Any] = {
        "id": "0f3a9c7be2d1",
        "conversation": ConversationKey("default", "ada", "service"),
        "payload": {"words": "${secret:PASSWORD} and ${HOME}", "tools": []},
        "created_at": now,
        "expires_at": now + timedelta(seconds=20),
        "state": TurnState.LEASED,
        "attempts": 2,
    }
    return AgentTurn(**(given | fields))


async def sent(server: Server, turn: AgentTurn | None = None, **settings: Any) -> SentTurn:
    async with a_dispatcher(FakeSecrets(**SECRETS), **settings) as dispatcher:
        sender = HttpTurnSender(dispatcher, SystemClock(), public_url="https://cadenza.example/")
        return await sender.send(an_agent(server.url("/turns")), turn or a_turn(), "turn_0f3a_token")


async def test_a_turn_is_signed_and_names_the_callback(example: ModuleType) -> None:
    async with a_server(says('{"messages": ["Hello."]}', content_type=JSON_TYPE)) as server:
        answered = await sent(server)
    assert answered == SentTurn(TurnAnswer(messages=("Hello.",)))
    request, body = server.last, json.loads(server.last.body)
    assert (request.method, request.path) == ("POST", "/turns")
    assert (body["id"], body["attempt"]) == ("0f3a9c7be2d1", 2)
    callback = "https://cadenza.example/v1/agent-turns/0f3a9c7be2d1"
    assert body["callback"] == {"url": callback, "token": "turn_0f3a_token"}
    assert example.is_signed(Headers(request.headers), request.body)
    assert not example.is_signed(Headers(request.headers), request.body + b" ")


async def test_every_attempt_at_a_turn_has_one_message_id() -> None:
    turn = a_turn()
    async with a_server(says(status=202)) as server:
        for attempt in (1, 2):
            assert await sent(server, replace(turn, attempts=attempt)) == SentTurn()
    assert len({one.headers["webhook-id"] for one in server.requests}) == 1


async def test_secrets_are_put_into_headers_and_never_into_what_people_wrote() -> None:
    async with a_server(says(status=202)) as server:
        await sent(server)
    assert server.last.headers["x-password"] == "a secret word"
    assert b"a secret word" not in server.last.body


@pytest.mark.parametrize(
    ("status", "body", "error"),
    [
        (500, "{}", "did not answer: answered 500"),
        (301, "{}", "did not answer: answered 301"),
        (200, "Hello.", "is no answer"),
        (200, "", "is no answer"),
        (200, '{"messages": "Hello."}', "messages must be a list"),
        (200, '{"messages": [1]}', "messages must be a text"),
        (200, '{"message": "Hello."}', "An answer is an object"),
        (200, '{"calls": [{"tool": 1}]}', "A call has a tool"),
        (200, '{"tokens": -1}', "tokens must be"),
    ],
)
async def test_what_is_no_answer_is_an_error(status: int, body: str, error: str) -> None:
    async with a_server(says(body, status, content_type=JSON_TYPE)) as server:
        answered = await sent(server)
    assert answered.answer is None
    assert error in (answered.error or "")


async def test_an_answer_may_bring_calls() -> None:
    body = {"messages": [], "calls": [{"tool": "list_schedules"}], "tokens": 7}
    async with a_server(says(json.dumps(body), content_type=JSON_TYPE)) as server:
        answered = await sent(server)
    assert answered.answer == TurnAnswer(calls=(AnswerCall("list_schedules", {}),), tokens=7)


async def test_a_private_address_is_refused_unless_it_is_allowed() -> None:
    async with a_server() as server:
        answered = await sent(server, allow=("10.0.0.1",))
    assert "refused" in (answered.error or "")
    assert server.requests == []


async def test_a_service_that_hangs_is_given_up_when_nobody_waits_any_more() -> None:
    async with a_server(lambda _, __: None) as server:
        answered = await sent(server, a_turn(expires_at=datetime.now(UTC) + timedelta(milliseconds=200)))
    assert "no answer within" in (answered.error or "")


class Headers(dict[str, str]):
    """Headers as the standard library has them: None for one that is missing."""

    def __missing__(self, name: str) -> None:
        return None
