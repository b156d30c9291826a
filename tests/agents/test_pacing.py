"""A turn that a schedule started steers this schedule alone, and says when there is nothing to report."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest
from tests.agents.agent_fixtures import ADA, HELPER, MINUTE, MONDAY, TENANT, AgentFixture
from tests.agents.scripted_agent import Behaviour, failed, make_agents, reply

from cadenza.domain.access.key import OnBehalfOf
from cadenza.domain.access.tenant import Limits, Tenant
from cadenza.domain.errors import CadenzaError, NotAllowed, NotFound
from cadenza.domain.scheduling.hint import HintKind
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import RunStatus
from cadenza.ports.agents import CallTool, Prompt, Reply

HALF_HOUR: dict[str, Any] = {
    "schedule_type": "recurring",
    "interval_seconds": 1_800,
    "min_interval_seconds": 300,
    "max_interval_seconds": 7_200,
}
WHY = "nothing moves at night"
SPEAKS = OnBehalfOf(ADA)


def calls(*wanted: tuple[str, Mapping[str, Any]], answers: list[Any] | None = None) -> Behaviour:
    """An agent that calls these tools, keeps the answers or refusals, and speaks."""

    async def behave(_: Prompt, call: CallTool) -> Reply:
        for name, arguments in wanted:
            try:
                answer: Any = await call(name, arguments)
            except CadenzaError as refused:
                answer = refused.message
            if answers is not None:
                answers.append(answer)
        return reply("Looked.", tokens=10)

    return behave


async def watching(*behaviours: Behaviour | Reply, **words: Any) -> tuple[AgentFixture, str]:
    """A schedule that is looked after every half hour, and its agent."""
    agents, _ = await make_agents(*behaviours)
    made = await agents.schedule(**(HALF_HOUR | words))
    return agents, str(made["id"])


async def listed(agents: AgentFixture, **words: Any) -> Any:
    (one,) = await agents.schedules(**words)
    return one


class TestInterval:
    """Schedules on an interval."""

    async def test_it_fires_every_so_often_and_may_pace_itself_within_its_bounds(self) -> None:
        agents, _ = await watching()
        one = await listed(agents)
        assert {name: one[name] for name in HALF_HOUR} == HALF_HOUR
        assert (one["may_pace"], one["cron_expression"]) == (True, None)
        for _ in range(3):
            assert len(await agents.fire(30 * MINUTE)) == 1

    @pytest.mark.parametrize("left_out", ["min_interval_seconds", "max_interval_seconds"])
    async def test_without_both_bounds_it_is_not_paced_unless_its_user_says_so(self, left_out: str) -> None:
        agents, _ = await watching(**{left_out: None})
        assert not (await listed(agents))["may_pace"]
        await agents.schedule(**{**HALF_HOUR, left_out: None}, may_pace=True, name="Paced")
        assert sum(one["may_pace"] for one in await agents.schedules()) == 1

    async def test_what_a_turn_may_pace_has_the_least_interval_of_its_user(self) -> None:
        answers: list[Any] = []
        often = ("set_interval", {"intervalMs": 1_000, "reason": "now"})
        agents, _ = await watching(calls(often, answers=answers), min_interval_seconds=None, may_pace=True)
        await agents.fire(30 * MINUTE)
        assert answers[0]["why"] == "limited by minimum interval"
        assert (await listed(agents))["next_run_at"] == "2026-11-16T09:48:30Z", "a minute after it fired"


class TestSteering:
    """What a turn asks of its own schedule."""

    async def test_it_sets_its_interval_with_a_reason_and_an_expiry(self) -> None:
        answers: list[Any] = []
        slower = ("set_interval", {"intervalMs": 90 * MINUTE, "ttlMinutes": 600, "reason": WHY})
        agents, name = await watching(calls(slower, answers=answers))
        await agents.fire(30 * MINUTE)
        planned = MONDAY + timedelta(minutes=120)
        assert answers == [
            {
                "applied": "with your answer",
                "next_run_at": f"{planned:%FT%TZ}",
                "why": "set by an interval hint",
            }
        ]
        endpoint = await agents.endpoint(name)
        assert (endpoint.next_run_at, endpoint.next_source) == (planned, Source.AI_INTERVAL)
        why = await agents.ask("explain_schedule", schedule_id=name, on_behalf_of=SPEAKS)
        assert (why["by"], why["reason"]) == ("agent: helper", WHY)
        assert WHY in why["answer"]
        for _ in range(8):
            await agents.fire(90 * MINUTE)
        assert (await agents.endpoint(name)).next_source is Source.BASELINE_INTERVAL, "the hint has expired"

    async def test_what_an_attempt_asked_that_was_started_over_is_taken_back(self) -> None:
        async def start_over(prompt: Prompt, call: CallTool) -> Reply:
            await call("set_interval", {"intervalMs": 90 * MINUTE, "reason": WHY})
            await call("nothing_to_report", {})
            prompt.start_over()
            return reply("Looked.")

        agents, name = await watching(start_over)
        await agents.fire(30 * MINUTE)
        assert await agents.undelivered_texts() == ["Looked."]
        assert (await agents.endpoint(name)).interval_hint is None

    async def test_its_guard_bounds_what_it_asks_for(self) -> None:
        later = ("set_interval", {"intervalMs": 24 * 60 * MINUTE, "ttlMinutes": 3_000, "reason": WHY})
        soon = ("set_next_time", {"nextRunInMs": 1_000})
        agents, name = await watching(calls(later), calls(soon))
        await agents.fire(30 * MINUTE)
        assert (await agents.endpoint(name)).next_run_at == MONDAY + timedelta(minutes=150)
        await agents.fire(120 * MINUTE)
        assert (await agents.endpoint(name)).next_run_at == MONDAY + timedelta(minutes=155)

    async def test_it_comes_back_once_at_another_moment(self) -> None:
        agents, name = await watching(
            calls(("set_next_time", {"nextRunInMs": 10 * MINUTE, "reason": "peek"}))
        )
        await agents.fire(30 * MINUTE)
        assert len(await agents.fire(10 * MINUTE)) == 1
        assert (await agents.endpoint(name)).next_run_at == MONDAY + timedelta(minutes=70)

    async def test_it_pauses_and_finishes_itself(self) -> None:
        pause = ("pause_schedule", {"until": "2026-11-17T09:00:00Z", "reason": "weekend"})
        done = ("finish_schedule", {"reason": "the parcel is here"})
        agents, name = await watching(calls(pause), calls(done))
        await agents.fire(30 * MINUTE)
        one = await listed(agents)
        assert (one["paused_until"], one["pause_reason"]) == ("2026-11-17T09:00:00Z", "weekend")
        assert len(await agents.fire(24 * 60 * MINUTE)) == 1
        assert await agents.fire(10 * 24 * 60 * MINUTE) == []
        assert await agents.schedules() == []
        assert not (await listed(agents, enabled_only=False))["enabled"]
        why = await agents.ask("explain_schedule", schedule_id=name)
        assert (why["by"], why["reason"], why["next_run_at"]) == ("agent: helper", "the parcel is here", None)
        assert "the parcel is here" in why["answer"]
        assert len(await agents.undelivered_texts()) == 2, "also the last answer is delivered"
        resumed = await agents.ask("resume_schedule", schedule_id=name)
        assert resumed["enabled"]
        assert len(await agents.fire(30 * MINUTE)) == 1

    async def test_a_turn_that_fails_asks_for_nothing_and_its_retry_asks_once(self) -> None:
        async def asks_and_fails(_: Prompt, call: CallTool) -> Reply:
            await call("finish_schedule", {"reason": "done"})
            return failed()

        slower = ("set_interval", {"intervalMs": 60 * MINUTE, "reason": WHY})
        agents, name = await watching(asks_and_fails, calls(slower, slower))
        await agents.fire(30 * MINUTE)
        assert (await agents.endpoint(name)).open_slot is not None
        await agents.fire(5 * MINUTE)
        (line,) = await agents.store.runs.hints((await agents.endpoint(name)).key)
        assert (line.kind, line.origin) == (HintKind.INTERVAL, "agent:helper")
        assert [run.status for run in await agents.runs(name)] == [RunStatus.FAILURE, RunStatus.SUCCESS]
        assert await agents.undelivered_texts() == ["Looked."]

    async def test_what_a_person_decided_wins(self) -> None:
        answers: list[Any] = []

        async def snoozed_meanwhile(_: Prompt, call: CallTool) -> Reply:
            await call("set_interval", {"intervalMs": 60 * MINUTE, "reason": WHY})
            await agents.ask("snooze_schedule", schedule_id=name, for_seconds=600)
            return await calls(("finish_schedule", {"reason": "done"}), answers=answers)(_, call)

        agents, name = await watching(snoozed_meanwhile)
        await agents.fire(30 * MINUTE)
        assert "is in force until" in answers[0]
        endpoint = await agents.endpoint(name)
        assert (endpoint.interval_hint, endpoint.next_run_at) == (None, MONDAY + timedelta(minutes=40))
        why = await agents.ask("explain_schedule", schedule_id=name)
        assert "was not applied, because a pause (person: test) is in force" in why["answer"]
        assert why["reason"] == "snoozed"


class TestNothingToReport:
    """A turn without news."""

    async def test_it_delivers_nothing_and_is_recorded_with_its_run(self) -> None:
        command = ("send_canvas_command", {"command": {"draw": 1}})
        silent = ("nothing_to_report", {"reason": "no change"})
        agents, name = await watching(calls(command, silent))
        await agents.fire(30 * MINUTE)
        (run,) = await agents.runs(name)
        assert (run.status, run.verdict) == (RunStatus.SUCCESS, True)
        assert run.response == {
            "messages": 0,
            "tokens": 10,
            "nothing_to_report": True,
            "reason": "no change",
            "calls": [{"tool": "send_canvas_command"}, {"tool": "nothing_to_report"}],
        }
        assert await agents.undelivered() == []
        assert await agents.messages() == [], "what nobody was told does not fill the context"
        (seen,) = (await agents.ask("list_schedule_runs", schedule_id=name, on_behalf_of=SPEAKS))["items"]
        assert (seen["nothing_to_report"], seen["messages"], seen["reason"]) == (True, 0, "no change")

    async def test_every_fired_turn_may_say_so_and_no_other(self) -> None:
        agents, agent = await make_agents()
        await agents.schedule()
        await agents.fire()
        await agents.say("hello")
        fired, said = ({tool.name for tool in prompt.tools} for prompt in agent.prompts)
        assert "nothing_to_report" in fired
        assert "nothing_to_report" not in said
        assert not {"set_interval", "finish_schedule"} & fired, "it was not given leave"


HOSTILE: dict[str, Mapping[str, Any]] = {
    "create_schedule": {"name": "x", "prompt": "x", "schedule_type": "one-shot", "delay_seconds": 60},
    "update_schedule": {"schedule_id": "OTHER", "prompt": "obey"},
    "snooze_schedule": {"schedule_id": "OTHER", "for_seconds": 60},
    "resume_schedule": {"schedule_id": "OTHER"},
    "run_schedule": {"schedule_id": "OTHER"},
    "delete_schedule": {"schedule_id": "OTHER"},
    "set_interval": {"intervalMs": 60_000, "reason": "x", "schedule_id": "OTHER"},
    "pause_schedule": {"until": "2030-01-01T00:00:00Z", "reason": "x", "schedule_id": "OTHER"},
    "finish_schedule": {"reason": "x", "endpoint_id": "OTHER"},
    "set_next_time": {"nextRunInMs": 1, "endpoint_id": "OTHER"},
    "put_limits": {"schedules_per_user": 10_000},
    "propose_interval": {"endpoint_id": "OTHER", "intervalMs": 1},
}


@pytest.mark.parametrize("tool", HOSTILE)
async def test_a_hostile_text_that_a_fired_turn_obeys_is_refused_and_recorded(tool: str) -> None:
    answers: list[Any] = []
    wanted: dict[str, Any] = dict(HOSTILE[tool])

    async def obeys(prompt: Prompt, call: CallTool) -> Reply:
        return await calls((tool, wanted), answers=answers)(prompt, call)

    agents, name = await watching(obeys)
    other = await agents.schedule(name="Other", delay_seconds=86_400)
    wanted |= {field: other["id"] for field, value in wanted.items() if value == "OTHER"}
    before = await agents.endpoint(str(other["id"]))
    await agents.fire(30 * MINUTE)
    assert isinstance(answers[0], str), f"{tool} was refused"
    assert await agents.endpoint(str(other["id"])) == before
    assert (await agents.endpoint(name)).next_source is Source.BASELINE_INTERVAL
    assert len(await agents.schedules()) == 2
    parts = (await agents.messages())[-1].parts
    assert parts == {"calls": [{"tool": tool, "refused": answers[0]}]}


async def test_a_fired_turn_cannot_use_the_operations_of_its_user() -> None:
    agents, name = await watching()
    fired = OnBehalfOf(ADA, HELPER, "turn", scheduled=True, may_schedule=True, schedule_id=name)
    changes: dict[str, dict[str, Any]] = {
        "update_schedule": {"max_interval_seconds": None},
        "pause_schedule": {},
        "resume_schedule": {},
        "snooze_schedule": {"for_seconds": 60},
        "run_schedule": {},
    }
    for operation, words in changes.items():
        with pytest.raises(NotAllowed, match="steers this schedule alone"):
            await agents.ask(operation, schedule_id=name, on_behalf_of=fired, **words)


async def test_a_fired_turn_may_delete_its_own_schedule() -> None:
    agents, name = await watching()
    other = await agents.schedule(name="Other")
    fired = OnBehalfOf(ADA, HELPER, "turn", scheduled=True, may_schedule=False, schedule_id=name)
    with pytest.raises(NotAllowed, match="cannot delete other schedules"):
        await agents.ask("delete_schedule", schedule_id=other["id"], on_behalf_of=fired)
    await agents.ask("delete_schedule", schedule_id=name, on_behalf_of=fired)
    with pytest.raises(NotFound):
        await agents.ask("explain_schedule", schedule_id=name)


async def test_a_paced_schedule_cannot_fire_more_often_than_its_user_may() -> None:
    soon = ("set_interval", {"intervalMs": 5 * MINUTE, "ttlMinutes": 1_440, "reason": "busy"})
    agents, name = await watching(calls(soon))
    await agents.store.tenants.put_tenant(
        Tenant(id=TENANT, name=TENANT, limits=Limits(schedule_fires_per_day=3))
    )
    await agents.fire(30 * MINUTE)
    for _ in range(6):
        await agents.fire(5 * MINUTE)
    fired = [run.status for run in await agents.runs(name)]
    assert fired.count(RunStatus.SUCCESS) == 3
    assert fired[-1] is RunStatus.SKIPPED
