"""The tools of agents and users: one handler each, every refusal a sentence, nothing of anybody else's."""

from datetime import timedelta
from typing import Any

import pytest
from tests.agents.agent_fixtures import ADA, BEN, HELPER, MINUTE, TENANT, AgentFixture

from cadenza.domain.access.key import Caller, OnBehalfOf, Scope
from cadenza.domain.access.tenant import Limits, Tenant
from cadenza.domain.agents.users import UserKey
from cadenza.domain.errors import CadenzaError, InvalidRequest, NotAllowed, NotFound

ADA_SPEAKS = OnBehalfOf(ADA)
IN_A_TURN = OnBehalfOf(ADA, HELPER, "turn-1")
FIRED = OnBehalfOf(ADA, HELPER, "turn-1", scheduled=True, may_schedule=False)
FIRED_FREELY = FIRED._replace(may_schedule=True)
ONE_SHOT: dict[str, Any] = {"name": "Pizza", "prompt": "take it out", "schedule_type": "one-shot"}
RECURRING = ONE_SHOT | {"schedule_type": "recurring"}


@pytest.fixture
async def agents() -> AgentFixture:
    return await AgentFixture().open()


def agent(on_behalf_of: OnBehalfOf = IN_A_TURN) -> Caller:
    """The helper, while it speaks for a user."""
    return Caller(TENANT, frozenset({Scope.WRITE}), "agent:helper", on_behalf_of)


async def test_a_tool_answers_with_what_an_agent_can_confirm(agents: AgentFixture) -> None:
    made = await agents.tools.call(agent(), "create_schedule", RECURRING | {"cron_expression": "0 17 * * 1"})
    assert isinstance(made, dict)
    assert made == {
        "id": made["id"],
        "name": "Pizza",
        "next_run_at": "2026-11-16T16:00:00Z",
        "next_fires": [
            f"Monday, {day} 2026, 17:00 Europe/Berlin"
            for day in ("16 November", "23 November", "30 November")
        ],
    }
    assert str(made["id"]).startswith("sched-")
    (listed,) = await agents.schedules()
    assert listed == {
        "id": made["id"],
        "user_id": ADA,
        "agent_id": HELPER,
        "name": "Pizza",
        "prompt": "take it out",
        "schedule_type": "recurring",
        "run_at": None,
        "cron_expression": "0 17 * * 1",
        "interval_seconds": None,
        "min_interval_seconds": None,
        "max_interval_seconds": None,
        "timezone": "Europe/Berlin",
        "next_run_at": "2026-11-16T16:00:00Z",
        "enabled": True,
        "may_schedule": False,
        "may_pace": False,
        "created_at": "2026-11-16T09:17:30Z",
        "paused": False,
        "paused_until": None,
        "pause_reason": None,
        "probe": None,
        "calendar": None,
    }
    deleted = await agents.tools.call(agent(), "delete_schedule", {"schedule_id": made["id"]})
    assert deleted == {"deleted": True}
    assert await agents.schedules() == []


