"""Jobs: HTTP requests, Python functions, and prompts that an agent answers."""

import asyncio
import json
import threading
from datetime import date, timedelta
from typing import Any

import pytest
from tests.agents.agent_fixtures import ADA, HELPER, MONDAY, TENANT, AgentFixture
from tests.agents.scripted_agent import ScriptedAgent, failed, reply
from tests.integration.http.loopback_server import Reply, a_dispatcher, a_server, says

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.daily.callable_target import CallableTargetRunner, Function
from cadenza.adapters.daily.http_target import HttpTargetRunner
from cadenza.domain.agents.conversation import ConversationKey, OriginKind
from cadenza.domain.agents.users import UserKey
from cadenza.domain.daily.user import DONE, DailyRunResult
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.job_failure import ErrorClass, JobFailed
from cadenza.domain.scheduling.target import HttpTarget
from cadenza.engine.daily.prompt_target import PromptTargetRunner
from cadenza.testing import FakeIds

DAY = date(2026, 3, 10)


async def sent(reply: Reply, **fields: object) -> tuple[DailyRunResult, list[tuple[str, object]]]:
    """What an HTTP job comes to, and what reached its server: idempotency keys and bodies."""
    async with a_server(reply) as server, a_dispatcher() as dispatcher:
        target = HttpTarget(server.url("/daily"), "POST", **fields)  # type: ignore[arg-type]
        target_runner = HttpTargetRunner(
            target, dispatcher=dispatcher, clock=SystemClock(), ids=FakeIds(), timeout_ms=2_000
        )
        await target_runner.run("ann", DAY, tenant_id="north")
        result = await target_runner.run("ann", DAY, tenant_id="north")
        return result, [(one.headers["idempotency-key"], json.loads(one.body)) for one in server.requests]


async def test_an_http_job_names_user_and_day_and_has_one_key_for_all_attempts() -> None:
    result, requests = await sent(says("{}"), body={"kind": "digest"})
    assert result == DONE
    body = {"kind": "digest", "tenant_id": "north", "user_id": "ann", "service_date": "2026-03-10"}
    assert requests == [("ann:2026-03-10", body | {"programme": "daily"})] * 2


async def test_an_http_job_of_another_programme_has_keys_of_its_own() -> None:
    async with a_server(says("{}")) as server, a_dispatcher() as dispatcher:
        target_runner = HttpTargetRunner(
            HttpTarget(server.url("/evening"), "POST"),
            dispatcher=dispatcher,
            clock=SystemClock(),
            ids=FakeIds(),
            timeout_ms=2_000,
            programme_id="evening",
        )
        assert await target_runner.run("ann", DAY, tenant_id="north") == DONE
    (request,) = server.requests
    assert request.headers["idempotency-key"] == "evening:ann:2026-03-10"
    assert json.loads(request.body)["programme"] == "evening"


@pytest.mark.parametrize(
    ("reply", "fields", "error_class"),
    [
        (says("", 500), {}, ErrorClass.REQ),
        (says("not json"), {"success_path": "$.ok"}, ErrorClass.PARSE),
    ],
    ids=["status", "content"],
)
async def test_an_http_job_says_what_kind_of_thing_went_wrong(
    reply: Reply, fields: dict[str, str], error_class: ErrorClass
) -> None:
    result, _ = await sent(reply, **fields)
    assert result.error_class is error_class
    assert result.error


async def test_an_http_job_that_cannot_name_its_user_is_refused() -> None:
    async with a_dispatcher() as dispatcher:
        with pytest.raises(InvalidRequest, match="must be a JSON object"):
            HttpTargetRunner(
                HttpTarget("https://example.com", "POST", body=[1]),
                dispatcher=dispatcher,
                clock=SystemClock(),
                ids=FakeIds(),
                timeout_ms=1,
            )


def raising(problem: Exception) -> Function:
    def function(_: str, __: date) -> None:
        raise problem

    return function


@pytest.mark.parametrize(
    ("problem", "error_class"),
    [
        (JobFailed("the model is gone", ErrorClass.LLM), ErrorClass.LLM),
        (json.JSONDecodeError("no", "", 0), ErrorClass.PARSE),
        (ConnectionResetError("gone"), ErrorClass.REQ),
        (ValueError("what"), ErrorClass.UNKNOWN),
    ],
    ids=["llm", "parse", "req", "unknown"],
)
async def test_a_function_that_raises_has_failed(problem: Exception, error_class: ErrorClass) -> None:
    result = await CallableTargetRunner(raising(problem)).run("ann", DAY, tenant_id="default")
    assert result.error_class is error_class
    assert str(problem) in str(result.error)


