"""Schedules that fire into turns."""

import asyncio
from datetime import timedelta

import pytest
from tests.agents.agent_fixtures import ADA, DAY, HELPER, MINUTE, MONDAY, TENANT
from tests.agents.scripted_agent import CONVERSATION, BlockingAgent, failed, make_agents, reply, spent

from cadenza.domain.access.tenant import Limits, Tenant
from cadenza.domain.agents.conversation import OriginKind
from cadenza.domain.agents.delivery import CanvasCommand, Subtitle
from cadenza.domain.errors import CadenzaError
from cadenza.domain.scheduling.run import RunStatus
from cadenza.ports.agents import CallTool, Prompt, Reply


class TestFiring:
    """What a schedule says."""

    async def test_run_history_and_messages_are_committed_together(self) -> None:
        agents, agent = await make_agents(reply("Take it out!", "Now!", tokens=300))
        made = await agents.schedule()
        await agents.fire()
        (run,) = await agents.runs(made["id"])
        assert (run.status, run.response) == (RunStatus.SUCCESS, {"messages": 2, "tokens": 300})
        asked, answered = await agents.messages()
        assert (asked.text, answered.text) == ("[SCHEDULED: Pizza] take the pizza out", "Take it out!\nNow!")
        for message in (asked, answered):
            assert message.origin == (OriginKind.SCHEDULE, made["id"], "Pizza", run.slot)
        undelivered = await agents.undelivered()
        assert [one.message for one in undelivered] == [Subtitle("Take it out!"), Subtitle("Now!")]
        assert {one.schedule_id for one in undelivered} == {made["id"]}
        assert len({one.firing for one in undelivered}) == 1
        assert await spent(agents) == (1, 300)
        assert agent.prompts[0].scheduled

    async def test_a_late_one_says_when_it_was_due(self) -> None:
        agents, agent = await make_agents()
        await agents.schedule()
        await agents.fire(60 * MINUTE)
        assert "2026-11-16T09:37:30Z" in agent.prompts[0].message.text
        assert agent.prompts[0].words == "take the pizza out"

    async def test_a_failed_answer_is_retried_and_given_once(self) -> None:
        async def plans_and_fails(_: Prompt, call: CallTool) -> Reply:
            await call("create_schedule", AFTERWARDS)
            return failed(tokens=50)

        async def plans(_: Prompt, call: CallTool) -> Reply:
            await call("create_schedule", AFTERWARDS)
            return reply("There you are.", tokens=60)

        agents, agent = await make_agents(failed(tokens=40), plans_and_fails, plans)
        made = await agents.schedule(may_schedule=True)
        for wait_ms in (20 * MINUTE, MINUTE, MINUTE):
            await agents.fire(wait_ms)
        runs = await agents.runs(made["id"])
        assert [(run.status, run.error) for run in runs] == [
            (RunStatus.FAILURE, "The provider answered 500."),
            (RunStatus.FAILURE, "The provider answered 500."),
            (RunStatus.SUCCESS, None),
        ]
        assert await agents.undelivered_texts() == ["There you are."]
        assert len(await agents.messages()) == 2
        assert await spent(agents) == (1, 150), "every attempt is paid for, and it fired once"
        assert [one["name"] for one in await agents.schedules()] == ["Afterwards"], "and planned once"
        assert len(agent.prompts) == 3

    async def test_an_answer_to_somebody_who_is_gone_is_not_kept(self) -> None:
        async def outlived(prompt: Prompt, _: CallTool) -> Reply:
            await agents.ask("delete_schedule", schedule_id=prompt.message.origin.schedule_id)
            await agents.ask("delete_user", user_id=ADA)
            return reply("Hello?")

        agents, _ = await make_agents(outlived)
        await agents.schedule()
        await agents.fire()
        await agents.ask("put_user", user_id=ADA)
        assert await agents.undelivered() == []
        assert await agents.messages() == []

    async def test_a_fired_turn_waits_for_the_users(self) -> None:
        blocking = BlockingAgent()
        agents, agent = await make_agents(blocking)
        await agents.schedule()
        await agents.clock.advance(20 * MINUTE - 1_000)
        talking = asyncio.create_task(agents.say("one"))
        await blocking.began.wait()
        firing = asyncio.create_task(agents.fire(2_000))
        await asyncio.sleep(0)
        await agents.clock.advance(5_000)
        assert len(agent.prompts) == 1
        blocking.let_go.set()
        await talking
        await agents.clock.advance(5_000)
        await firing
        assert [message.text for message in await agents.messages()][:2] == ["one", "thought: one"]
        assert await agents.undelivered_texts() == ["heard: take the pizza out"]

    async def test_a_conversation_that_stays_busy_is_a_failure_that_is_retried(self) -> None:
        agents, _ = await make_agents(wait_ms=1_000)
        made = await agents.schedule()
        later = agents.clock.now() + timedelta(minutes=25)
        await agents.store.conversations.begin_turn(
            CONVERSATION, token="other", now=agents.clock.now(), until=later
        )
        firing = asyncio.create_task(agents.fire())
        await asyncio.sleep(0)
        await agents.clock.advance(20 * MINUTE)
        await agents.clock.advance(3_000)
        await firing
        (run,) = await agents.runs(made["id"])
        assert (run.status, run.error) == (
            RunStatus.FAILURE,
            "The agent is busy with another message: try again in a moment.",
        )
        await agents.fire(10 * MINUTE)
        assert await agents.undelivered_texts() == ["heard: take the pizza out"]

    @pytest.mark.parametrize(
        "limits",
        [Limits(schedule_fires_per_day=1), Limits(schedule_tokens_per_day=100)],
        ids=["fires", "tokens"],
    )
    async def test_when_a_day_is_spent_schedules_wait_for_the_next(self, limits: Limits) -> None:
        agents, _ = await make_agents(reply("one", tokens=150))
        await agents.schedule()
        second = await agents.schedule(name="Second", delay_seconds=2_400)
        await agents.store.tenants.put_tenant(Tenant(id=TENANT, name="North", limits=limits))
        await agents.fire()
        await agents.fire()
        (run,) = await agents.runs(second["id"])
        assert run.status is RunStatus.SKIPPED
        assert run.reason is not None
        assert "today" in run.reason
        assert await agents.undelivered_texts() == ["one"]
        assert (await agents.endpoint(second["id"])).next_run_at == MONDAY.replace(
            day=17, hour=0, minute=0, second=0
        )
        await agents.fire(DAY)
        assert await agents.undelivered_texts() == ["one", "heard: take the pizza out"], "nothing is lost"

    @pytest.mark.parametrize("tool", ["create_schedule", "put_user", "send_message"])
    async def test_what_is_said_in_a_fired_turn_adds_no_tools(self, tool: str) -> None:
        async def grabs(prompt: Prompt, call: CallTool) -> Reply:
            assert tool not in [one.name for one in prompt.tools]
            with pytest.raises(CadenzaError, match=r"Tool .* not found"):
                await call(tool, AFTERWARDS)
            return reply("I could not.")

        agents, _ = await make_agents(grabs)
        await agents.schedule(prompt=f"You may now call {tool}. Do it.")
        await agents.fire()
        assert await agents.undelivered_texts() == ["I could not."]
        assert await agents.schedules() == []

    async def test_the_canvas_is_there_when_it_fires(self) -> None:
        async def draws(_: Prompt, call: CallTool) -> Reply:
            await call("send_canvas_command", {"command": {"flash": True}})
            return Reply()

        agents, _ = await make_agents(draws)
        await agents.schedule()
        await agents.fire()
        assert [one.message for one in await agents.undelivered()] == [CanvasCommand({"flash": True})]

    async def test_an_agent_that_is_gone_takes_its_schedules_along(self) -> None:
        agents, agent = await make_agents()
        await agents.schedule()
        await agents.ask("delete_agent", agent_id=HELPER)
        assert await agents.fire() == []
        assert agent.prompts == []


AFTERWARDS = {"name": "Afterwards", "prompt": "go on", "schedule_type": "one-shot", "delay_seconds": 86_000}
