"""One endpoint that throws, hangs or returns garbage costs the others nothing."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from tests.scheduling.worker.running_worker import RunningWorker, on_manual_clock, on_system_clock, until
from tests.scheduling.worker.worker_fixtures import WorkerFixture

from cadenza.domain.scheduling.policy import Policy
from cadenza.domain.scheduling.run import Claim, Outcome, RunStatus
from cadenza.domain.validation import LONGEST_TEXT

HUGE = "x" * 10_000_000
IMPATIENT = Policy(timeout_ms=20)


def raising(problem: BaseException) -> Callable[[Claim], Any]:
    def behave(_: Claim) -> Any:
        raise problem

    return behave


def answering(answer: Any) -> Callable[[Claim], Any]:
    return lambda _: answer


async def hang(_: Claim) -> Any:
    await asyncio.Event().wait()


async def give_up(_: Claim) -> Any:
    raise TimeoutError("the peer did not answer")


async def give_in(_: Claim) -> Any:
    """What a dispatcher does that awaits something which somebody else cancelled."""
    raise asyncio.CancelledError


class Wordless(Exception):
    """An exception that cannot even say what went wrong."""

    def __str__(self) -> str:
        raise ValueError("no words")


FAILURES: dict[str, tuple[Callable[[Claim], Any], str]] = {
    "throws": (raising(ValueError("boom")), "ValueError: boom"),
    "throws a whole book": (raising(ValueError(HUGE)), "ValueError: xxx"),
    "raises a timeout of its own": (give_up, "TimeoutError: the peer did not answer"),
    "throws a group": (raising(ExceptionGroup("several", [ValueError("boom")])), "ExceptionGroup: several"),
    "raises a cancellation of its own": (give_in, "CancelledError"),
    "throws without words": (raising(Wordless()), "Wordless"),
    "answers nothing": (answering(None), "the dispatcher answered NoneType, not an outcome"),
    "answers a dict": (answering({"status": "success"}), "the dispatcher answered dict, not an outcome"),
    "answers skipped": (answering(Outcome(RunStatus.SKIPPED)), "the dispatcher answered the status"),
    "answers abandoned": (answering(Outcome(RunStatus.ABANDONED)), "the dispatcher answered the status"),
    "answers cancelled": (answering(Outcome(RunStatus.CANCELLED)), "the dispatcher answered the status"),
    "answers an unknown status": (
        answering(Outcome(WorkerFixture._any("fine"))),
        "the dispatcher answered the",
    ),
    "answers no status": (answering(Outcome(WorkerFixture._any([]))), "TypeError: "),
    "answers an error that is none": (
        answering(Outcome(RunStatus.FAILURE, error=WorkerFixture._any(7))),
        "Type",
    ),
    "answers a whole book": (answering(Outcome(RunStatus.FAILURE, error=HUGE)), "xxx"),
}


@pytest.mark.parametrize("behaviour", FAILURES)
async def test_an_endpoint_that_misbehaves_fails_alone(behaviour: str) -> None:
    fixture = WorkerFixture()
    for name in ("before", "odd", "after"):
        await fixture.add(name)
    behave, error = FAILURES[behaviour]
    fixture.dispatcher.on("odd", behave)
    await fixture.tick()
    run = await fixture.only_run("odd")
    assert run.status is RunStatus.FAILURE
    assert (run.error or "").startswith(error)
    assert [(await fixture.only_run(name)).status for name in ("before", "after")] == ["success"] * 2


@pytest.mark.parametrize("behaviour", FAILURES)
async def test_the_error_of_a_failure_is_bounded(behaviour: str) -> None:
    fixture = WorkerFixture()
    await fixture.add()
    fixture.dispatcher.on("endpoint", FAILURES[behaviour][0])
    await fixture.tick()
    assert len((await fixture.only_run()).error or "") <= LONGEST_TEXT


@pytest.mark.parametrize("behaviour", FAILURES)
async def test_a_failure_counts_and_the_next_run_is_planned(behaviour: str) -> None:
    fixture = WorkerFixture()
    await fixture.add(failure_count=2)
    fixture.dispatcher.on("endpoint", FAILURES[behaviour][0])
    await fixture.tick()
    after = await fixture.endpoint()
    assert (after.failure_count, after.next_run_at, after.lease) == (3, fixture.at(60_000), None)


async def test_a_hanging_endpoint_is_recorded_as_a_timeout_and_the_others_succeed() -> None:
    fixture = WorkerFixture()
    await fixture.add("odd", policy=IMPATIENT)
    await fixture.add("even")
    fixture.dispatcher.on("odd", hang)
    await fixture.tick()
    run = await fixture.only_run("odd")
    assert (run.status, run.error, run.duration_ms) == (RunStatus.TIMEOUT, "no answer within 20 ms", 20)
    assert (await fixture.only_run("even")).status is RunStatus.SUCCESS


async def test_an_endpoint_that_fails_while_it_is_cut_short_is_a_failure() -> None:
    async def stumble(claim: Claim) -> Any:
        try:
            await hang(claim)
        finally:
            raise ValueError("cut short")

    fixture = WorkerFixture()
    await fixture.add(policy=IMPATIENT)
    fixture.dispatcher.on("endpoint", stumble)
    await fixture.tick()
    assert (await fixture.only_run()).error == "ValueError: cut short"


async def test_each_endpoint_has_its_own_timeout() -> None:
    fixture = WorkerFixture()
    for timeout_ms in (5, 10, 15):
        await fixture.add(f"{timeout_ms}", policy=Policy(timeout_ms=timeout_ms))
        fixture.dispatcher.on(f"{timeout_ms}", hang)
    settled = await fixture.tick()
    assert sorted(run.duration_ms for _, run, *_ in settled) == [5, 10, 15]


async def test_a_failure_says_how_long_it_took() -> None:
    fixture = WorkerFixture()
    await fixture.add()

    async def fail_late(_: Claim) -> Any:
        await fixture.clock.sleep(250)
        raise ValueError("boom")

    fixture.dispatcher.on("endpoint", fail_late)
    await fixture.tick()
    assert (await fixture.only_run()).duration_ms == 250


@pytest.mark.parametrize("behaviour", FAILURES)
async def test_a_loop_goes_on_when_an_endpoint_misbehaves(behaviour: str) -> None:
    fixture = on_manual_clock()
    for name in ("before", "odd", "after"):
        await fixture.add(name)
    fixture.dispatcher.on("odd", FAILURES[behaviour][0])
    async with RunningWorker(fixture):
        assert (await fixture.only_run("odd")).status is RunStatus.FAILURE
        await fixture.clock.advance(60_000)
    assert [len(await fixture.runs(name)) for name in ("before", "odd", "after")] == [2, 2, 2]


async def test_a_loop_cuts_short_what_hangs_and_goes_on() -> None:
    fixture = on_system_clock()
    await fixture.add("odd", policy=IMPATIENT)
    await fixture.add("even")
    fixture.dispatcher.on("odd", hang)
    async with RunningWorker(fixture):
        await until(lambda: len(fixture.run_events) == 2)
    assert (await fixture.only_run("odd")).status is RunStatus.TIMEOUT
    assert (await fixture.only_run("even")).status is RunStatus.SUCCESS


async def test_a_status_spelled_as_a_text_counts_like_the_status() -> None:
    fixture = WorkerFixture()
    await fixture.add(failure_count=2)
    fixture.dispatcher.on("endpoint", lambda _: Outcome(WorkerFixture._any("success")))
    await fixture.tick()
    assert (await fixture.endpoint()).failure_count == 0


async def test_a_short_timeout_counts_also_when_a_long_one_was_set_before() -> None:
    fixture = WorkerFixture()
    for timeout_ms in (60_000, 30, 10):
        await fixture.add(f"{timeout_ms}", policy=Policy(timeout_ms=timeout_ms))
        fixture.dispatcher.on(f"{timeout_ms}", hang)
    fixture.dispatcher.succeeds("60000")
    statuses = [run.status for _, run, *_ in await fixture.tick()]
    assert statuses == ["success", "timeout", "timeout"]


async def test_what_ended_in_time_leaves_no_timer_behind() -> None:
    fixture = WorkerFixture()
    for name in ("fast", "odd"):
        await fixture.add(name, policy=IMPATIENT)
    fixture.dispatcher.on("odd", hang)
    await fixture.tick()
    await asyncio.sleep(0)
    loop: Any = asyncio.get_running_loop()
    assert [timer for timer in loop._scheduled if not timer.cancelled()] == []


async def test_an_answer_that_came_in_time_is_not_cut_short_later() -> None:
    fixture = WorkerFixture()
    await fixture.add("fast", policy=Policy(timeout_ms=5))
    await fixture.add("slow", policy=Policy(timeout_ms=60_000))

    async def rest(_: Claim) -> Outcome:
        await asyncio.sleep(0.03)
        return Outcome(RunStatus.SUCCESS)

    fixture.dispatcher.on("slow", rest)
    assert [run.status for _, run, *_ in await fixture.tick()] == ["success", "success"]