async def test_functions_are_called_with_user_and_day_in_a_thread_or_in_the_loop() -> None:
    called: list[tuple[str, date, bool]] = []

    def in_a_thread(user_id: str, day: date) -> int:
        called.append((user_id, day, threading.current_thread() is threading.main_thread()))
        return 7

    async def in_the_loop(user_id: str, day: date) -> DailyRunResult:
        called.append((user_id, day, threading.current_thread() is threading.main_thread()))
        return DailyRunResult("no", ErrorClass.LLM)

    assert await CallableTargetRunner(in_a_thread).run("ann", DAY, tenant_id="default") == DONE
    assert not (await CallableTargetRunner(in_the_loop).run("bob", DAY, tenant_id="default")).ok
    assert called == [("ann", DAY, False), ("bob", DAY, True)]


async def test_a_function_in_a_thread_is_waited_for_also_when_it_is_cancelled() -> None:
    go_on = threading.Event()
    running = asyncio.create_task(
        CallableTargetRunner(lambda *_: go_on.wait(10)).run("ann", DAY, tenant_id="default")
    )
    await asyncio.sleep(0.01)
    running.cancel()
    await asyncio.sleep(0.01)
    assert not running.done()
    go_on.set()
    assert await running == DONE


async def test_a_function_that_never_ends_is_waited_for_no_more_when_the_program_ends() -> None:
    go_on = threading.Event()
    target_runner = CallableTargetRunner(lambda *_: go_on.wait(60))
    running = asyncio.create_task(target_runner.run("ann", DAY, tenant_id="default"))
    await asyncio.sleep(0)
    running.cancel()
    target_runner.close()
    assert "had not ended" in str((await running).error)
    go_on.set()


async def test_a_plain_function_around_an_async_one_is_awaited() -> None:
    served: list[str] = []

    async def serve(user_id: str, _: date) -> None:
        await asyncio.sleep(0)
        served.append(user_id)

    def around(user_id: str, day: date) -> Any:
        return serve(user_id, day)

    assert await CallableTargetRunner(around).run("ann", DAY, tenant_id="default") == DONE
    assert served == ["ann"]


def prompting(agents: AgentFixture) -> PromptTargetRunner:
    return PromptTargetRunner(
        conversations=agents.conversations,
        store=agents.store.conversations,
        agent_id=HELPER,
        prompt="Good morning?",
    )


async def test_the_answer_to_a_prompt_is_owed_to_the_user_once_a_day() -> None:
    runtime = ScriptedAgent(reply("Rise and shine."), reply("Again."), reply("Tomorrow."))
    agents = await AgentFixture(runtime).open()
    target_runner, day = prompting(agents), MONDAY.date()
    for date_ in (day, day, day + timedelta(days=1)):
        assert await target_runner.run(ADA, date_, tenant_id=TENANT) == DONE
    undelivered = await agents.store.deliveries.undelivered(UserKey(TENANT, ADA), after=0, limit=10)
    assert [one.message.text for one in undelivered] == ["Rise and shine.", "Tomorrow."]  # type: ignore[union-attr]
    said = await agents.store.conversations.messages(ConversationKey(TENANT, ADA, HELPER))
    assert {message.origin.kind for message in said} == {OriginKind.DAILY}
    assert said[-1].text == "[SCHEDULED: daily] Good morning?"


async def test_a_model_that_fails_is_a_failure_of_its_own_class_and_nothing_is_owed() -> None:
    agents = await AgentFixture(ScriptedAgent(failed("The provider answered 500."))).open()
    result = await prompting(agents).run(ADA, MONDAY.date(), tenant_id=TENANT)
    assert result == DailyRunResult("The provider answered 500.", ErrorClass.LLM)
    assert await agents.store.deliveries.undelivered(UserKey(TENANT, ADA), after=0, limit=10) == []


async def test_a_prompt_for_somebody_who_is_not_there_is_a_failure() -> None:
    agents = await AgentFixture(ScriptedAgent()).open()
    result = await prompting(agents).run("nobody", MONDAY.date(), tenant_id=TENANT)
    assert result.error_class is ErrorClass.UNKNOWN
