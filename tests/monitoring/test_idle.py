"""When a process is idle, and what ends that, in virtual time."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta

import pytest

from cadenza.adapters.clock import PausingClock
from cadenza.adapters.stores.wakeup import EventWakeup
from cadenza.domain.errors import Unavailable
from cadenza.engine.idle import AHEAD, LONGEST_IDLE, QUIET_MS, IdleGate
from cadenza.testing import FakeLog
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.virtual_time import VirtualTimeLoop

QUIET_S = QUIET_MS / 1_000


class LoopClock:
    """The time of a loop, which a test may set."""

    def __init__(self) -> None:
        self.step = timedelta()

    def now(self) -> datetime:
        return NEW_YEAR + timedelta(seconds=asyncio.get_running_loop().time()) + self.step

    async def sleep(self, span_ms: float) -> None:
        await asyncio.sleep(span_ms / 1_000)


class Process:
    """A process with a gate, a loop that looks at the database every second, and what is known there."""

    def __init__(self) -> None:
        self.clock = LoopClock()
        self.gate = IdleGate(self.clock)
        self.wakeup = EventWakeup()
        self.log = FakeLog()
        self.moment: datetime | None = None
        self.asked = self.looks = 0
        self.reachable = True
        self._tasks = [
            asyncio.create_task(self.gate.run(self._next_moment, self.wakeup, self.log)),
            asyncio.create_task(self._look()),
        ]

    async def _next_moment(self) -> datetime | None:
        self.asked += 1
        if not self.reachable:
            raise Unavailable("It is away.")
        return self.moment

    async def _look(self) -> None:
        clock = PausingClock(self.gate.sleep)
        while True:
            self.looks += 1
            await clock.sleep(1_000)

    async def until_idle(self) -> None:
        async with asyncio.timeout(60):
            while not self.gate.is_idle:  # noqa: ASYNC110 - The gate tells nobody.
                await asyncio.sleep(0.01)

    async def looks_within(self, seconds: float) -> int:
        before = self.looks
        await asyncio.sleep(seconds)
        return self.looks - before

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def play(scene: Callable[[Process], Awaitable[None]]) -> None:
    async def main() -> None:
        process = Process()
        try:
            await scene(process)
        finally:
            await process.close()

    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        runner.run(main())


def test_it_is_idle_after_a_while_in_which_nothing_happened_and_asks_once_before() -> None:
    async def scene(process: Process) -> None:
        assert await process.looks_within(QUIET_S - 1) > 0
        assert not process.gate.is_idle
        await process.until_idle()
        assert await process.looks_within(3_600) <= 1, "the look that had begun"
        assert process.asked == 1

    play(scene)


def test_it_goes_on_a_little_before_the_next_moment() -> None:
    async def scene(process: Process) -> None:
        process.moment = NEW_YEAR + timedelta(hours=1)
        await process.until_idle()
        await asyncio.sleep((process.moment - AHEAD - process.clock.now()).total_seconds() - 0.5)
        assert process.gate.is_idle
        assert await process.looks_within(2) > 0
        assert process.clock.now() < process.moment

    play(scene)


def test_it_stays_open_while_something_is_due_and_not_done() -> None:
    async def scene(process: Process) -> None:
        process.moment = NEW_YEAR
        assert await process.looks_within(60) > 50

    play(scene)


def test_without_any_moment_it_goes_on_once_a_day() -> None:
    async def scene(process: Process) -> None:
        await process.until_idle()
        assert await process.looks_within(LONGEST_IDLE.total_seconds() - 60) <= 1
        assert await process.looks_within(120) > 1

    play(scene)


def notifies(process: Process) -> None:
    process.wakeup.notify()


def ends_a_run(process: Process) -> None:
    process.gate.emit("sched.job.stop", {}, {})


def is_asked(process: Process) -> None:
    with process.gate.active():
        pass


@pytest.mark.parametrize("happens", [notifies, ends_a_run, is_asked])
def test_what_happens_ends_it_at_once(happens: Callable[[Process], None]) -> None:
    async def scene(process: Process) -> None:
        await process.until_idle()
        await asyncio.sleep(60)
        before = process.looks
        happens(process)
        await asyncio.sleep(0.01)
        assert not process.gate.is_idle
        assert process.looks == before + 1

    play(scene)


def test_it_is_not_idle_while_work_is_in_progress() -> None:
    async def scene(process: Process) -> None:
        working = [True]
        process.gate.stay_open_while(lambda: working[0])
        assert await process.looks_within(60) > 50
        working[0] = False
        await process.until_idle()
        working[0] = True
        await asyncio.sleep(1.01)
        assert not process.gate.is_idle

    play(scene)


def test_a_request_that_takes_long_is_work_in_progress() -> None:
    async def scene(process: Process) -> None:
        with process.gate.active():
            assert await process.looks_within(60) > 50
        await process.until_idle()

    play(scene)


def test_a_change_while_the_database_is_asked_is_not_missed() -> None:
    async def scene(process: Process) -> None:
        ask = process._next_moment

        async def slowly() -> datetime | None:
            moment = await ask()
            await asyncio.sleep(0.5)
            if process.asked == 1:
                process.gate.note()
            return moment

        await process.close()
        running = asyncio.create_task(process.gate.run(slowly, process.wakeup, process.log))
        await process.until_idle()
        assert process.asked == 2
        running.cancel()

    play(scene)


def test_a_clock_that_is_set_back_ends_it() -> None:
    async def scene(process: Process) -> None:
        process.moment = NEW_YEAR + timedelta(hours=1)
        await process.until_idle()
        process.clock.step = -timedelta(hours=2)
        await asyncio.sleep(1.01)
        assert not process.gate.is_idle

    play(scene)


def test_while_the_database_is_away_it_is_not_idle() -> None:
    async def scene(process: Process) -> None:
        process.reachable = False
        assert await process.looks_within(60) > 50
        process.reachable = True
        await process.until_idle()

    play(scene)


def test_it_is_idle_no_more_when_the_process_stops() -> None:
    async def scene(process: Process) -> None:
        await process.until_idle()
        process.gate.stop()
        assert await process.looks_within(60) > 50

    play(scene)


def test_it_tells_when_it_was_last_idle() -> None:
    async def scene(process: Process) -> None:
        assert process.gate.last_idle_at is None
        await process.until_idle()
        await asyncio.sleep(100)
        assert process.gate.last_idle_at == process.clock.now()
        process.gate.note()
        woke_at = process.clock.now()
        await asyncio.sleep(2)
        assert process.gate.last_idle_at == woke_at

    play(scene)