REFUSALS: dict[str, tuple[dict[str, Any], str]] = {
    "no moment": (ONE_SHOT, "A one-shot schedule needs a moment: either run_at, such as "),
    "two moments": (
        ONE_SHOT | {"run_at": "2030-01-01T00:00:00Z", "delay_seconds": 5},
        "A one-shot schedule needs a moment: either run_at, such as ",
    ),
    "no cron line": (RECURRING, "A recurring schedule needs cron_expression: five fields, "),
    "both": (
        RECURRING | {"cron_expression": "0 9 * * *", "run_at": "2030-01-01T00:00:00Z"},
        "A recurring schedule takes no moment: ",
    ),
    "both once": (
        ONE_SHOT | {"cron_expression": "0 9 * * *", "run_at": "2030-01-01T00:00:00Z"},
        "A one-shot schedule takes run_at alone: ",
    ),
    "past": (
        ONE_SHOT | {"run_at": "2026-11-16T09:00:00Z"},
        "run_at 2026-11-16T09:00:00Z is in the past: it is 2026-11-16T09:17:30Z now. ",
    ),
    "wrong year": (ONE_SHOT | {"run_at": "3026-11-16T09:00:00Z"}, "run_at 3026-11-16T09:00:00Z is more than"),
    "no moment at all": (ONE_SHOT | {"run_at": "tomorrow"}, "run_at must be an ISO date and time, such as "),
    "bad cron": (RECURRING | {"cron_expression": "61 9 * * *"}, ""),
    "never fires": (RECURRING | {"cron_expression": "0 9 30 2 *"}, ""),
    "bad zone": (ONE_SHOT | {"run_at": "2030-01-01T00:00:00", "timezone": "Mars/Base"}, ""),
    "another's agent": (ONE_SHOT | {"delay_seconds": 5, "agent_id": "nobody"}, "Agent nobody not found."),
    "name of two lines": (ONE_SHOT | {"name": "a\nb", "delay_seconds": 5}, "name must be one line of text"),
    "no prompt": (ONE_SHOT | {"prompt": " ", "delay_seconds": 5}, "prompt must not be empty"),
    "a wrong type": (ONE_SHOT | {"schedule_type": "yearly"}, "schedule_type must be one-shot or recurring"),
    "unknown argument": (ONE_SHOT | {"delay_seconds": 5, "scope": "admin"}, "scope is unknown here"),
}


@pytest.mark.parametrize("wanted", REFUSALS.values(), ids=REFUSALS.keys())
async def test_each_refusal_is_the_same_sentence_for_agents_and_users(
    agents: AgentFixture, wanted: tuple[dict[str, Any], str]
) -> None:
    arguments, sentence = wanted
    with pytest.raises(CadenzaError) as told_agent:
        await agents.tools.call(agent(), "create_schedule", arguments)
    with pytest.raises(CadenzaError) as told_user:
        await agents.ask("create_schedule", user_id=ADA, **({"agent_id": HELPER} | arguments))
    assert told_agent.value.message == told_user.value.message
    assert told_agent.value.message.startswith(sentence)
    assert told_agent.value.message.endswith(".")
    assert await agents.schedules() == []


async def test_a_moment_without_an_offset_needs_a_zone(agents: AgentFixture) -> None:
    await agents.ask("put_user", user_id=BEN)
    naive = ONE_SHOT | {"run_at": "2026-11-17T09:00:00", "agent_id": HELPER}
    with pytest.raises(InvalidRequest, match="run_at has no offset and the user has no time zone: ask where"):
        await agents.ask("create_schedule", user_id=BEN, **naive)
    made = await agents.ask("create_schedule", user_id=BEN, timezone="Asia/Tokyo", **naive)
    assert made["next_run_at"] == "2026-11-17T00:00:00Z"
    made = await agents.ask("create_schedule", user_id=ADA, **naive)
    assert made["next_run_at"] == "2026-11-17T08:00:00Z"


async def test_limits_are_those_of_the_tenant(agents: AgentFixture) -> None:
    limits = Limits(schedules_per_user=1, schedule_fires_per_day=None, schedule_min_interval_ms=120_000)
    await agents.store.tenants.put_tenant(Tenant(id=TENANT, name="North", limits=limits))
    with pytest.raises(InvalidRequest, match="fires more often than every 2 minutes"):
        await agents.schedule(schedule_type="recurring", cron_expression="* * * * *")
    await agents.schedule(schedule_type="recurring", cron_expression="*/2 * * * *")
    with pytest.raises(NotAllowed, match="has 1 active schedules, and the limit is 1: delete one first"):
        await agents.schedule()


async def test_a_fired_turn_has_no_tool_that_makes_schedules(agents: AgentFixture) -> None:
    names = [tool.name for tool in agents.tools.offered(agent(FIRED))]
    assert names == ["list_schedules", "delete_schedule"]
    with pytest.raises(NotAllowed, match="A turn that a schedule started cannot make schedules"):
        await agents.tools.call(agent(FIRED), "create_schedule", ONE_SHOT | {"delay_seconds": 60})
    assert await agents.schedules() == []


