"""Turns: one at a time, committed whole or not at all."""

import asyncio
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from tests.agents.agent_fixtures import ADA, BEN, DAY, HELPER, MINUTE, TENANT, AgentFixture
from tests.agents.scripted_agent import CONVERSATION, BlockingAgent, failed, make_agents, reply, spent

from cadenza.domain.access.key import Caller, Scope
from cadenza.domain.access.tenant import Limits, Tenant
from cadenza.domain.agents.delivery import Subtitle
from cadenza.domain.agents.users import UserKey
from cadenza.domain.errors import Conflict, InvalidRequest, NotAllowed, NotFound, Unavailable
from cadenza.operations.agents.socket_users import SocketUser, SocketUsers
from cadenza.ports.agents import CallTool, Prompt, Reply


async def gone(_: object) -> Any:
    raise SystemExit


async def say_with_key(agents: AgentFixture, key: str, text: str) -> int | None:
    """Say something over a socket, with an idempotency key; the number of the answer."""
    caller = Caller(TENANT, frozenset({Scope.WRITE}), "test")
    socket_user = SocketUser(caller, UserKey(TENANT, ADA), "key", None)
    users = SocketUsers(agents.application)
    return await users.say(socket_user, agent_id=HELPER, text=text, idempotency_key=key)


class TestTurns:
    """What a user says."""

    async def test_the_second_turn_begins_when_the_first_is_committed(self) -> None:
        blocking = BlockingAgent()
        agents, agent = await make_agents(blocking)
        first = asyncio.create_task(agents.say("one"))
        await blocking.began.wait()
        second = asyncio.create_task(agents.say("two"))
        await agents.clock.advance(5_000)
        assert len(agent.prompts) == 1, "nobody else speaks meanwhile"
        blocking.let_go.set()
        assert await first == "thought: one"
        await agents.clock.advance(1_000)
        assert await second == "heard: two"
        assert [message.text for message in agent.prompts[1].history] == ["one", "thought: one"]

    async def test_other_conversations_go_on_meanwhile(self) -> None:
        blocking = BlockingAgent()
        agents, _ = await make_agents(blocking)
        first = asyncio.create_task(agents.say("one"))
        await blocking.began.wait()
        assert await agents.say("two", user=BEN) == "heard: two"
        blocking.let_go.set()
        await first

    async def test_patience_ends_with_a_sentence(self) -> None:
        blocking = BlockingAgent()
        agents, _ = await make_agents(blocking, wait_ms=10_000)
        first = asyncio.create_task(agents.say("one"))
        await blocking.began.wait()
        second = asyncio.create_task(agents.say("two"))
        await agents.clock.advance(11_000)
        with pytest.raises(Conflict, match="The agent is busy with another message: try again"):
            await second
        blocking.let_go.set()
        await first

    async def test_a_turn_whose_process_died_is_taken_over(self) -> None:
        agents, _ = await make_agents(lease_ms=60_000, wait_ms=120_000)
        now = agents.clock.now()
        assert await agents.store.conversations.begin_turn(
            CONVERSATION, token="dead", now=now, until=now + timedelta(minutes=1)
        )
        waiting = asyncio.create_task(agents.say("hello"))
        await agents.clock.advance(59_000)
        assert not waiting.done()
        await agents.clock.advance(2_000)
        assert await waiting == "heard: hello"

    async def test_who_thinks_longer_than_a_lease_keeps_the_turn(self) -> None:
        blocking = BlockingAgent()
        agents, _ = await make_agents(blocking, lease_ms=60_000, wait_ms=1_000)
        first = asyncio.create_task(agents.say("one"))
        await blocking.began.wait()
        await agents.clock.advance(10 * MINUTE)
        second = asyncio.create_task(agents.say("two"))
        await agents.clock.advance(2_000)
        with pytest.raises(Conflict):
            await second
        blocking.let_go.set()
        assert await first == "thought: one"

    async def test_an_agent_that_fails_says_nothing_and_is_paid(self) -> None:
        agents, agent = await make_agents(failed(tokens=700))
        with pytest.raises(Unavailable, match="The agent could not answer: The provider answered 500"):
            await agents.say("one")
        assert await agents.messages() == []
        assert await agents.undelivered() == []
        assert await spent(agents) == (0, 700)
        assert await agents.say("two") == "heard: two", "the turn is free again"
        assert agent.prompts[1].history == []

    async def test_what_has_a_key_is_answered_once_and_only_once_it_is_answered(self) -> None:
        agents, agent = await make_agents(failed(), reply("now"))
        say = partial(say_with_key, agents, "k")
        with pytest.raises(Unavailable):
            await say("one")
        assert await say("one") == 1
        assert await say("one") == 1, "told again"
        assert [one.message for one in await agents.undelivered()] == [Subtitle("now")]
        with pytest.raises(InvalidRequest, match="This idempotency_key was used for another request"):
            await say("two")
        assert len(agent.prompts) == 2
        assert [message.text for message in await agents.messages()] == ["one", "now"]
        assert await agents.say("three") == "heard: three", "the turn is free again"

    async def test_what_was_answered_long_ago_in_the_conversation_is_still_known(self) -> None:
        agents, agent = await make_agents()
        assert await say_with_key(agents, "k", "one") == 1
        for number in range(250):
            await agents.say(str(number))
        await agents.clock.advance(1_000)
        await agents.store.conversations.reset_context(UserKey(TENANT, ADA), agents.clock.now())
        assert await say_with_key(agents, "k", "one") == 1
        assert len(agent.prompts) == 251

    async def test_a_key_that_is_forgotten_after_a_day_makes_another_turn(self) -> None:
        agents, _ = await make_agents()
        await say_with_key(agents, "k", "one")
        await agents.clock.advance(DAY + MINUTE)
        await agents.store.idempotency.forget_replies(agents.clock.now() - timedelta(days=1))
        assert await say_with_key(agents, "k", "one") == 2
        assert len({one.id for one in await agents.undelivered()}) == 2

    async def test_what_a_turn_has_made_before_a_crash_is_not_made_again(self) -> None:
        async def plans(_: Prompt, call: CallTool) -> Reply:
            wanted = {"name": "Pizza", "prompt": "out", "schedule_type": "one-shot", "delay_seconds": 60}
            await call("create_schedule", wanted)
            return Reply((Subtitle("planned"),))

        agents, agent = await make_agents(plans, plans, lease_ms=1_000)
        commit, agents.store.conversations.commit_turn = agents.store.conversations.commit_turn, gone  # type: ignore[method-assign,assignment]
        with pytest.raises(SystemExit):
            await say_with_key(agents, "k", "one")
        agents.store.conversations.commit_turn = commit  # type: ignore[method-assign]
        assert await say_with_key(agents, "k", "one") == 1
        assert len(agent.prompts) == 2
        assert len(await agents.schedules()) == 1

    async def test_a_bug_gives_the_turn_back(self) -> None:
        async def broken(prompt: Prompt, _: CallTool) -> Reply:
            raise ZeroDivisionError(prompt.words)

        agents, _ = await make_agents(broken)
        with pytest.raises(ZeroDivisionError):
            await agents.say("one")
        assert await agents.say("two") == "heard: two"

    async def test_who_is_cancelled_gives_the_turn_back(self) -> None:
        blocking = BlockingAgent()
        agents, _ = await make_agents(blocking)
        first = asyncio.create_task(agents.say("one"))
        await blocking.began.wait()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert await agents.say("two") == "heard: two"
        assert [message.text for message in await agents.messages()] == ["two", "heard: two"]

    async def test_a_user_who_is_deleted_meanwhile_gets_nothing(self) -> None:
        blocking = BlockingAgent()
        agents, _ = await make_agents(blocking)
        first = asyncio.create_task(agents.say("one"))
        await blocking.began.wait()
        await agents.ask("delete_user", user_id=ADA)
        blocking.let_go.set()
        with pytest.raises(Conflict):
            await first
        with pytest.raises(NotFound, match="User ada not found"):
            await agents.say("two")

    async def test_a_canvas_command_comes_before_the_words(self) -> None:
        async def draws(_: Prompt, call: CallTool) -> Reply:
            assert await call("send_canvas_command", {"command": {"show": "map"}}) == {"sent": True}
            return reply("Here it is.")

        agents, _ = await make_agents(draws)
        answer = await agents.ask("send_message", agent_id=HELPER, user_id=ADA, text="where?")
        assert [(one["type"], one.get("command"), one.get("text")) for one in answer["messages"]] == [
            ("canvas_command", {"show": "map"}, None),
            ("subtitle", None, "Here it is."),
        ]
        assert [one["seq"] for one in answer["messages"]] == [1, 2]
        assert await agents.undelivered() == [], "it was handed over with the response"

    @pytest.mark.parametrize(
        "arguments",
        [{}, {"command": "x"}, {"command": {}, "to": "ben"}, {"command": {"x": "y" * 40_000}}],
        ids=["none", "text", "more", "long"],
    )
    async def test_a_canvas_command_that_makes_no_sense_is_refused(self, arguments: dict[str, Any]) -> None:
        async def draws(_: Prompt, call: CallTool) -> Reply:
            with pytest.raises(InvalidRequest):
                await call("send_canvas_command", arguments)
            return reply("Sorry.")

        agents, _ = await make_agents(draws)
        assert await agents.say("draw") == "Sorry."

    async def test_what_tools_were_called_is_remembered(self) -> None:
        async def plans(_: Prompt, call: CallTool) -> Reply:
            await call("list_schedules", {})
            with pytest.raises(NotFound):
                await call("delete_schedule", {"schedule_id": "sched-none"})
            return reply("Done.")

        agents, _ = await make_agents(plans)
        await agents.say("go")
        assert (await agents.messages())[-1].parts == {
            "calls": [
                {"tool": "list_schedules"},
                {"tool": "delete_schedule", "refused": "Schedule sched-none not found."},
            ]
        }

    async def test_a_day_has_so_many_tokens(self) -> None:
        agents, agent = await make_agents(reply("one", tokens=900), reply("two", tokens=200))
        limits = Limits(schedule_tokens_per_day=1_000)
        await agents.store.tenants.put_tenant(Tenant(id=TENANT, name="North", limits=limits))
        await agents.say("one")
        await agents.say("two")
        assert [prompt.most_tokens for prompt in agent.prompts] == [1_000, 100]
        with pytest.raises(NotAllowed, match="have spent 1,100 tokens today, and may not spend more"):
            await agents.say("three")
        await agents.clock.advance(DAY)
        assert await agents.say("four") == "heard: four"
