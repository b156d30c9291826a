"""Turns: one at a time, committed whole or not at all; and schedules that fire into them."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from tests.agents.parlour import ADA, BEN, DAY, HELPER, MINUTE, MONDAY, TENANT, Parlour

from cadenza.domain.analysis import Tokens
from cadenza.domain.conversation import ConversationKey, OriginKind
from cadenza.domain.delivery import CanvasCommand, Subtitle
from cadenza.domain.errors import CadenzaError, Conflict, InvalidRequest, NotAllowed, NotFound, Unavailable
from cadenza.domain.people import UserKey
from cadenza.domain.run import RunStatus
from cadenza.domain.tenant import Limits, Tenant
from cadenza.engine.turn_taking import TurnSettings
from cadenza.ports.agents import CallTool, Prompt, Reply

TALK = ConversationKey(TENANT, ADA, HELPER)
Behaviour = Callable[[Prompt, CallTool], Awaitable[Reply]]


class Scripted:
    """An agent that does what a test says, and remembers what it was told."""

    def __init__(self, *behaviours: Behaviour | Reply) -> None:
        self._behaviours = list(behaviours)
        self.prompts: list[Prompt] = []

    async def process_prompt(self, prompt: Prompt, call: CallTool) -> Reply:
        self.prompts.append(prompt)
        behaviour = self._behaviours.pop(0) if self._behaviours else spoken(f"heard: {prompt.words}")
        return behaviour if isinstance(behaviour, Reply) else await behaviour(prompt, call)


def spoken(*texts: str, tokens: int = 0) -> Reply:
    return Reply(tuple(map(Subtitle, texts)), Tokens(tokens, 0))


def failed(error: str = "The provider answered 500.", tokens: int = 0) -> Reply:
    return Reply(error=error, tokens=Tokens(tokens, 0))


async def a_parlour(*behaviours: Behaviour | Reply, **turns: int) -> tuple[Parlour, Scripted]:
    runtime = Scripted(*behaviours)
    return await Parlour(runtime, turns=TurnSettings(**turns)).open(), runtime


class Thinker:
    """Thinks until it is let go."""

    def __init__(self) -> None:
        self.began, self.let_go = asyncio.Event(), asyncio.Event()

    async def __call__(self, prompt: Prompt, _: CallTool) -> Reply:
        self.began.set()
        await self.let_go.wait()
        return spoken(f"thought: {prompt.words}")


async def spent(parlour: Parlour) -> tuple[int, int]:
    return await parlour.store.spent_by_user(UserKey(TENANT, ADA), MONDAY.date())


class TestTurns:
    """What a user says."""

    async def test_the_second_turn_begins_when_the_first_is_committed(self) -> None:
        thinker = Thinker()
        parlour, agent = await a_parlour(thinker)
        first = asyncio.create_task(parlour.say("one"))
        await thinker.began.wait()
        second = asyncio.create_task(parlour.say("two"))
        await parlour.clock.advance(5_000)
        assert len(agent.prompts) == 1, "nobody else speaks meanwhile"
        thinker.let_go.set()
        assert await first == "thought: one"
        await parlour.clock.advance(1_000)
        assert await second == "heard: two"
        assert [message.text for message in agent.prompts[1].history] == ["one", "thought: one"]

    async def test_other_conversations_go_on_meanwhile(self) -> None:
        thinker = Thinker()
        parlour, _ = await a_parlour(thinker)
        first = asyncio.create_task(parlour.say("one"))
        await thinker.began.wait()
        assert await parlour.say("two", user=BEN) == "heard: two"
        thinker.let_go.set()
        await first

    async def test_patience_ends_with_a_sentence(self) -> None:
        thinker = Thinker()
        parlour, _ = await a_parlour(thinker, patience_ms=10_000)
        first = asyncio.create_task(parlour.say("one"))
        await thinker.began.wait()
        second = asyncio.create_task(parlour.say("two"))
        await parlour.clock.advance(11_000)
        with pytest.raises(Conflict, match="The agent is busy with another message: try again"):
            await second
        thinker.let_go.set()
        await first

    async def test_a_turn_whose_process_died_is_taken_over(self) -> None:
        parlour, _ = await a_parlour(lease_ms=60_000, patience_ms=120_000)
        now = parlour.clock.now()
        assert await parlour.store.begin_turn(TALK, token="dead", now=now, until=now + timedelta(minutes=1))
        waiting = asyncio.create_task(parlour.say("hello"))
        await parlour.clock.advance(59_000)
        assert not waiting.done()
        await parlour.clock.advance(2_000)
        assert await waiting == "heard: hello"

    async def test_who_thinks_longer_than_a_lease_keeps_the_turn(self) -> None:
        thinker = Thinker()
        parlour, _ = await a_parlour(thinker, lease_ms=60_000, patience_ms=1_000)
        first = asyncio.create_task(parlour.say("one"))
        await thinker.began.wait()
        await parlour.clock.advance(10 * MINUTE)
        second = asyncio.create_task(parlour.say("two"))
        await parlour.clock.advance(2_000)
        with pytest.raises(Conflict):
            await second
        thinker.let_go.set()
        assert await first == "thought: one"

    async def test_an_agent_that_fails_says_nothing_and_is_paid(self) -> None:
        parlour, agent = await a_parlour(failed(tokens=700))
        with pytest.raises(Unavailable, match="The agent could not answer: The provider answered 500"):
            await parlour.say("one")
        assert await parlour.said() == []
        assert await parlour.owed() == []
        assert await spent(parlour) == (0, 700)
        assert await parlour.say("two") == "heard: two", "the turn is free again"
        assert agent.prompts[1].history == []

    async def test_what_has_a_key_is_answered_once_and_only_once_it_is_answered(self) -> None:
        parlour, agent = await a_parlour(failed(), spoken("now"))
        say = partial(parlour.conversing.converse, TALK, idempotency_key="k")
        with pytest.raises(Unavailable):
            await say("one")
        assert [one.message for one in await say("one")] == [Subtitle("now")]
        assert [one.message for one in await say("one")] == [Subtitle("now")], "told again"
        assert len(await parlour.owed()) == 1
        with pytest.raises(InvalidRequest, match="was used for other words"):
            await say("two")
        assert len(agent.prompts) == 2
        assert [message.text for message in await parlour.said()] == ["one", "now"]
        assert await parlour.say("three") == "heard: three", "the turn is free again"

    async def test_what_a_reset_leaves_out_is_still_known_to_be_answered(self) -> None:
        parlour, _ = await a_parlour()
        first = await parlour.conversing.converse(TALK, "one", idempotency_key="k")
        await parlour.clock.advance(1_000)
        await parlour.store.reset_context(UserKey(TENANT, ADA), parlour.clock.now())
        assert await parlour.conversing.converse(TALK, "one", idempotency_key="k") == first

    async def test_a_bug_gives_the_turn_back(self) -> None:
        async def broken(prompt: Prompt, _: CallTool) -> Reply:
            raise ZeroDivisionError(prompt.words)

        parlour, _ = await a_parlour(broken)
        with pytest.raises(ZeroDivisionError):
            await parlour.say("one")
        assert await parlour.say("two") == "heard: two"

    async def test_who_is_cancelled_gives_the_turn_back(self) -> None:
        thinker = Thinker()
        parlour, _ = await a_parlour(thinker)
        first = asyncio.create_task(parlour.say("one"))
        await thinker.began.wait()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert await parlour.say("two") == "heard: two"
        assert [message.text for message in await parlour.said()] == ["two", "heard: two"]

    async def test_a_user_who_is_deleted_meanwhile_gets_nothing(self) -> None:
        thinker = Thinker()
        parlour, _ = await a_parlour(thinker)
        first = asyncio.create_task(parlour.say("one"))
        await thinker.began.wait()
        await parlour.ask("delete_user", user_id=ADA)
        thinker.let_go.set()
        with pytest.raises(Conflict):
            await first
        with pytest.raises(NotFound, match="There is no user ada"):
            await parlour.say("two")

    async def test_a_canvas_command_comes_before_the_words(self) -> None:
        async def draws(_: Prompt, call: CallTool) -> Reply:
            assert await call("send_canvas_command", {"command": {"show": "map"}}) == {"sent": True}
            return spoken("Here it is.")

        parlour, _ = await a_parlour(draws)
        answer = await parlour.ask("send_message", agent_id=HELPER, user_id=ADA, text="where?")
        assert [(one["type"], one.get("command"), one.get("text")) for one in answer["messages"]] == [
            ("canvas_command", {"show": "map"}, None),
            ("subtitle", None, "Here it is."),
        ]
        assert [one["seq"] for one in answer["messages"]] == [1, 2]
        assert await parlour.owed() == [], "it was handed over with the response"

    @pytest.mark.parametrize(
        "arguments",
        [{}, {"command": "x"}, {"command": {}, "to": "ben"}, {"command": {"x": "y" * 40_000}}],
        ids=["none", "text", "more", "long"],
    )
    async def test_a_canvas_command_that_makes_no_sense_is_refused(self, arguments: dict[str, Any]) -> None:
        async def draws(_: Prompt, call: CallTool) -> Reply:
            with pytest.raises(InvalidRequest):
                await call("send_canvas_command", arguments)
            return spoken("Sorry.")

        parlour, _ = await a_parlour(draws)
        assert await parlour.say("draw") == "Sorry."

    async def test_what_tools_were_called_is_remembered(self) -> None:
        async def plans(_: Prompt, call: CallTool) -> Reply:
            await call("list_schedules", {})
            with pytest.raises(NotFound):
                await call("delete_schedule", {"schedule_id": "sched-none"})
            return spoken("Done.")

        parlour, _ = await a_parlour(plans)
        await parlour.say("go")
        assert (await parlour.said())[-1].parts == {
            "calls": [
                {"tool": "list_schedules"},
                {"tool": "delete_schedule", "refused": "There is no schedule sched-none."},
            ]
        }

    async def test_a_day_has_so_many_tokens(self) -> None:
        parlour, agent = await a_parlour(spoken("one", tokens=900), spoken("two", tokens=200))
        limits = Limits(schedule_tokens_per_day=1_000)
        await parlour.store.put_tenant(Tenant(id=TENANT, name="North", limits=limits))
        await parlour.say("one")
        await parlour.say("two")
        assert [prompt.most_tokens for prompt in agent.prompts] == [1_000, 100]
        with pytest.raises(NotAllowed, match="have spent 1100 tokens today, and may not spend more"):
            await parlour.say("three")
        await parlour.clock.advance(DAY)
        assert await parlour.say("four") == "heard: four"


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
        owed = await parlour.owed()
        assert [one.message for one in owed] == [Subtitle("Take it out!"), Subtitle("Now!")]
        assert {one.schedule_id for one in owed} == {made["id"]}
        assert len({one.firing for one in owed}) == 1
        assert await spent(parlour) == (1, 300)
        assert agent.prompts[0].fired

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
        assert await parlour.owed() == []
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
        parlour, _ = await a_parlour(patience_ms=1_000)
        made = await parlour.schedule()
        later = parlour.clock.now() + timedelta(minutes=25)
        await parlour.store.begin_turn(TALK, token="other", now=parlour.clock.now(), until=later)
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
        await parlour.store.put_tenant(Tenant(id=TENANT, name="North", limits=limits))
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
        assert [one.message for one in await parlour.owed()] == [CanvasCommand({"flash": True})]

    async def test_an_agent_that_is_gone_takes_its_schedules_along(self) -> None:
        parlour, agent = await a_parlour()
        await parlour.schedule()
        await parlour.ask("delete_agent", agent_id=HELPER)
        assert await parlour.fires() == []
        assert agent.prompts == []


AFTERWARDS = {"name": "Afterwards", "prompt": "go on", "schedule_type": "one-shot", "delay_seconds": 86_000}
