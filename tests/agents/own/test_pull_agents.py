"""Processes that take turns, answer them or give them back, and die."""

import asyncio
from typing import Any

import pytest
from tests.agents.agent_fixtures import HELPER, MINUTE
from tests.agents.own.own_agent_fixture import OwnAgentFixture

from cadenza.domain.agents.users import Runtime
from cadenza.domain.errors import Conflict, InvalidRequest, NotAllowed, NotFound, Unavailable
from cadenza.domain.scheduling.run import RunStatus


@pytest.fixture
async def agents() -> OwnAgentFixture:
    return await OwnAgentFixture().with_runtime(Runtime.PULL)


async def test_a_message_is_answered_by_the_process_that_takes_its_turn(agents: OwnAgentFixture) -> None:
    async with agents.said("What is up?") as answer:
        taken = await agents.take()
        turn = taken["turn"]
        assert (turn["text"], turn["words"], turn["origin"]["kind"]) == ("What is up?", "What is up?", "user")
        assert (turn["user"], turn["agent"]["id"]) == ({"id": "ada", "timezone": "Europe/Berlin"}, HELPER)
        assert "create_schedule" in {tool["name"] for tool in turn["tools"]}
        assert await agents.take() is None
        state = await agents.do("answer_agent_turn", taken, messages=["Not much.", "And you?"], tokens=40)
        assert (state["state"], state["attempts"], state["refused_answers"]) == ("answered", 1, 0)
        assert await answer == "Not much.\nAnd you?"
    asked, answered = await agents.messages()
    assert (asked.text, answered.text) == ("What is up?", "Not much.\nAnd you?")
    async with agents.said("Again?"):
        history = (await agents.take())["turn"]["history"]
    assert [one["text"] for one in history] == ["What is up?", "Not much.\nAnd you?"]


async def test_its_tools_act_on_behalf_of_the_user_and_are_recorded(agents: OwnAgentFixture) -> None:
    async with agents.said() as answer:
        taken = await agents.take()
        wish = {"name": "Tea", "prompt": "make tea", "schedule_type": "one-shot", "delay_seconds": 60}
        made = await agents.call(taken, "create_schedule", **wish)
        assert (made["result"]["name"], made["refused"]) == ("Tea", None)
        refused = await agents.call(taken, "set_limits", max_schedules=5)
        assert (refused["result"], "not found in this turn" in refused["refused"]) == (None, True)
        others = await agents.call(taken, "create_schedule", **wish, user_id="ben")
        assert others["refused"]
        await agents.call(taken, "send_canvas_command", command={"draw": "line"})
        await agents.do("answer_agent_turn", taken, messages=["Done."])
        await answer
    assert [one["user_id"] for one in await agents.schedules()] == ["ada"]
    assert await agents.drawn() == [{"draw": "line"}]
    parts: Any = (await agents.messages())[-1].parts
    assert [(one["tool"], "refused" in one) for one in parts["calls"]] == [
        ("create_schedule", False),
        ("set_limits", True),
        ("create_schedule", True),
        ("send_canvas_command", False),
    ]


async def test_a_call_that_is_sent_again_is_carried_out_once(agents: OwnAgentFixture) -> None:
    async with agents.said() as answer:
        taken = await agents.take()
        call = {"tool": "send_canvas_command", "arguments": {"command": {"n": 1}}, "call_id": "one"}
        for _ in range(2):
            assert (await agents.do("call_agent_turn_tool", taken, **call))["result"] == {"sent": True}
        await agents.do("answer_agent_turn", taken, messages=["Drawn."], calls=[_canvas(2)])
        await answer
    assert await agents.drawn() == [{"n": 1}, {"n": 2}]


async def test_an_answer_counts_once_and_others_are_counted(agents: OwnAgentFixture) -> None:
    async with agents.said() as answer:
        taken = await agents.take()
        await agents.do("answer_agent_turn", taken, messages=["One."])
        assert await answer == "One."
        for number in (1, 2):
            with pytest.raises(Conflict, match="an answer counts once"):
                await agents.do("answer_agent_turn", taken, messages=["Two."])
            assert (await agents.ask("get_agent_turn", turn_id=taken["id"]))["refused_answers"] == number
    assert (await agents.messages())[-1].text == "One."


async def test_a_lease_that_ran_out_lets_another_process_take_the_turn(agents: OwnAgentFixture) -> None:
    async with agents.said() as answer:
        lost = await agents.take(lease_seconds=10)
        await agents.call(lost, "send_canvas_command", command={"n": "lost"})
        await agents.clock.advance(10_000)
        taken = await agents.take()
        assert (taken["id"], taken["attempt"]) == (lost["id"], 2)
        for operation in ("answer_agent_turn", "renew_agent_turn", "give_back_agent_turn"):
            with pytest.raises(Conflict, match="not yours any more"):
                await agents.do(operation, lost)
        await agents.do("answer_agent_turn", taken, messages=["Mine."], calls=[_canvas("mine")])
        assert await answer == "Mine."
    assert await agents.drawn() == [{"n": "mine"}], "what the lost process drew is not part of the answer"