async def test_a_fired_turn_that_may_schedule_does_so_one_level_deep(agents: AgentFixture) -> None:
    wanted = ONE_SHOT | {"delay_seconds": 60}
    assert "create_schedule" in [tool.name for tool in agents.tools.offered(agent(FIRED_FREELY))]
    with pytest.raises(NotAllowed, match="leave may_schedule out"):
        await agents.tools.call(agent(FIRED_FREELY), "create_schedule", wanted | {"may_schedule": True})
    await agents.tools.call(agent(FIRED_FREELY), "create_schedule", wanted)
    (made,) = await agents.schedules()
    assert made["may_schedule"] is False


async def test_the_same_thing_twice_in_one_turn_is_made_once(agents: AgentFixture) -> None:
    wanted = ONE_SHOT | {"delay_seconds": 60}
    first = await agents.tools.call(agent(), "create_schedule", wanted)
    await agents.clock.advance(5_000)
    assert await agents.tools.call(agent(), "create_schedule", wanted) == first
    assert len(await agents.schedules()) == 1
    another_turn = agent(IN_A_TURN._replace(turn="turn-2"))
    assert await agents.tools.call(another_turn, "create_schedule", wanted) != first
    assert len(await agents.schedules()) == 2


@pytest.mark.parametrize("word", ["user_id", "cursor", "limit"])
async def test_a_model_cannot_say_whose_things_it_means(agents: AgentFixture, word: str) -> None:
    for tool in agents.tools.offered(agent()):
        assert word not in tool.schema["properties"]
    with pytest.raises(InvalidRequest) as refused:
        await agents.tools.call(agent(), "list_schedules", {word: BEN})
    assert refused.value.message == f"{word} is unknown here; known are enabled_only."


@pytest.mark.parametrize("tool", ["put_user", "create_key", "send_message", "delete_user", "", "list_keys"])
async def test_no_other_operation_is_a_tool(agents: AgentFixture, tool: str) -> None:
    with pytest.raises(NotFound, match=r"Tool .* not found"):
        await agents.tools.call(agent(), tool, {})


async def test_an_agent_gets_its_users_schedules_as_an_array(agents: AgentFixture) -> None:
    assert await agents.tools.call(agent(), "list_schedules", {}) == []
    made = await agents.schedule()
    await agents.schedule(user=BEN)
    listed = await agents.tools.call(agent(), "list_schedules", {"enabled_only": False})
    assert isinstance(listed, list)
    assert listed == await agents.schedules()
    assert [one["id"] for one in listed if isinstance(one, dict)] == [made["id"]]


async def test_anothers_schedule_is_not_there(agents: AgentFixture) -> None:
    theirs = await agents.schedule(user=BEN)
    for on_behalf_of in (ADA_SPEAKS, IN_A_TURN, FIRED):
        with pytest.raises(NotFound, match=f"Schedule {theirs['id']} not found"):
            await agents.ask("delete_schedule", on_behalf_of=on_behalf_of, schedule_id=theirs["id"])
        with pytest.raises(NotFound, match="User ben not found"):
            await agents.ask("list_schedules", on_behalf_of=on_behalf_of, user_id=BEN)
    with pytest.raises(NotFound, match="User ben not found"):
        await agents.ask("create_schedule", on_behalf_of=ADA_SPEAKS, user_id=BEN, **ONE_SHOT, delay_seconds=5)
    assert len(await agents.schedules(BEN)) == 1


async def test_a_key_of_the_tenant_sees_the_schedules_of_all_users(agents: AgentFixture) -> None:
    mine, theirs = await agents.schedule(), await agents.schedule(user=BEN)
    listed = (await agents.ask("list_schedules"))["items"]
    assert {one["id"] for one in listed} == {mine["id"], theirs["id"]}
    await agents.ask("delete_schedule", schedule_id=theirs["id"])
    assert await agents.schedules(BEN) == []
    with pytest.raises(NotFound, match=f"Schedule {theirs['id']} not found"):
        await agents.ask("delete_schedule", schedule_id=theirs["id"])


