"""A schedule that could not be carried out says so, once, and tells nothing of the machine's inside."""

import asyncio
from dataclasses import replace

from tests.agents.agent_fixtures import ADA, MINUTE, TENANT, Parlour
from tests.agents.scripted_agent import Scripted, failed, spoken

from cadenza.domain.agents.conversation import OriginKind, Role
from cadenza.domain.agents.schedule import POLICY
from cadenza.domain.agents.users import UserKey
from cadenza.domain.errors import Unavailable
from cadenza.domain.scheduling.endpoint import EndpointKey, evolve
from cadenza.domain.scheduling.run import RunStatus
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.engine.agents.turn_lock import TurnSettings
from cadenza.operations.idempotency import LEFT_BEHIND
from cadenza.ports.agents import CallTool, Prompt, Reply
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.agents import turn_limits

INSIDE = "The provider at llm.internal answered 500."


async def exhausted(parlour: Parlour) -> None:
    """Let every attempt at what is due be made."""
    for _ in range(POLICY.max_attempts - 1):
        await parlour.fires(MINUTE)


async def test_the_user_is_told_when_the_last_attempt_has_failed() -> None:
    parlour = await Parlour(Scripted(*[failed(INSIDE, tokens=7)] * POLICY.max_attempts)).open()
    made = await parlour.schedule()
    await parlour.fires()
    assert await parlour.undelivered() == [], "there are attempts left"
    await exhausted(parlour)
    runs = await parlour.runs(made["id"])
    assert [(run.status, run.verdict) for run in runs] == [
        (RunStatus.FAILURE, False),
        (RunStatus.FAILURE, False),
        (RunStatus.FAILURE, True),
    ]
    (told,) = await parlour.undelivered()
    assert (told.schedule_id, await parlour.owed_words()) == (
        made["id"],
        ["The scheduled task “Pizza” could not be carried out: 3 attempts failed."],
    )
    assert await parlour.store.deliveries.undelivered_firings(UserKey(TENANT, ADA), parlour.clock.now()) == 1
    spent = await parlour.store.users.usage_of_user(UserKey(TENANT, ADA), parlour.clock.now().date())
    assert spent.tokens == 7 * POLICY.max_attempts


async def test_the_agent_knows_of_it_too() -> None:
    parlour = await Parlour(Scripted(*[failed()] * POLICY.max_attempts, spoken("I know."))).open()
    made = await parlour.schedule()
    await parlour.fires()
    await exhausted(parlour)
    asked, told = await parlour.said()
    assert asked.role is Role.USER
    assert asked.text.startswith("[SCHEDULED: Pizza] take the pizza out")
    assert asked.origin.kind is OriginKind.SCHEDULE
    assert told.role is Role.AGENT
    assert "could not be carried out" in told.text
    assert told.origin.schedule_id == made["id"]
    assert await parlour.say("what was that?") == "I know."


async def test_also_if_the_agent_could_not_even_be_asked() -> None:
    async def missing(prompt: Prompt, call: CallTool) -> Reply:
        raise Unavailable(INSIDE)

    parlour = await Parlour(Scripted(*[missing] * POLICY.max_attempts, spoken("here"))).open()
    await parlour.schedule()
    await parlour.fires()
    await exhausted(parlour)
    (told,) = await parlour.owed_words()
    assert "could not be carried out" in told
    assert "internal" not in told
    assert await parlour.say("hello?") == "here", "the turn was given back"


async def test_who_is_gone_is_told_nothing() -> None:
    async def deletes(prompt: Prompt, call: CallTool) -> Reply:
        await parlour.ask("delete_user", user_id=ADA)
        return failed()

    parlour = await Parlour(Scripted(failed(), failed(), deletes)).open()
    await parlour.schedule()
    await parlour.fires()
    await exhausted(parlour)
    await parlour.ask("put_user", user_id=ADA)
    assert await parlour.undelivered() == []
    assert await parlour.said() == []


def test_a_turn_that_waited_as_long_as_it_could_ends_before_it_is_cut_off() -> None:
    slowest = TurnSettings().wait_ms + turn_limits(Settings(llm_timeout_ms=150_000)).timeout_s * 1_000
    assert slowest < POLICY.timeout_ms, "else its tokens are not counted, and nobody is told"
    assert slowest < LEFT_BEHIND.total_seconds() * 1_000, "else the same request is answered twice"
    assert turn_limits(Settings(llm_timeout_ms=5_000)).timeout_s == 5


async def test_the_user_is_told_also_if_the_agent_never_ends() -> None:
    async def thinks_on(prompt: Prompt, call: CallTool) -> Reply:
        await asyncio.Event().wait()
        raise AssertionError

    parlour = await Parlour(Scripted(thinks_on, spoken("here"))).open()
    made = await parlour.schedule()
    impatient = replace(POLICY, timeout_ms=20, max_attempts=1)
    await parlour.store.endpoints.amend(
        EndpointKey(TENANT, made["id"]), lambda endpoint: ChangedEndpoint(evolve(endpoint, policy=impatient))
    )
    await parlour.fires()
    (run,) = await parlour.runs(made["id"])
    assert (run.status, run.verdict) == (RunStatus.TIMEOUT, True)
    assert await parlour.owed_words() == ["The scheduled task “Pizza” could not be carried out."]
    assert await parlour.say("hello?") == "here", "the turn was given back"


async def test_the_user_is_told_also_if_the_next_fire_comes_before_another_attempt() -> None:
    parlour = await Parlour(Scripted(failed())).open()
    made = await parlour.schedule(schedule_type="recurring", cron_expression="*/10 * * * *")
    patient = replace(POLICY, retry_delay_ms=10 * MINUTE)
    await parlour.store.endpoints.amend(
        EndpointKey(TENANT, made["id"]), lambda endpoint: ChangedEndpoint(evolve(endpoint, policy=patient))
    )
    await parlour.fires(5 * MINUTE)
    (run,) = await parlour.runs(made["id"])
    assert (run.status, run.verdict, run.attempt) == (RunStatus.FAILURE, True, 1)
    assert await parlour.owed_words() == ["The scheduled task “Pizza” could not be carried out."]
