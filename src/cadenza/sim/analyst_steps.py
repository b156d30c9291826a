"""Runs the parts of the analyst one step at a time, while the clock stands still."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime

from cadenza.domain.planning.analysis import Analysis, Trigger
from cadenza.domain.planning.health import COUNTED
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.engine.planning.analysis import PlannerEntry
from cadenza.engine.planning.briefing import Briefer
from cadenza.engine.planning.planner_runner import PlannerDependencies, PlannerReport, PlannerRunner
from cadenza.engine.planning.queue import AnalysisQueue, AnalysisRequest
from cadenza.ports.planning import Briefing, Planner
from cadenza.ports.store import Store

PlannerFactory = Callable[[Store], Awaitable[Sequence[Planner]]]
"""Makes the planners of a store, with the rows that they need in it."""
QUEUE_SIZE = 10_000
PAGE = 500


class StepwiseAnalyst:
    """Runs all pending analyses, and returns when they are done.

    It follows the same feed, builds the same briefings and has the same limits as the
    analyst of a running system, but in one order, so that the same history leads to the
    same analyses.
    """

    def __init__(self, planners: Sequence[Planner], dependencies: PlannerDependencies) -> None:
        self._entries = [PlannerEntry(planner) for planner in planners]
        self._dependencies = dependencies
        self._briefer = Briefer(
            store=dependencies.store, clock=dependencies.clock, budget=dependencies.budget
        )
        self._runner = PlannerRunner(dependencies, self._briefer)
        self._queue = AnalysisQueue(QUEUE_SIZE)
        self._cursor: str | None = None
        self._next_analyses: dict[tuple[EndpointKey, str], datetime] = {}
        self.analyses: list[Analysis] = []

    async def open(self) -> None:
        """Start with future runs."""
        if self._entries:
            self._cursor = (await self._dependencies.store.analyses.ended_since(None, 1)).cursor

    @property
    def next_analysis_at(self) -> datetime | None:
        """When a planner wants the next analysis."""
        return min(self._next_analyses.values(), default=None)

    async def analyze_pending(self) -> None:
        """Analyze endpoints whose runs ended or whose analysis is due, and the siblings they concern."""
        if not self._entries:
            return
        await self._follow()
        self._queue_due()
        while requests := self._queue.take(1):
            await self._analyze(requests[0])

    async def _follow(self) -> None:
        while True:
            runs, self._cursor = await self._dependencies.store.analyses.ended_since(self._cursor, PAGE)
            for run in runs:
                if run.status in COUNTED:
                    self._queue.put(AnalysisRequest(EndpointKey(run.tenant_id, run.endpoint_id), Trigger.RUN))
            if len(runs) < PAGE:
                return

    def _queue_due(self) -> None:
        now = self._dependencies.clock.now()
        for key, planner in [
            key_and_planner for key_and_planner, at in self._next_analyses.items() if at <= now
        ]:
            del self._next_analyses[key, planner]
            self._queue.put(AnalysisRequest(key, Trigger.DUE, due_planners=frozenset({planner})))

    async def _analyze(self, request: AnalysisRequest) -> None:
        briefing = (await self._briefer.brief([request])).get(request.key)
        if briefing is None:
            return
        reports = await self._runner.analyze_with_all(request, briefing, entries=self._entries)
        for report in reports:
            self._record(report, briefing)
        for sibling in self._runner.sibling_requests(request, briefing, reports=reports):
            self._queue.put(sibling)

    def _record(self, report: PlannerReport, briefing: Briefing) -> None:
        key_and_planner = (briefing.endpoint.key, report.planner)
        if report.record is not None:
            self.analyses.append(report.record)
            self._next_analyses.pop(key_and_planner, None)
        at = report.finished.look_again_at(briefing.now)
        if at is not None:
            self._next_analyses[key_and_planner] = at
