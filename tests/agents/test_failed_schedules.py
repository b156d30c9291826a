"""A schedule that could not be carried out says so, once, and tells nothing of the machine's inside."""

import asyncio
from dataclasses import replace

from tests.agents.agent_fixtures import ADA, MINUTE, TENANT, AgentFixture
from tests.agents.scripted_agent import ScriptedAgent, failed, reply

from cadenza.domain.agents.conversation import OriginKind, Role
from cadenza.domain.agents.delivery import Missed
from cadenza.domain.agents.schedule import POLICY
from cadenza.domain.agents.users import UserKey
from cadenza.domain.errors import Unavailable
from cadenza.domain.scheduling.endpoint import EndpointKey, evolve
from cadenza.domain.scheduling.run import RunStatus
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.engine.agents.turn_lock import TurnSettings
from cadenza.ports.agents import CallTool, Prompt, Reply
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.agents import turn_limits

INSIDE = "The provider at llm.internal answered 500."


async def exhausted(agents: AgentFixture) -> None:
    """Let every attempt at what is due be made."""
    for _ in range(POLICY.max_attempts - 1):
        await agents.fire(MINUTE)


async def test_the_user_is_told_when_the_last_attempt_has_failed() -> None:
    agents = await AgentFixture(ScriptedAgent(*[failed(INSIDE, tokens=7)] * POLICY.max_attempts)).open()
    made = await agents.schedule()
    await agents.fire()
    assert await agents.undelivered() == [], "there are attempts left"
    await exhausted(agents)
    runs = await agents.runs(made["id"])
    assert [(run.status, run.verdict) for run in runs] == [
        (RunStatus.FAILURE, False),
        (RunStatus.FAILURE, False),
        (RunStatus.FAILURE, True),
    ]
    (told,) = await agents.undelivered()
    assert (told.schedule_id, await agents.undelivered_texts()) == (
        made["id"],
        ["The scheduled task “Pizza” could not be carried out: 3 attempts failed."],
    )
    assert await agents.store.deliveries.missed(UserKey(TENANT, ADA)) == Missed(firings=1)
    spent = await agents.store.users.usage_of_user(UserKey(TENANT, ADA), agents.clock.now().date())
    assert spent.tokens == 7 * POLICY.max_attempts


async def test_the_agent_knows_of_it_too() -> None:
    agents = await AgentFixture(ScriptedAgent(*[failed()] * POLICY.max_attempts, reply("I know."))).open()
    made = await agents.schedule()
    await agents.fire()
    await exhausted(agents)
    asked, told = await agents.messages()
    assert asked.role is Role.USER
    assert asked.text.startswith("[SCHEDULED: Pizza] take the pizza out")
    assert asked.origin.kind is OriginKind.SCHEDULE
    assert told.role is Role.AGENT
    assert "could not be carried out" in told.text
    assert told.origin.schedule_id == made["id"]
    assert await agents.say("what was that?") == "I know."


async def test_also_if_the_agent_could_not_even_be_asked() -> None:
    async def missing(prompt: Prompt, call: CallTool) -> Reply:
        raise Unavailable(INSIDE)

    agents = await AgentFixture(ScriptedAgent(*[missing] * POLICY.max_attempts, reply("here"))).open()
    await agents.schedule()
    await agents.fire()
    await exhausted(agents)
    (told,) = await agents.undelivered_texts()
    assert "could not be carried out" in told
    assert "internal" not in told
    assert await agents.say("hello?") == "here", "the turn was given back"


async def test_who_is_gone_is_told_nothing() -> None:
    async def deletes(prompt: Prompt, call: CallTool) -> Reply:
        await agents.ask("delete_user", user_id=ADA)
        return failed()

    agents = await AgentFixture(ScriptedAgent(failed(), failed(), deletes)).open()
    await agents.schedule()
    await agents.fire()
    await exhausted(agents)
    await agents.ask("put_user", user_id=ADA)
    assert await agents.undelivered() == []
    assert await agents.messages() == []


def test_a_turn_that_waited_as_long_as_it_could_ends_before_it_is_cut_off() -> None:
    slowest = TurnSettings().wait_ms + turn_limits(Settings(llm_timeout_ms=150_000)).timeout_s * 1_000
    assert slowest < POLICY.timeout_ms, "else its tokens are not counted, and nobody is told"
    assert turn_limits(Settings(llm_timeout_ms=5_000)).timeout_s == 5


async def test_the_user_is_told_also_if_the_agent_never_ends() -> None:
    async def thinks_on(prompt: Prompt, call: CallTool) -> Reply:
        await asyncio.Event().wait()
        raise AssertionError

    agents = await AgentFixture(ScriptedAgent(thinks_on, reply("here"))).open()
    made = await agents.schedule()
    impatient = replace(POLICY, timeout_ms=20, max_attempts=1)
    await agents.store.endpoints.amend(
        EndpointKey(TENANT, made["id"]), lambda endpoint: ChangedEndpoint(evolve(endpoint, policy=impatient))
    )
    await agents.fire()
    (run,) = await agents.runs(made["id"])
    assert (run.status, run.verdict) == (RunStatus.TIMEOUT, True)
    assert await agents.undelivered_texts() == ["The scheduled task “Pizza” could not be carried out."]
    assert await agents.say("hello?") == "here", "the turn was given back"


async def test_the_user_is_told_also_if_the_next_fire_comes_before_another_attempt() -> None:
    agents = await AgentFixture(ScriptedAgent(failed())).open()
    made = await agents.schedule(schedule_type="recurring", cron_expression="*/10 * * * *")
    patient = replace(POLICY, retry_delay_ms=10 * MINUTE)
    await agents.store.endpoints.amend(
        EndpointKey(TENANT, made["id"]), lambda endpoint: ChangedEndpoint(evolve(endpoint, policy=patient))
    )
    await agents.fire(5 * MINUTE)
    (run,) = await agents.runs(made["id"])
    assert (run.status, run.verdict, run.attempt) == (RunStatus.FAILURE, True, 1)
    assert await agents.undelivered_texts() == ["The scheduled task “Pizza” could not be carried out."]
