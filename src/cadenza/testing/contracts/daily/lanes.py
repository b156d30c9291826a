"""What lanes promise: of all processes, one serves each of them at a time."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Sequence

import pytest

from cadenza.ports.daily import DailyLanes

PATIENCE_S = 30


class RecordingServer:
    """Serves the lanes that it is given, and records which of them another served at the same moment."""

    def __init__(self, others: list["RecordingServer"]) -> None:
        self.held: set[int] = set()
        self.twice: set[int] = set()
        self._others = others
        others.append(self)

    def serve(self, held: Collection[int], leaving: Collection[int] = ()) -> None:
        """Serve these lanes alone."""
        self.held = {*held, *leaving}
        for other in self._others:
            if other is not self:
                self.twice |= self.held & other.held

    def done_with(self, leaving: Collection[int]) -> Collection[int]:
        """All of them: it has no runs."""
        return list(leaving)


class Process:
    """A process that holds lanes, until it ends."""

    def __init__(self, lanes: DailyLanes, others: list[RecordingServer]) -> None:
        self.server = RecordingServer(others)
        self._task = asyncio.create_task(lanes.hold(self.server))

    async def end(self) -> None:
        """Cancel it, and wait for its end."""
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


class DailyLanesContract:
    """A subclass gives the fixture `peers`: the lanes of two processes or more on one database."""

    @pytest.fixture
    async def processes(self, peers: Sequence[DailyLanes]) -> AsyncIterator[list[Process]]:
        """A process for each peer, started one after the other."""
        servers: list[RecordingServer] = []
        started = [Process(lanes, servers) for lanes in peers]
        yield started
        for process in started:
            await process.end()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until a condition holds."""
        async with asyncio.timeout(PATIENCE_S):
            while not condition():  # noqa: ASYNC110 - Other processes set no event.
                await asyncio.sleep(0.005)

    async def shared(self, processes: list[Process]) -> None:
        """Wait until some lanes are served, without a gap, and the processes have had time to share them."""
        await self.until(lambda: any(process.server.held for process in processes))
        await asyncio.sleep(0.2)
        await self.until(lambda: (lanes := _served(processes)) == set(range(len(lanes))) != set())

    async def test_every_lane_is_served_and_none_twice(self, processes: list[Process]) -> None:
        await self.shared(processes)
        assert [process.server.twice for process in processes] == [set()] * len(processes)

    async def test_what_a_process_served_others_serve_after_its_end(self, processes: list[Process]) -> None:
        await self.shared(processes)
        gone, *rest = sorted(processes, key=lambda process: -len(process.server.held))
        lanes = set(gone.server.held)
        await gone.end()
        assert gone.server.held == set()
        await self.until(lambda: lanes <= _served(rest))
        assert [process.server.twice for process in processes] == [set()] * len(processes)


def _served(processes: Sequence[Process]) -> set[int]:
    return {lane for process in processes for lane in process.server.held}
