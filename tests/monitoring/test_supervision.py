"""Parts that crash: they start again alone, or take the process down with a clear word."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise

import pytest

from cadenza.engine.supervision import Part, PartKeepsCrashing, RestartPolicy, Supervisor
from cadenza.testing import FakeClock, FakeLog, FakeTelemetry

RESTARTS = RestartPolicy(crashes=4, within_ms=60_000, first_ms=500)
MINUTE_MS = 60_000
AGAIN = "a part crashed and is restarted; the other parts continue"


class Crashing:
    """Lives for a while, then raises; so many times."""

    def __init__(self, clock: FakeClock, *, times: int, after_ms: float = 0) -> None:
        self._clock, self._times, self._after_ms = clock, times, after_ms
        self.starts: list[float] = []
        self._began = clock.now()

    async def run(self) -> None:
        self.starts.append((self._clock.now() - self._began).total_seconds() * 1_000)
        if len(self.starts) <= self._times:
            await self._clock.sleep(self._after_ms)
            raise ValueError("a bug")
        await asyncio.Event().wait()


class Counting:
    """Counts its rounds, a second each, and ends by itself when it is asked to."""

    def __init__(self, clock: FakeClock, name: str = "counting", ended: list[str] | None = None) -> None:
        self._clock, self._name, self._ended = clock, name, ended if ended is not None else []
        self._asked = asyncio.Event()
        self.starts = self.rounds = 0

    async def run(self) -> None:
        self.starts += 1
        while not self._asked.is_set():
            self.rounds += 1
            await self._clock.sleep(1_000)
        self._ended.append(self._name)

    @property
    def part(self) -> Part:
        return Part(self._name, self.run, self._asked.set)


class SupervisorFixture:
    """A supervisor on a clock that a test moves."""

    def __init__(self) -> None:
        self.clock, self.log, self.telemetry = FakeClock(manual=True), FakeLog(), FakeTelemetry()
        self.supervisor = Supervisor(
            clock=self.clock, log=self.log, telemetry=self.telemetry, restarts=RESTARTS
        )

    @asynccontextmanager
    async def running(self, *parts: Part) -> AsyncIterator["asyncio.Task[None]"]:
        task = asyncio.create_task(self.supervisor.run(*parts))
        await self.clock.advance(0)
        yield task
        task.cancel()
        await self.clock.advance(MINUTE_MS)
        await asyncio.gather(task, return_exceptions=True)


async def test_a_part_that_crashes_starts_again_and_the_others_keep_their_state() -> None:
    fixture = SupervisorFixture()
    crashing, counting = Crashing(fixture.clock, times=2), Counting(fixture.clock)
    async with fixture.running(Part("crashing", crashing.run), counting.part) as task:
        await fixture.clock.advance(10_000)
        assert not task.done()
        assert len(crashing.starts) == 3
        assert (counting.starts, counting.rounds) == (1, 11)


async def test_the_pause_before_it_starts_again_grows() -> None:
    fixture = SupervisorFixture()
    crashing = Crashing(fixture.clock, times=3)
    async with fixture.running(Part("crashing", crashing.run)):
        await fixture.clock.advance(10_000)
        assert crashing.starts == [0, 500, 1_500, 3_500]


async def test_every_crash_is_told_with_its_trace_and_counted() -> None:
    fixture = SupervisorFixture()
    async with fixture.running(Part("crashing", Crashing(fixture.clock, times=1).run)):
        (line,) = fixture.log.lines
        assert (line.level, line.event) == ("warning", AGAIN)
        assert (line.facts["part"], line.facts["problem"]) == ("crashing", "ValueError: a bug")
        assert "test_supervision.py" in str(line.facts["traceback"])
        assert fixture.telemetry.events == [("process.part.crash", {"crashes": 1}, {"part": "crashing"})]


async def test_a_part_that_keeps_crashing_ends_everything_and_says_why() -> None:
    fixture, ended = SupervisorFixture(), list[str]()
    first, second = Counting(fixture.clock, "first", ended), Counting(fixture.clock, "second", ended)
    crashing = Part("crashing", Crashing(fixture.clock, times=99).run)
    async with fixture.running(first.part, crashing, second.part) as task:
        await fixture.clock.advance(20_000)
        with pytest.raises(
            PartKeepsCrashing, match=r"crashing crashed 4 times within 60 s.*ValueError: a bug"
        ):
            await task
    assert ended == ["first", "second"]
    assert fixture.log.events("error") == ["a part keeps crashing; the process exits"]


async def test_a_part_that_is_not_vital_starts_again_however_often_it_crashes() -> None:
    fixture = SupervisorFixture()
    crashing, counting = Crashing(fixture.clock, times=99), Counting(fixture.clock)
    async with fixture.running(Part("crashing", crashing.run, vital=False), counting.part) as task:
        for _ in range(10):
            await fixture.clock.advance(MINUTE_MS)
        assert not task.done()
        assert set(fixture.log.events("warning")) == {AGAIN}
        pauses = [later - earlier for earlier, later in pairwise(crashing.starts)]
        assert pauses[:6] == [500, 1_000, 2_000, 4_000, 8_000, 16_000]
        assert max(pauses) < MINUTE_MS
        assert counting.starts == 1


async def test_crashes_that_are_far_apart_are_forgiven() -> None:
    fixture = SupervisorFixture()
    crashing = Crashing(fixture.clock, times=50, after_ms=MINUTE_MS / 2)
    async with fixture.running(Part("crashing", crashing.run)) as task:
        for _ in range(60):
            await fixture.clock.advance(MINUTE_MS)
        assert not task.done()
        assert len(crashing.starts) == 51


async def test_a_part_that_returns_unasked_has_crashed() -> None:
    fixture = SupervisorFixture()
    starts = list[int]()

    async def short() -> None:
        starts.append(1)

    async with fixture.running(Part("short", short)):
        await fixture.clock.advance(600)
        assert len(starts) == 2
        assert fixture.log.lines[0].facts["problem"] == "_Returned: it ended without a stop request"


async def test_a_part_that_cancels_itself_costs_itself_alone() -> None:
    fixture = SupervisorFixture()
    starts = list[int]()

    async def confused() -> None:
        starts.append(1)
        raise asyncio.CancelledError

    async with fixture.running(Part("confused", confused)) as task:
        await fixture.clock.advance(600)
        assert len(starts) == 2
        assert not task.done()


async def test_a_part_that_cannot_even_be_made_has_crashed() -> None:
    fixture = SupervisorFixture()

    def unmakeable() -> "asyncio.Future[object]":
        raise ValueError("no")

    async with fixture.running(Part("unmakeable", unmakeable)):  # type: ignore[arg-type]
        assert fixture.log.events() == [AGAIN]


async def test_parts_stop_in_their_order() -> None:
    fixture = SupervisorFixture()
    asked: dict[str, asyncio.Event] = {name: asyncio.Event() for name in ("api", "worker")}
    may_end = asyncio.Event()

    async def until(asking: asyncio.Event, then: asyncio.Event) -> None:
        await asking.wait()
        await then.wait()

    api = Part("api", lambda: until(asked["api"], may_end), asked["api"].set)
    worker = Part("worker", lambda: until(asked["worker"], asked["worker"]), asked["worker"].set)
    async with fixture.running(api, worker) as task:
        fixture.supervisor.stop()
        await fixture.clock.advance(MINUTE_MS)
        assert [name for name, event in asked.items() if event.is_set()] == ["api"]
        may_end.set()
        await task
        assert asked["worker"].is_set()


async def test_a_part_that_rests_after_a_crash_does_not_hold_up_the_end() -> None:
    fixture = SupervisorFixture()
    async with fixture.running(Part("crashing", Crashing(fixture.clock, times=9).run)) as task:
        await fixture.clock.advance(600)
        fixture.supervisor.stop()
        await fixture.clock.advance(0)
        assert task.done()
        await task


async def test_a_part_that_crashes_while_it_ends_is_heard() -> None:
    fixture = SupervisorFixture()
    asked = asyncio.Event()

    async def careless() -> None:
        await asked.wait()
        raise ValueError("while ending")

    async with fixture.running(Part("careless", careless, asked.set)) as task:
        fixture.supervisor.stop()
        await fixture.clock.advance(0)
        with pytest.raises(ValueError, match="while ending"):
            await task


async def test_a_part_that_will_not_end_is_left_behind_and_named() -> None:
    fixture = SupervisorFixture()
    released = asyncio.Event()

    async def stubborn() -> None:
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue

    async with fixture.running(Part("stubborn", stubborn)) as task:
        fixture.supervisor.stop()
        await fixture.clock.advance(20_000)
        assert task.done()
        assert fixture.log.events("warning") == ["a part did not stop in time and is abandoned"]
        released.set()
