"""Follows ended runs and due analyses, and queues their endpoints for the planners."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from cadenza.domain.agents.probe import looked
from cadenza.domain.planning.analysis import Trigger
from cadenza.domain.planning.health import COUNTED
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.domain.scheduling.run import Run
from cadenza.domain.validation import milliseconds
from cadenza.engine.async_helpers import RECOVERY_MS, Attempts, first_of
from cadenza.engine.planning.analysis import PlannerEntry
from cadenza.engine.planning.feed import MAX_CURSOR_AGE, PAGE, RunFeed
from cadenza.engine.planning.planner_pool import DEFAULT_POOL_SETTINGS, PlannerPool, PlannerPoolSettings
from cadenza.engine.planning.planner_runner import PlannerDependencies
from cadenza.engine.planning.queue import AnalysisRequest
from cadenza.engine.planning.record import AnalysisRecorder
from cadenza.ports.scheduling import Wakeup

FEED_EVENT = "planner.feed.stop"
LINGER_MS = 5
"""How long to collect runs after a wake-up."""
LOST_AFTER = timedelta(minutes=5)
"""A due analysis that was not recorded by then is due again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalystSettings:
    """How often the analyst polls."""

    poll_ms: int = 250
    idle_ms: int = 750
    """The longest poll interval, reached step by step while nothing happens."""
    resume_within: timedelta = MAX_CURSOR_AGE
    """A saved cursor that is older is not resumed from."""
    pool: PlannerPoolSettings = DEFAULT_POOL_SETTINGS


DEFAULT_SETTINGS = AnalystSettings()


class Analyst:
    """Queues endpoints for pools of planners.

    1. An endpoint whose run ended, a failure first of all.
    2. Its siblings, if the run ended differently than the one before, or the endpoint was steered.
    3. An endpoint that a planner asked to analyze by now, whether it runs or is paused.
    """

    def __init__(
        self,
        pools: Sequence[Sequence[PlannerEntry]],
        *,
        dependencies: PlannerDependencies,
        settings: AnalystSettings = DEFAULT_SETTINGS,
        wakeup: Wakeup | None = None,
    ) -> None:
        self._dependencies = dependencies
        self._settings = settings
        self._wakeup = wakeup
        self._feed = RunFeed(
            store=dependencies.store.analyses,
            clock=dependencies.clock,
            resume_within=settings.resume_within,
        )
        self._recorder = AnalysisRecorder(
            store=dependencies.store.analyses, clock=dependencies.clock, log=dependencies.log
        )
        self._pools = [
            PlannerPool(entries, dependencies=dependencies, recorder=self._recorder, settings=settings.pool)
            for entries in pools
        ]
        self._dropped = 0
        self._idle_ms = settings.poll_ms
        self.alive_at = dependencies.clock.now()
        """When it last polled; long ago means that it hangs."""

    @property
    def busy(self) -> bool:
        """Whether analyses are in progress, or what is done was not saved yet."""
        return self._oldest_page() is not None or self._feed.has_unsaved_progress

    async def run(self) -> None:
        """Analyze until cancelled; an unexpected exception in any part ends it."""
        await first_of(self._follow(), self._recorder.run(), *(pool.run() for pool in self._pools))

    async def _follow(self) -> None:
        clock = self._dependencies.clock
        attempts = Attempts("planner/feed", clock, self._dependencies.log)
        while not await attempts.try_once(self._feed.resume()):
            await clock.sleep(RECOVERY_MS)
        while True:
            if not await attempts.try_once(self._poll()):
                await clock.sleep(RECOVERY_MS)

    async def _poll(self) -> None:
        """Queue new runs and due analyses, and wait if there is no more to read."""
        self.alive_at = self._dependencies.clock.now()
        runs, more = await self._feed.read()
        for run in runs:
            if run.status in COUNTED or looked(run):
                self._put(
                    AnalysisRequest(EndpointKey(run.tenant_id, run.endpoint_id), Trigger.RUN, self._feed.page)
                )
        due = await self._request_due()
        await self._feed.save_cursor(self._oldest_page())
        self._emit(runs)
        if runs or due:
            self._idle_ms = self._settings.poll_ms
        if not more:
            await self._wait()

    async def _request_due(self) -> int:
        now = self._dependencies.clock.now()
        due = await self._dependencies.store.analyses.due_analyses(now, again_at=now + LOST_AFTER, limit=PAGE)
        for key, planner, _ in due:
            self._put(AnalysisRequest(key, Trigger.DUE, self._feed.page, frozenset({planner})))
        return len(due)

    def _put(self, request: AnalysisRequest) -> None:
        for pool in self._pools:
            if not request.due_planners or request.due_planners & pool.names:
                pool.put(request)

    def _oldest_page(self) -> int | None:
        pages = [page for pool in self._pools if (page := pool.oldest_page()) is not None]
        return min(pages, default=None)

    async def _wait(self) -> None:
        """Wait for a wake-up or the poll interval, which grows while nothing happens."""
        clock, idle_ms = self._dependencies.clock, self._idle_ms
        self._idle_ms = min(idle_ms * 2, self._settings.idle_ms)
        if self._wakeup is None:
            await clock.sleep(idle_ms)
            return
        await first_of(clock.sleep(idle_ms), self._wakeup.wait())
        await clock.sleep(LINGER_MS)

    def _emit(self, runs: Sequence[Run]) -> None:
        dropped = sum(pool.dropped for pool in self._pools)
        lost, self._dropped = dropped - self._dropped, dropped
        if lost:
            self._dependencies.log.warning(
                "planner queue is full: some endpoints were skipped", endpoints=lost
            )
        if not runs and not lost:
            return
        ends = [run.finished_at for run in runs if run.finished_at is not None]
        lag_ms = max(0.0, (self._dependencies.clock.now() - min(ends)) / milliseconds(1)) if ends else 0.0
        waiting = sum(pool.waiting for pool in self._pools)
        measured = {"runs": len(runs), "lag_ms": lag_ms, "waiting": waiting, "passed_over": lost}
        self._dependencies.telemetry.emit(FEED_EVENT, measured, {})
