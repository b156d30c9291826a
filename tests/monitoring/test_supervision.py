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
AGAIN = "a part has crashed and starts again; the others go on"


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


class House:
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
    house = House()
    crashing, counting = Crashing(house.clock, times=2), Counting(house.clock)
    async with house.running(Part("crashing", crashing.run), counting.part) as task:
        await house.clock.advance(10_000)
        assert not task.done()
        assert len(crashing.starts) == 3
        assert (counting.starts, counting.rounds) == (1, 11)


async def test_the_pause_before_it_starts_again_grows() -> None:
    house = House()
    crashing = Crashing(house.clock, times=3)
    async with house.running(Part("crashing", crashing.run)):
        await house.clock.advance(10_000)
        assert crashing.starts == [0, 500, 1_500, 3_500]


async def test_every_crash_is_told_with_its_trace_and_counted() -> None:
    house = House()
    async with house.running(Part("crashing", Crashing(house.clock, times=1).run)):
        (line,) = house.log.lines
        assert (line.level, line.event) == ("warning", AGAIN)
        assert (line.facts["part"], line.facts["problem"]) == ("crashing", "ValueError: a bug")
        assert "test_supervision.py" in str(line.facts["trace"])
        assert house.telemetry.events == [("process.part.crash", {"crashes": 1}, {"part": "crashing"})]


async def test_a_part_that_keeps_crashing_ends_everything_and_says_why() -> None:
    house, ended = House(), list[str]()
    first, second = Counting(house.clock, "first", ended), Counting(house.clock, "second", ended)
    crashing = Part("crashing", Crashing(house.clock, times=99).run)
    async with house.running(first.part, crashing, second.part) as task:
        await house.clock.advance(20_000)
        with pytest.raises(
            PartKeepsCrashing, match=r"crashing crashed 4 times within 60 s.*ValueError: a bug"
        ):
            await task
    assert ended == ["first", "second"]


async def test_a_part_that_is_not_vital_starts_again_however_often_it_crashes() -> None:
    house = House()
    crashing, counting = Crashing(house.clock, times=99), Counting(house.clock)
    async with house.running(Part("crashing", crashing.run, vital=False), counting.part) as task:
        for _ in range(10):
            await house.clock.advance(MINUTE_MS)
        assert not task.done()
        assert set(house.log.events("warning")) == {AGAIN}
        pauses = [later - earlier for earlier, later in pairwise(crashing.starts)]
        assert pauses[:6] == [500, 1_000, 2_000, 4_000, 8_000, 16_000]
        assert max(pauses) < MINUTE_MS
        assert counting.starts == 1


async def test_crashes_that_are_far_apart_are_forgiven() -> None:
    house = House()
    crashing = Crashing(house.clock, times=50, after_ms=MINUTE_MS / 2)
    async with house.running(Part("crashing", crashing.run)) as task:
        for _ in range(60):
            await house.clock.advance(MINUTE_MS)
        assert not task.done()
        assert len(crashing.starts) == 51


async def test_a_part_that_returns_unasked_has_crashed() -> None:
    house = House()
    starts = list[int]()

    async def short() -> None:
        starts.append(1)

    async with house.running(Part("short", short)):
        await house.clock.advance(600)
        assert len(starts) == 2
        assert house.log.lines[0].facts["problem"] == "_Returned: it ended, and nobody had asked it to"


async def test_a_part_that_cancels_itself_costs_itself_alone() -> None:
    house = House()
    starts = list[int]()

    async def confused() -> None:
        starts.append(1)
        raise asyncio.CancelledError

    async with house.running(Part("confused", confused)) as task:
        await house.clock.advance(600)
        assert len(starts) == 2
        assert not task.done()


async def test_a_part_that_cannot_even_be_made_has_crashed() -> None:
    house = House()

    def unmakeable() -> "asyncio.Future[object]":
        raise ValueError("no")

    async with house.running(Part("unmakeable", unmakeable)):  # type: ignore[arg-type]
        assert house.log.events() == [AGAIN]


async def test_parts_stop_in_their_order() -> None:
    house = House()
    asked: dict[str, asyncio.Event] = {name: asyncio.Event() for name in ("api", "worker")}
    may_end = asyncio.Event()

    async def until(asking: asyncio.Event, then: asyncio.Event) -> None:
        await asking.wait()
        await then.wait()

    api = Part("api", lambda: until(asked["api"], may_end), asked["api"].set)
    worker = Part("worker", lambda: until(asked["worker"], asked["worker"]), asked["worker"].set)
    async with house.running(api, worker) as task:
        house.supervisor.stop()
        await house.clock.advance(MINUTE_MS)
        assert [name for name, event in asked.items() if event.is_set()] == ["api"]
        may_end.set()
        await task
        assert asked["worker"].is_set()


async def test_a_part_that_rests_after_a_crash_does_not_hold_up_the_end() -> None:
    house = House()
    async with house.running(Part("crashing", Crashing(house.clock, times=9).run)) as task:
        await house.clock.advance(600)
        house.supervisor.stop()
        await house.clock.advance(0)
        assert task.done()
        await task


async def test_a_part_that_crashes_while_it_ends_is_heard() -> None:
    house = House()
    asked = asyncio.Event()

    async def careless() -> None:
        await asked.wait()
        raise ValueError("while ending")

    async with house.running(Part("careless", careless, asked.set)) as task:
        house.supervisor.stop()
        await house.clock.advance(0)
        with pytest.raises(ValueError, match="while ending"):
            await task


async def test_a_part_that_will_not_end_is_left_behind_and_named() -> None:
    house = House()
    released = asyncio.Event()

    async def stubborn() -> None:
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue

    async with house.running(Part("stubborn", stubborn)) as task:
        house.supervisor.stop()
        await house.clock.advance(20_000)
        assert task.done()
        assert house.log.events("warning") == ["a part would not end and is left behind"]
        released.set()
