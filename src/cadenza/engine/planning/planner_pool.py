"""Planners around one table: they share a room of endpoints to think about, and a briefing on each."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from cadenza.domain.errors import Unavailable
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.engine.async_helpers import RECOVERY_MS
from cadenza.engine.planning.analysis import Seat
from cadenza.engine.planning.briefing import Briefer
from cadenza.engine.planning.consult import Means, Thinking
from cadenza.engine.planning.queue import Look, WaitingRoom
from cadenza.engine.planning.record import Recorder
from cadenza.ports.planning import Briefing, NextAnalysis


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelSettings:
    """How much a panel takes on."""

    concurrency: int = 32
    """How many endpoints are thought about at a time."""
    waiting: int = 10_000
    """How many may wait."""


DEFAULTS = PanelSettings()


class Panel:
    """Takes endpoints from its room as it can, one sitting of each planner at a time for each of them.

    Planners that take long have a panel of their own, so that nobody waits for them.
    """

    def __init__(
        self, seats: Sequence[Seat], *, means: Means, recorder: Recorder, settings: PanelSettings = DEFAULTS
    ) -> None:
        self.names = frozenset(seat.name for seat in seats)
        self._seats = seats
        self._means = means
        self._recorder = recorder
        self._settings = settings
        self._room = WaitingRoom(settings.waiting)
        self._briefer = Briefer(store=means.store, clock=means.clock, budget=means.budget)
        self._thinking = Thinking(means, self._briefer)
        self._busy: dict[EndpointKey, Look] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._called = asyncio.Event()
        self._problem: BaseException | None = None

    def put(self, look: Look) -> None:
        """Let an endpoint be thought about, soon."""
        self._room.put(look)
        self._called.set()

    @property
    def waiting(self) -> int:
        """How many endpoints wait."""
        return len(self._room)

    @property
    def turned_away(self) -> int:
        """How many were not thought about, for want of room."""
        return self._room.turned_away

    def oldest_page(self) -> int | None:
        """The oldest page of the feed that is not dealt with."""
        pages = [look.page for look in self._busy.values()]
        oldest = self._room.oldest_page()
        return min(pages if oldest is None else [*pages, oldest], default=None)

    async def run(self) -> None:
        """Think until cancelled."""
        try:
            while True:
                await self._called.wait()
                self._called.clear()
                if self._problem is not None:
                    raise self._problem
                await self._serve()
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self) -> None:
        while looks := self._room.take(self._settings.concurrency - len(self._busy), self._busy.keys()):
            self._busy |= {look.key: look for look in looks}
            try:
                briefings = await self._briefer.brief(looks)
            except Unavailable as problem:
                self._means.log.warning("something is unavailable", problem=problem.message)
                self._give_back(looks)
                await self._means.clock.sleep(RECOVERY_MS)
                continue
            for look in looks:
                task = asyncio.create_task(self._consider(look, briefings.get(look.key)))
                self._tasks.add(task)
                task.add_done_callback(self._done)

    def _give_back(self, looks: Sequence[Look]) -> None:
        for look in looks:
            del self._busy[look.key]
            self.put(look)

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._problem = task.exception()
        self._called.set()

    async def _consider(self, look: Look, briefing: Briefing | None) -> None:
        """Let the planners think about an endpoint, record what came of it, and tell its siblings."""
        try:
            if briefing is None:
                await self._recorder.keep([], [NextAnalysis(look.key, planner) for planner in look.due])
                return
            thoughts = await self._thinking.consider(look, briefing, seats=self._seats)
            analyses = [one.analysis for one in thoughts if one.analysis is not None]
            await self._recorder.keep(analyses, [one.look for one in thoughts if one.look is not None])
            for sibling in self._thinking.for_siblings(look, briefing, thoughts=thoughts):
                self.put(sibling)
        except Unavailable as problem:
            self._means.log.warning("something is unavailable", problem=problem.message)
            await self._means.clock.sleep(RECOVERY_MS)
            self.put(look)
        finally:
            del self._busy[look.key]
