"""Functions in threads: as many as there are places, and none on top of one that does not end."""

import asyncio
import threading

import pytest
from tests.integration.http.loopback_server import until
from tests.scheduling.dispatch.test_callables import a_claim, knowing

from cadenza.domain.scheduling.run import RunStatus


async def test_threads_are_as_many_as_there_are_places() -> None:
    running, most, lock = 0, 0, threading.Lock()
    all_places_taken = threading.Barrier(3, timeout=60)

    def work() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        all_places_taken.wait()
        with lock:
            running -= 1

    dispatcher = knowing(work, threads=3)
    claims = [a_claim(name=f"endpoint {number}") for number in range(12)]
    outcomes = await asyncio.gather(*map(dispatcher.execute, claims))
    assert {outcome.status for outcome in outcomes} == {RunStatus.SUCCESS}
    assert most == 3


class Stuck:
    """A function that runs until it is let go, and dispatching to it with little patience."""

    def __init__(self, threads: int = 2) -> None:
        self.let_go = threading.Event()
        self.calls = 0
        self.dispatcher = knowing(self.work, threads=threads)

    def work(self) -> None:
        self.calls += 1
        self.let_go.wait(5)

    async def abandoned(self, name: str) -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(self.dispatcher.execute(a_claim(name=name)), 0.03)

    async def freed(self) -> None:
        self.let_go.set()
        await until(lambda: not self.dispatcher._threads._calls)


async def test_an_endpoint_whose_function_outlived_its_timeout_does_not_run_twice_at_a_time() -> None:
    stuck = Stuck()
    await stuck.abandoned("endpoint")
    outcome = await stuck.dispatcher.execute(a_claim())
    assert outcome.status is RunStatus.FAILURE
    assert outcome.error == "its last run has outlived its timeout and has not ended yet"
    assert stuck.calls == 1
    await stuck.freed()
    assert (await stuck.dispatcher.execute(a_claim())).status is RunStatus.SUCCESS


async def test_when_every_thread_is_held_runs_fail_at_once_and_say_so() -> None:
    stuck = Stuck(threads=2)
    await asyncio.gather(stuck.abandoned("one"), stuck.abandoned("two"))
    outcome = await stuck.dispatcher.execute(a_claim(name="three"))
    assert outcome.error == "all 2 threads are held by functions that outlived their timeouts"
    await stuck.freed()
    assert (await stuck.dispatcher.execute(a_claim(name="three"))).status is RunStatus.SUCCESS


async def test_what_is_given_up_before_its_turn_is_never_called() -> None:
    stuck = Stuck(threads=1)
    running = asyncio.create_task(stuck.dispatcher.execute(a_claim(name="one")))
    await asyncio.sleep(0.01)
    await stuck.abandoned("two")
    await stuck.freed()
    assert (await running).status is RunStatus.SUCCESS
    assert stuck.calls == 1


async def test_a_thread_that_cannot_be_started_leaves_its_place_free(monkeypatch: pytest.MonkeyPatch) -> None:
    dispatcher = knowing(lambda: 1, threads=1)
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", _refuse)
        outcome = await dispatcher.execute(a_claim())
    assert outcome.error == "RuntimeError: can't start new thread"
    assert (await dispatcher.execute(a_claim())).status is RunStatus.SUCCESS


def _refuse(_: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")