async def test_only_schedules_are_deleted_as_such(agents: AgentFixture) -> None:
    await agents.ask("create_job", id="job", name="job")
    target, baseline = {"kind": "callable"}, {"kind": "every", "interval_ms": MINUTE}
    await agents.ask(
        "create_endpoint", job_id="job", id="beat", name="beat", target=target, baseline=baseline
    )
    for name in ("beat", "sched-none"):
        with pytest.raises(NotFound, match=f"Schedule {name} not found"):
            await agents.ask("delete_schedule", schedule_id=name)
    assert (await agents.ask("list_schedules"))["items"] == []


class TestUserTokens:
    """A token speaks for its user alone, for a while."""

    async def token(self, agents: AgentFixture, user_id: str = ADA, **words: Any) -> str:
        made = await agents.ask("create_user_token", user_id=user_id, **words)
        token: str = made["token"]
        return token

    async def caller(self, agents: AgentFixture, token: str) -> Caller:
        caller = await agents.application.authenticate(token)
        assert caller is not None
        return caller

    async def test_it_does_what_a_user_may(self, agents: AgentFixture) -> None:
        caller = await self.caller(agents, await self.token(agents))
        ask = agents.application.ask
        given = {"agent_id": HELPER, "text": "remind me in 20 minutes to rest"}
        await ask("send_message", given, caller)
        listed = (await ask("list_schedules", {}, caller)).model_dump()["items"]
        assert [one["name"] for one in listed] == ["Rest"]
        await ask("delete_schedule", {"schedule_id": listed[0]["id"]}, caller)
        await ask("create_schedule", ONE_SHOT | {"agent_id": HELPER, "delay_seconds": 5}, caller)
        assert (await ask("get_user", {"user_id": ADA}, caller)).model_dump()["timezone"] == "Europe/Berlin"

    @pytest.mark.parametrize(
        ("operation", "arguments"),
        [
            ("list_endpoints", {}),
            ("list_users", {}),
            ("put_user", {"user_id": ADA}),
            ("delete_user", {"user_id": ADA}),
            ("create_user_token", {"user_id": ADA}),
            ("put_agent", {"agent_id": HELPER, "name": "x"}),
            ("create_job", {"name": "x"}),
            ("list_runs", {}),
            ("list_secrets", {}),
        ],
    )
    async def test_it_does_nothing_else(
        self, agents: AgentFixture, operation: str, arguments: dict[str, Any]
    ) -> None:
        caller = await self.caller(agents, await self.token(agents))
        with pytest.raises(NotAllowed):
            await agents.application.ask(operation, arguments, caller)

    async def test_it_says_nothing_in_anothers_name(self, agents: AgentFixture) -> None:
        caller = await self.caller(agents, await self.token(agents))
        words = {"agent_id": HELPER, "user_id": BEN, "text": "list my reminders"}
        with pytest.raises(NotFound, match="User ben not found"):
            await agents.application.ask("send_message", words, caller)
        with pytest.raises(NotFound, match="User ben not found"):
            await agents.application.ask("get_user", {"user_id": BEN}, caller)

    async def test_it_runs_out(self, agents: AgentFixture) -> None:
        token = await self.token(agents, ttl_seconds=60)
        assert await agents.application.authenticate(token) is not None
        agents.clock.jump(timedelta(seconds=60) / timedelta(milliseconds=1))
        assert await agents.application.authenticate(token) is None

    async def test_it_opens_nothing_when_its_user_is_gone(self, agents: AgentFixture) -> None:
        token = await self.token(agents)
        assert await agents.application.authenticate(token) is not None
        await agents.ask("delete_user", user_id=ADA)
        assert await agents.application.authenticate(token) is None, "also if it was cached"
        with pytest.raises(NotFound):
            await agents.store.users.user(UserKey(TENANT, ADA))

    async def test_it_is_no_key_of_the_tenant(self, agents: AgentFixture) -> None:
        await self.token(agents)
        assert (await agents.ask("list_keys"))["items"] == []

    async def test_there_is_none_for_nobody(self, agents: AgentFixture) -> None:
        with pytest.raises(NotFound, match="User nobody not found"):
            await self.token(agents, "nobody")
