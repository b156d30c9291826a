"""Runs the parts of the analyst one step at a time, while the clock stands still."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from cadenza.domain.planning.analysis import Analysis, Trigger
from cadenza.domain.planning.health import COUNTED
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.engine.planning.analysis import Seat
from cadenza.engine.planning.briefing import Briefer
from cadenza.engine.planning.consult import Means, Thinking, Thought
from cadenza.engine.planning.queue import Look, WaitingRoom
from cadenza.ports.planning import Briefing, Planner
from cadenza.ports.store import Store

PlannerFactory = Callable[[Store], Awaitable[Sequence[Planner]]]
"""Makes the planners of a store, with the rows that they need in it."""
ROOM = 10_000
PAGE = 500


class StepwiseAnalyst:
    """Lets planners think about everything that has happened by now, and only then comes back.

    It follows the same feed, tells the same briefings and has the same bounds as the
    analyst of a running system, but in one order, so that the same history leads to the
    same thoughts.
    """

    def __init__(self, planners: Sequence[Planner], means: Means) -> None:
        self._seats = [Seat(planner) for planner in planners]
        self._means = means
        self._briefer = Briefer(store=means.store, clock=means.clock, budget=means.budget)
        self._thinking = Thinking(means, self._briefer)
        self._room = WaitingRoom(ROOM)
        self._cursor: str | None = None
        self._looks: dict[tuple[EndpointKey, str], datetime] = {}
        self.analyses: list[Analysis] = []

    async def open(self) -> None:
        """Begin with the runs to come."""
        if self._seats:
            self._cursor = (await self._means.store.analyses.ended_since(None, 1)).cursor

    @property
    def next_look_at(self) -> datetime | None:
        """When a planner wants to look again."""
        return min(self._looks.values(), default=None)

    async def think(self) -> None:
        """Think about what ended and what is due, and about what follows from that."""
        if not self._seats:
            return
        await self._follow()
        self._put_due()
        while looks := self._room.take(1):
            await self._consider(looks[0])

    async def _follow(self) -> None:
        while True:
            runs, self._cursor = await self._means.store.analyses.ended_since(self._cursor, PAGE)
            for run in runs:
                if run.status in COUNTED:
                    self._room.put(Look(EndpointKey(run.tenant_id, run.endpoint_id), Trigger.RUN))
            if len(runs) < PAGE:
                return

    def _put_due(self) -> None:
        now = self._means.clock.now()
        for key, planner in [place for place, at in self._looks.items() if at <= now]:
            del self._looks[key, planner]
            self._room.put(Look(key, Trigger.DUE, due=frozenset({planner})))

    async def _consider(self, look: Look) -> None:
        briefing = (await self._briefer.brief([look])).get(look.key)
        if briefing is None:
            return
        thoughts = await self._thinking.consider(look, briefing, seats=self._seats)
        for thought in thoughts:
            self._keep(thought, briefing)
        for sibling in self._thinking.for_siblings(look, briefing, thoughts=thoughts):
            self._room.put(sibling)

    def _keep(self, thought: Thought, briefing: Briefing) -> None:
        place = (briefing.endpoint.key, thought.planner)
        if thought.analysis is not None:
            self.analyses.append(thought.analysis)
            self._looks.pop(place, None)
        at = thought.sat.look_again_at(briefing.now)
        if at is not None:
            self._looks[place] = at