async def test_a_lease_that_is_renewed_keeps_others_away(agents: OwnAgentFixture) -> None:
    async with agents.said() as answer:
        taken = await agents.take(lease_seconds=10)
        for _ in range(3):
            await agents.clock.advance(8_000)
            await agents.do("renew_agent_turn", taken, lease_seconds=10)
            assert await agents.take() is None
        await agents.do("answer_agent_turn", taken, messages=["At last."])
        assert await answer == "At last."


async def test_a_turn_that_is_given_back_is_taken_at_once(agents: OwnAgentFixture) -> None:
    async with agents.said() as answer:
        first = await agents.take()
        assert (await agents.do("give_back_agent_turn", first))["state"] == "offered"
        second = await agents.take()
        await agents.do("answer_agent_turn", second, messages=["Here."])
        assert await answer == "Here."


async def test_who_waits_for_a_turn_gets_it_as_soon_as_it_is_there(agents: OwnAgentFixture) -> None:
    waiting = asyncio.create_task(agents.take(wait_seconds=30))
    async with asyncio.timeout(20), agents.said() as answer:
        await agents.do("answer_agent_turn", await waiting, messages=["Quick."])
        assert await answer == "Quick."


async def test_without_an_answer_in_time_the_message_fails_and_a_late_answer_is_refused(
    agents: OwnAgentFixture,
) -> None:
    async with agents.said() as answer:
        taken = await agents.take(lease_seconds=600)
        await agents.clock.advance(85_000)
        with pytest.raises(Unavailable, match="No answer came within 85 s"):
            await answer
    with pytest.raises(Conflict):
        await agents.do("answer_agent_turn", taken, messages=["Late."])
    assert (await agents.ask("get_agent_turn", turn_id=taken["id"]))["refused_answers"] == 1
    assert await agents.messages() == []


async def test_an_answer_that_came_while_nobody_waited_is_delivered_by_the_next_attempt(
    agents: OwnAgentFixture,
) -> None:
    """As when a worker died: another attempt at the same firing finds the answer."""
    made = await agents.schedule()
    await agents.clock.advance(20 * MINUTE)
    dying = asyncio.create_task(agents.worker.run_once())
    taken = await agents.take()
    assert taken["turn"]["origin"]["kind"] == "schedule"
    await agents.call(taken, "send_canvas_command", command={"n": 1})
    dying.cancel()
    await asyncio.wait([dying])
    await agents.do("answer_agent_turn", taken, messages=["Take it out!"])
    await agents.fire_again()
    assert [run.status for run in await agents.runs(made["id"])][-1] is RunStatus.SUCCESS
    assert await agents.drawn() == [{"n": 1}]
    assert await agents.undelivered_texts() == ["Take it out!"]


async def test_a_firing_that_nobody_answers_fails_and_its_user_is_told_once(agents: OwnAgentFixture) -> None:
    made = await agents.schedule()
    await agents.clock.advance(20 * MINUTE)
    for _ in range(3):
        firing = asyncio.create_task(agents.worker.run_once())
        await agents.take()
        await agents.clock.advance(2 * MINUTE)
        await firing
    runs = await agents.runs(made["id"])
    assert {run.error for run in runs} == {"No answer came within 85 s."}
    assert len(await agents.undelivered_texts()) == 1


async def test_only_turns_of_pull_agents_are_taken_and_only_with_the_token(agents: OwnAgentFixture) -> None:
    async with agents.said():
        taken = await agents.take()
        with pytest.raises(InvalidRequest, match="turn_token"):
            await agents.ask("answer_agent_turn", turn_id=taken["id"])
        with pytest.raises(Conflict, match="not yours"):
            await agents.do("answer_agent_turn", taken | {"token": "turn_x_y"})
        with pytest.raises(NotFound):
            await agents.ask("get_agent_turn", turn_id="other")
    await agents.ask("put_agent", agent_id=HELPER, name="Helper")
    with pytest.raises(Conflict, match="no pull agent"):
        await agents.take()


async def test_the_token_of_a_turn_answers_that_turn_and_does_nothing_else(agents: OwnAgentFixture) -> None:
    async with agents.said() as answer:
        taken = await agents.take()
        token = taken["token"]
        refused: dict[str, dict[str, str]] = {
            "list_schedules": {},
            "take_agent_turn": {"agent_id": HELPER},
            "send_message": {"agent_id": HELPER, "text": "x"},
        }
        for operation, words in refused.items():
            with pytest.raises(NotAllowed, match="token of a turn"):
                await agents.with_token(operation, token, **words)
        with pytest.raises(NotFound):
            await agents.with_token("get_agent_turn", token, turn_id="other")
        await agents.with_token("answer_agent_turn", token, turn_id=taken["id"], messages=["Yes."])
        assert await answer == "Yes."
        with pytest.raises(Conflict):
            await agents.with_token("answer_agent_turn", token, turn_id=taken["id"], messages=["No."])
    assert await agents.application.authenticate("turn_x_y") is None
    assert await agents.application.authenticate(f"turn_{taken['id']}_y") is None


def _canvas(number: int | str) -> dict[str, Any]:
    return {"tool": "send_canvas_command", "arguments": {"command": {"n": number}}}
