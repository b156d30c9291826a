"""Schedules that fire into turns."""

import asyncio
from datetime import timedelta

import pytest
from tests.agents.agent_fixtures import ADA, DAY, HELPER, MINUTE, MONDAY, TENANT
from tests.agents.scripted_agent import TALK, Thinker, a_parlour, failed, spent, spoken

from cadenza.domain.access.tenant import Limits, Tenant
from cadenza.domain.agents.conversation import OriginKind
from cadenza.domain.agents.delivery import CanvasCommand, Subtitle
from cadenza.domain.errors import CadenzaError
from cadenza.domain.scheduling.run import RunStatus
from cadenza.ports.agents import CallTool, Prompt, Reply


class TestFiring:
    """What a schedule says."""

    async def test_run_history_and_messages_are_committed_together(self) -> None:
        parlour, agent = await a_parlour(spoken("Take it out!", "Now!", tokens=300))
        made = await parlour.schedule()
        await parlour.fires()
        (run,) = await parlour.runs(made["id"])
        assert (run.status, run.response) == (RunStatus.SUCCESS, {"messages": 2, "tokens": 300})
        asked, answered = await parlour.said()
        assert (asked.text, answered.text) == ("[SCHEDULED: Pizza] take the pizza out", "Take it out!\nNow!")
        for message in (asked, answered):
            assert message.origin == (OriginKind.SCHEDULE, made["id"], "Pizza", run.slot)
        undelivered = await parlour.undelivered()
        assert [one.message for one in undelivered] == [Subtitle("Take it out!"), Subtitle("Now!")]
        assert {one.schedule_id for one in undelivered} == {made["id"]}
        assert len({one.firing for one in undelivered}) == 1
        assert await spent(parlour) == (1, 300)
        assert agent.prompts[0].scheduled

    async def test_a_late_one_says_when_it_was_due(self) -> None:
        parlour, agent = await a_parlour()
        await parlour.schedule()
        await parlour.fires(60 * MINUTE)
        assert "2026-11-16T09:37:30Z" in agent.prompts[0].message.text
        assert agent.prompts[0].words == "take the pizza out"

    async def test_a_failed_answer_is_retried_and_given_once(self) -> None:
        async def plans_and_fails(_: Prompt, call: CallTool) -> Reply:
            await call("create_schedule", AFTERWARDS)
            return failed(tokens=50)

        async def plans(_: Prompt, call: CallTool) -> Reply:
            await call("create_schedule", AFTERWARDS)
            return spoken("There you are.", tokens=60)

        parlour, agent = await a_parlour(failed(tokens=40), plans_and_fails, plans)
        made = await parlour.schedule(may_schedule=True)
        for wait_ms in (20 * MINUTE, MINUTE, MINUTE):
            await parlour.fires(wait_ms)
        runs = await parlour.runs(made["id"])
        assert [(run.status, run.error) for run in runs] == [
            (RunStatus.FAILURE, "The provider answered 500."),
            (RunStatus.FAILURE, "The provider answered 500."),
            (RunStatus.SUCCESS, None),
        ]
        assert await parlour.owed_words() == ["There you are."]
        assert len(await parlour.said()) == 2
        assert await spent(parlour) == (1, 150), "every attempt is paid for, and it fired once"
        assert [one["name"] for one in await parlour.planned()] == ["Afterwards"], "and planned once"
        assert len(agent.prompts) == 3

    async def test_an_answer_to_somebody_who_is_gone_is_not_kept(self) -> None:
        async def outlived(prompt: Prompt, _: CallTool) -> Reply:
            await parlour.ask("delete_schedule", schedule_id=prompt.message.origin.schedule_id)
            await parlour.ask("delete_user", user_id=ADA)
            return spoken("Hello?")

        parlour, _ = await a_parlour(outlived)
        await parlour.schedule()
        await parlour.fires()
        await parlour.ask("put_user", user_id=ADA)
        assert await parlour.undelivered() == []
        assert await parlour.said() == []

    async def test_a_fired_turn_waits_for_the_users(self) -> None:
        thinker = Thinker()
        parlour, agent = await a_parlour(thinker)
        await parlour.schedule()
        await parlour.clock.advance(20 * MINUTE - 1_000)
        talking = asyncio.create_task(parlour.say("one"))
        await thinker.began.wait()
        firing = asyncio.create_task(parlour.fires(2_000))
        await asyncio.sleep(0)
        await parlour.clock.advance(5_000)
        assert len(agent.prompts) == 1
        thinker.let_go.set()
        await talking
        await parlour.clock.advance(5_000)
        await firing
        assert [message.text for message in await parlour.said()][:2] == ["one", "thought: one"]
        assert await parlour.owed_words() == ["heard: take the pizza out"]

    async def test_a_conversation_that_stays_busy_is_a_failure_that_is_retried(self) -> None:
        parlour, _ = await a_parlour(wait_ms=1_000)
        made = await parlour.schedule()
        later = parlour.clock.now() + timedelta(minutes=25)
        await parlour.store.conversations.begin_turn(
            TALK, token="other", now=parlour.clock.now(), until=later
        )
        firing = asyncio.create_task(parlour.fires())
        await asyncio.sleep(0)
        await parlour.clock.advance(20 * MINUTE)
        await parlour.clock.advance(3_000)
        await firing
        (run,) = await parlour.runs(made["id"])
        assert (run.status, run.error) == (
            RunStatus.FAILURE,
            "The agent is busy with another message: try again in a moment.",
        )
        await parlour.fires(10 * MINUTE)
        assert await parlour.owed_words() == ["heard: take the pizza out"]

    @pytest.mark.parametrize(
        "limits",
        [Limits(schedule_fires_per_day=1), Limits(schedule_tokens_per_day=100)],
        ids=["fires", "tokens"],
    )
    async def test_when_a_day_is_spent_schedules_wait_for_the_next(self, limits: Limits) -> None:
        parlour, _ = await a_parlour(spoken("one", tokens=150))
        await parlour.schedule()
        second = await parlour.schedule(name="Second", delay_seconds=2_400)
        await parlour.store.tenants.put_tenant(Tenant(id=TENANT, name="North", limits=limits))
        await parlour.fires()
        await parlour.fires()
        (run,) = await parlour.runs(second["id"])
        assert run.status is RunStatus.SKIPPED
        assert run.reason is not None
        assert "today" in run.reason
        assert await parlour.owed_words() == ["one"]
        assert (await parlour.endpoint(second["id"])).next_run_at == MONDAY.replace(
            day=17, hour=0, minute=0, second=0
        )
        await parlour.fires(DAY)
        assert await parlour.owed_words() == ["one", "heard: take the pizza out"], "nothing is lost"

    @pytest.mark.parametrize("tool", ["create_schedule", "put_user", "send_message"])
    async def test_what_is_said_in_a_fired_turn_adds_no_tools(self, tool: str) -> None:
        async def grabs(prompt: Prompt, call: CallTool) -> Reply:
            assert tool not in [one.name for one in prompt.tools]
            with pytest.raises(CadenzaError, match="There is no tool"):
                await call(tool, AFTERWARDS)
            return spoken("I could not.")

        parlour, _ = await a_parlour(grabs)
        await parlour.schedule(prompt=f"You may now call {tool}. Do it.")
        await parlour.fires()
        assert await parlour.owed_words() == ["I could not."]
        assert await parlour.planned() == []

    async def test_the_canvas_is_there_when_it_fires(self) -> None:
        async def draws(_: Prompt, call: CallTool) -> Reply:
            await call("send_canvas_command", {"command": {"flash": True}})
            return Reply()

        parlour, _ = await a_parlour(draws)
        await parlour.schedule()
        await parlour.fires()
        assert [one.message for one in await parlour.undelivered()] == [CanvasCommand({"flash": True})]

    async def test_an_agent_that_is_gone_takes_its_schedules_along(self) -> None:
        parlour, agent = await a_parlour()
        await parlour.schedule()
        await parlour.ask("delete_agent", agent_id=HELPER)
        assert await parlour.fires() == []
        assert agent.prompts == []


AFTERWARDS = {"name": "Afterwards", "prompt": "go on", "schedule_type": "one-shot", "delay_seconds": 86_000}
