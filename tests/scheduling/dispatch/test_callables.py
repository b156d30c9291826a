"""Functions as targets, and the table of dispatchers that HTTP and functions share."""

import asyncio
import contextvars
import functools
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from cadenza.adapters.dispatch.by_target import DispatcherByTarget, DispatcherOnDemand
from cadenza.adapters.dispatch.callables import CallableDispatcher
from cadenza.domain.errors import Conflict, InvalidRequest
from cadenza.domain.job_failure import ErrorClass, JobFailed
from cadenza.domain.scheduling.baseline import Once
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import Claim, Outcome, RunStatus
from cadenza.domain.scheduling.target import CallableTarget, HttpTarget, PromptTarget, Target
from cadenza.testing import FakeDispatcher, an_endpoint
from cadenza.testing.clock import NEW_YEAR


def a_claim(target: Target | None = None, name: str = "endpoint") -> Claim:
    return Claim(
        run_id="run-1",
        token="token",
        endpoint=an_endpoint(name, baseline=Once(NEW_YEAR), target=target or CallableTarget("work")),
        slot=NEW_YEAR,
        due_at=NEW_YEAR,
        attempt=1,
        source=Source.FIRST,
        claimed_at=NEW_YEAR,
        lease_until=NEW_YEAR,
        started_at=NEW_YEAR,
    )


def knowing(function: Callable[..., Any], **options: Any) -> CallableDispatcher:
    dispatcher = CallableDispatcher(**options)
    dispatcher.register("work", function)
    return dispatcher


async def outcome_of(function: Callable[..., Any], **options: Any) -> Outcome:
    return await knowing(function, **options).execute(a_claim())


async def test_an_async_function_runs_in_the_loop() -> None:
    async def work() -> dict[str, Any]:
        return {"thread": threading.current_thread() is threading.main_thread(), "n": [1, None]}

    outcome = await outcome_of(work)
    assert outcome == Outcome(
        RunStatus.SUCCESS, outcome.duration_ms, response={"thread": True, "n": [1, None]}
    )


async def test_another_function_runs_in_a_thread_with_the_context_of_its_caller() -> None:
    variable = contextvars.ContextVar("variable", default="unset")
    variable.set("set")
    outcome = await outcome_of(
        lambda: [threading.current_thread() is threading.main_thread(), variable.get()]
    )
    assert outcome.response == [False, "set"]


class AsyncObject:
    async def __call__(self, run: Claim) -> str:
        return run.run_id


async def returns_run(run: Claim) -> str:
    return run.run_id


@pytest.mark.parametrize(
    "function",
    [
        returns_run,
        lambda run: run.run_id,
        AsyncObject(),
        functools.partial(returns_run),
        lambda run: returns_run(run) if run else None,
        AsyncObject().__call__,
    ],
)
async def test_who_wants_the_run_gets_it(function: Callable[..., Any]) -> None:
    assert (await outcome_of(function)).response == "run-1"


async def test_a_root_may_hand_over_more_than_the_claim() -> None:
    outcome = await outcome_of(lambda run: run, context=lambda claim: f"run of {claim.endpoint.name}")
    assert outcome.response == "run of endpoint"


@pytest.mark.parametrize("function", [lambda: 1, lambda *_: 1, lambda one=1: one, lambda **_: 1])
async def test_who_needs_nothing_gets_nothing(function: Callable[..., Any]) -> None:
    assert (await outcome_of(function)).response == 1


async def test_a_function_that_does_not_tell_what_it_takes_gets_nothing() -> None:
    assert (await outcome_of(dict)).response == {}


@pytest.mark.parametrize("function", [lambda one, two: 1, lambda *, named: 1])
def test_who_wants_more_is_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(InvalidRequest):
        knowing(function)


def test_a_name_is_taken_once() -> None:
    dispatcher = knowing(print)
    with pytest.raises(Conflict):
        dispatcher.register("work", print)


async def test_a_name_that_nobody_registered_is_a_failure() -> None:
    outcome = await CallableDispatcher().execute(a_claim())
    assert outcome == Outcome(RunStatus.FAILURE, error="no function is registered as 'work'")


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("problem", "error"),
    [
        (ValueError("it broke"), "ValueError: it broke"),
        (KeyError(), "KeyError"),
        (SystemExit(3), "SystemExit: 3"),
        (Unspeakable(), "Unspeakable"),
        (ValueError("a\0\ud800"), "ValueError: a??"),
        (TimeoutError("of its own"), "TimeoutError: of its own"),
    ],
)
async def test_what_a_function_raises_is_its_failure(problem: BaseException, error: str) -> None:
    def work() -> None:
        raise problem

    async def async_work() -> None:
        raise problem

    for function in (work, async_work):
        outcome = await outcome_of(function)
        assert outcome.status is RunStatus.FAILURE
        assert outcome.error is not None
        assert outcome.error.endswith(error)


