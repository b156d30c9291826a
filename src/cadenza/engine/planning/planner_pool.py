"""A pool of planners with one queue of endpoints, and one briefing for each endpoint."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from cadenza.domain.errors import Unavailable
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.engine.async_helpers import RECOVERY_MS, Attempts
from cadenza.engine.planning.analysis import PlannerEntry
from cadenza.engine.planning.briefing import Briefer
from cadenza.engine.planning.planner_runner import PlannerDependencies, PlannerRunner
from cadenza.engine.planning.queue import AnalysisQueue, AnalysisRequest
from cadenza.engine.planning.record import AnalysisRecorder
from cadenza.ports.planning import Briefing, NextAnalysis


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannerPoolSettings:
    """The limits of a pool."""

    concurrency: int = 32
    """How many endpoints are analyzed at the same time."""
    queue_size: int = 10_000


DEFAULT_POOL_SETTINGS = PlannerPoolSettings()


class PlannerPool:
    """Takes endpoints from its queue, and runs one analysis of each planner at a time for each of them.

    Slow planners have a pool of their own, so that the others do not wait for them.
    """

    def __init__(
        self,
        entries: Sequence[PlannerEntry],
        *,
        dependencies: PlannerDependencies,
        recorder: AnalysisRecorder,
        settings: PlannerPoolSettings = DEFAULT_POOL_SETTINGS,
    ) -> None:
        self.names = frozenset(entry.name for entry in entries)
        self._entries = entries
        self._dependencies = dependencies
        self._recorder = recorder
        self._settings = settings
        self._queue = AnalysisQueue(settings.queue_size)
        self._briefer = Briefer(
            store=dependencies.store, clock=dependencies.clock, budget=dependencies.budget
        )
        self._runner = PlannerRunner(dependencies, self._briefer)
        self._attempts = Attempts("planner/analyses", dependencies.clock, dependencies.log)
        self._in_progress: dict[EndpointKey, AnalysisRequest] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._wakeup = asyncio.Event()
        self._problem: BaseException | None = None

    def put(self, request: AnalysisRequest) -> None:
        """Queue an endpoint."""
        self._queue.put(request)
        self._wakeup.set()

    @property
    def waiting(self) -> int:
        """How many endpoints are queued."""
        return len(self._queue)

    @property
    def dropped(self) -> int:
        """How many requests were dropped because the queue was full."""
        return self._queue.dropped

    def oldest_page(self) -> int | None:
        """The oldest page of the feed with an unfinished request."""
        pages = [request.page for request in self._in_progress.values()]
        oldest = self._queue.oldest_page()
        return min(pages if oldest is None else [*pages, oldest], default=None)

    async def run(self) -> None:
        """Analyze until cancelled."""
        try:
            while True:
                await self._wakeup.wait()
                self._wakeup.clear()
                if self._problem is not None:
                    raise self._problem
                await self._start_queued()
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _start_queued(self) -> None:
        while requests := self._queue.take(
            self._settings.concurrency - len(self._in_progress), self._in_progress.keys()
        ):
            self._in_progress |= {request.key: request for request in requests}
            try:
                briefings = await self._briefer.brief(requests)
            except Unavailable as problem:
                self._attempts.failed(problem)
                self._requeue(requests)
                await self._dependencies.clock.sleep(RECOVERY_MS)
                continue
            self._attempts.succeeded()
            for request in requests:
                task = asyncio.create_task(self._analyze(request, briefings.get(request.key)))
                self._tasks.add(task)
                task.add_done_callback(self._done)

    def _requeue(self, requests: Sequence[AnalysisRequest]) -> None:
        for request in requests:
            del self._in_progress[request.key]
            self.put(request)

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._problem = task.exception()
        self._wakeup.set()

    async def _analyze(self, request: AnalysisRequest, briefing: Briefing | None) -> None:
        """Run the planners for an endpoint, record their analyses, and queue its siblings if needed."""
        try:
            if briefing is None:
                await self._recorder.record(
                    [], [NextAnalysis(request.key, planner) for planner in request.due_planners]
                )
                return
            reports = await self._runner.analyze_with_all(request, briefing, entries=self._entries)
            analyses = [one.record for one in reports if one.record is not None]
            await self._recorder.record(
                analyses, [one.next_analysis for one in reports if one.next_analysis is not None]
            )
            for sibling in self._runner.sibling_requests(request, briefing, reports=reports):
                self.put(sibling)
        except Unavailable as problem:
            self._attempts.failed(problem)
            await self._dependencies.clock.sleep(RECOVERY_MS)
            self.put(request)
        finally:
            del self._in_progress[request.key]
