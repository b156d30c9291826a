"""Services that get each turn, and answer at once or later."""

import asyncio

import pytest
from tests.agents.agent_fixtures import HELPER, MINUTE
from tests.agents.own.own_agent_fixture import OwnAgentFixture

from cadenza.domain.agents.agent_turn import AgentTurn, AnswerCall, TurnAnswer
from cadenza.domain.agents.users import Runtime
from cadenza.domain.errors import Conflict, Unavailable
from cadenza.ports.own_agents.turns import SentTurn

LATER = SentTurn()
DRAWS = AnswerCall("send_canvas_command", {"command": {"draw": "line"}})
AT_ONCE = SentTurn(TurnAnswer(messages=("At once.",), calls=(DRAWS,)))


@pytest.fixture
async def agents() -> OwnAgentFixture:
    return await OwnAgentFixture().with_runtime(Runtime.HTTP)


async def test_a_service_answers_at_once(agents: OwnAgentFixture) -> None:
    agents.service.behaviours = [AT_ONCE]
    assert await agents.say("Hello.") == "At once."
    ((turn, token),) = agents.service.sent
    assert isinstance(turn.payload, dict)
    assert (turn.payload["words"], turn.attempts) == ("Hello.", 1)
    assert await agents.drawn() == [{"draw": "line"}]
    with pytest.raises(Conflict):
        await agents.with_token("answer_agent_turn", token, turn_id=turn.id, messages=["Again."])


async def test_a_service_answers_later_by_the_callback(agents: OwnAgentFixture) -> None:
    agents.service.behaviours = [LATER]
    async with agents.said() as answer:
        for _ in range(50):
            await asyncio.sleep(0)
        ((turn, token),) = agents.service.sent
        assert not answer.done()
        wish = {"name": "Tea", "prompt": "make tea", "schedule_type": "one-shot", "delay_seconds": 60}
        called = await agents.with_token(
            "call_agent_turn_tool", token, turn_id=turn.id, tool="create_schedule", arguments=wish
        )
        assert called["result"]["name"] == "Tea"
        await agents.with_token("answer_agent_turn", token, turn_id=turn.id, messages=["Later."])
        assert await answer == "Later."


async def test_a_service_calls_tools_before_it_answers_at_once(agents: OwnAgentFixture) -> None:
    async def calls_and_answers(turn: AgentTurn, token: str) -> SentTurn:
        called = await agents.with_token(
            "call_agent_turn_tool", token, turn_id=turn.id, tool="list_schedules", arguments={}
        )
        return SentTurn(TurnAnswer(messages=(f"You have {len(called['result'])}.",)))

    agents.service.behaviours = [calls_and_answers]
    assert await agents.say("How many?") == "You have 0."


async def test_a_service_that_fails_is_told_and_answers_no_more(agents: OwnAgentFixture) -> None:
    agents.service.behaviours = [SentTurn(error="The agent did not answer: answered 500.")]
    with pytest.raises(Unavailable, match="answered 500"):
        await agents.say("Hello.")
    ((turn, token),) = agents.service.sent
    with pytest.raises(Conflict):
        await agents.with_token("answer_agent_turn", token, turn_id=turn.id, messages=["Late."])
    state = await agents.ask("get_agent_turn", turn_id=turn.id)
    assert (state["state"], state["refused_answers"]) == ("offered", 1)


async def test_a_service_that_says_later_and_does_not_answer_fails_when_the_time_is_over(
    agents: OwnAgentFixture,
) -> None:
    agents.service.behaviours = [LATER]
    async with agents.said() as answer:
        await agents.clock.advance(85_000)
        with pytest.raises(Unavailable, match="No answer came within 85 s"):
            await answer


async def test_a_firing_is_sent_again_and_the_newest_token_answers(agents: OwnAgentFixture) -> None:
    await agents.schedule()
    agents.service.behaviours = [SentTurn(error="The agent did not answer: answered 503."), LATER]
    await agents.fire()
    await agents.clock.advance(MINUTE)
    firing = asyncio.create_task(agents.worker.run_once())
    for _ in range(200):
        await asyncio.sleep(0)
    (first, old), (second, new) = agents.service.sent
    assert first.id == second.id
    with pytest.raises(Conflict, match="not yours any more"):
        await agents.with_token("answer_agent_turn", old, turn_id=first.id, messages=["Old."])
    await agents.with_token("answer_agent_turn", new, turn_id=first.id, messages=["New."])
    await firing
    assert await agents.undelivered_texts() == ["New."]


async def test_a_firing_that_was_answered_before_its_worker_died_is_not_sent_again(
    agents: OwnAgentFixture,
) -> None:
    await agents.schedule()
    agents.service.behaviours = [LATER]
    await agents.clock.advance(20 * MINUTE)
    dying = asyncio.create_task(agents.worker.run_once())
    for _ in range(200):
        await asyncio.sleep(0)
    ((turn, token),) = agents.service.sent
    dying.cancel()
    await asyncio.wait([dying])
    await agents.with_token("answer_agent_turn", token, turn_id=turn.id, messages=["Once."])
    await agents.fire_again()
    assert len(agents.service.sent) == 1
    assert await agents.undelivered_texts() == ["Once."]


async def test_an_agent_is_described_as_it_was_set_up(agents: OwnAgentFixture) -> None:
    target = {"url": "https://agent.example/turns", "headers": {"X": "y"}, "signing": ["${secret:k}"]}
    view = await agents.ask("put_agent", agent_id=HELPER, name="Helper", runtime="http", target=target)
    assert (view["runtime"], view["target"]) == ("http", target)
    assert (await agents.ask("get_agent", agent_id=HELPER)) == view