async def test_a_failure_has_the_traceback_of_the_function_and_of_nothing_around_it() -> None:
    def work() -> None:
        raise ValueError("it broke")

    async def async_work() -> None:
        work()

    for function, frames in ((work, 1), (async_work, 2)):
        raised = (await outcome_of(function)).traceback
        assert raised is not None
        assert raised.endswith("ValueError: it broke")
        assert raised.count("  File ") == frames
    assert (await outcome_of(lambda: None)).traceback is None


async def test_a_function_chooses_its_error_class() -> None:
    def work() -> None:
        raise JobFailed("the model is gone", "llm")

    assert (await outcome_of(work)).error_class is ErrorClass.LLM


async def test_an_error_is_bounded() -> None:
    async def work() -> None:
        raise ValueError("x" * 100_000)

    outcome = await outcome_of(work)
    assert outcome.error is not None
    assert len(outcome.error) == 2_000


async def test_a_function_that_cancels_itself_has_failed_and_one_that_is_cancelled_has_not() -> None:
    async def cancels_itself() -> None:
        raise asyncio.CancelledError

    assert (await outcome_of(cancels_itself)).status is RunStatus.FAILURE
    running = asyncio.create_task(outcome_of(lambda: time.sleep(0.1)))
    await asyncio.sleep(0.01)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


@pytest.mark.parametrize(
    ("result", "response"),
    [
        (None, None),
        ({"at": NEW_YEAR}, {"at": "2025-01-01T00:00:00+00:00"}),
        (object(), {"unrecorded": "a object that is not JSON"}),
        ({1: 2}, {"unrecorded": "a dict that is not JSON"}),
        ("x" * 20_000, {"unrecorded": "20002 bytes, where 16384 are kept"}),
        ("a\0b", "a\N{REPLACEMENT CHARACTER}b"),
        ("\ud800", {"unrecorded": "a str that is not JSON"}),
    ],
)
async def test_a_result_is_recorded_if_it_is_json_of_a_bearable_size(result: Any, response: Any) -> None:
    outcome = await outcome_of(lambda: result)
    assert (outcome.status, outcome.response) == (RunStatus.SUCCESS, response)


async def test_the_duration_is_measured() -> None:
    outcome = await outcome_of(lambda: time.sleep(0.03))
    assert 30 <= outcome.duration_ms < 1_000


async def test_each_target_goes_to_its_dispatcher() -> None:
    http, callables, prompts = FakeDispatcher(), FakeDispatcher(), FakeDispatcher()
    table = DispatcherByTarget(http=http, callables=callables, prompts=prompts)
    await table.execute(a_claim(HttpTarget("http://x"), "http"))
    await table.execute(a_claim(CallableTarget("x"), "callable"))
    await table.execute(a_claim(PromptTarget("agent", "user", "hello"), "prompt"))
    assert (http.names(), callables.names(), prompts.names()) == (["http"], ["callable"], ["prompt"])


async def test_a_target_that_nobody_runs_here_is_a_failure() -> None:
    outcome = await DispatcherByTarget().execute(a_claim(PromptTarget("agent", "user", "hello")))
    assert outcome == Outcome(RunStatus.FAILURE, error="this worker does not run prompt targets")


async def test_a_dispatcher_on_demand_is_opened_by_the_first_claim_and_closed_in_the_end() -> None:
    happened: list[str] = []
    runs = FakeDispatcher()

    @asynccontextmanager
    async def opening() -> AsyncIterator[FakeDispatcher]:
        happened.append("opened")
        await asyncio.sleep(0)
        yield runs
        happened.append("closed")

    async with DispatcherOnDemand(opening):
        pass
    assert happened == []
    async with DispatcherOnDemand(opening) as dispatcher:
        await asyncio.gather(*(dispatcher.execute(a_claim(name=name)) for name in "abc"))
        assert happened == ["opened"]
    assert happened == ["opened", "closed"]
    assert runs.names() == ["a", "b", "c"]
