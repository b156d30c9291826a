"""Endpoints that deserve thought, brought to the planners."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from cadenza.domain.planning.analysis import Trigger
from cadenza.domain.planning.health import COUNTED
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.domain.scheduling.run import Run
from cadenza.domain.validation import milliseconds
from cadenza.engine.async_helpers import RECOVERY_MS, first_of, try_once
from cadenza.engine.planning.analysis import Seat
from cadenza.engine.planning.consult import Means
from cadenza.engine.planning.feed import PAGE, Feed
from cadenza.engine.planning.planner_pool import DEFAULTS, Panel, PanelSettings
from cadenza.engine.planning.queue import Look
from cadenza.engine.planning.record import Recorder
from cadenza.ports.scheduling import Bell

FED = "planner.feed.stop"
LINGER_MS = 5
"""How long runs are gathered when the bell has rung."""
LOOK_LOST = timedelta(minutes=5)
"""After so long, a look that nobody has answered is due again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalystSettings:
    """How often an analyst looks for something to think about."""

    poll_ms: int = 250
    idle_ms: int = 750
    """When nothing comes, it looks ever less often, down to this."""
    panel: PanelSettings = DEFAULTS


USUAL = AnalystSettings()


class Analyst:
    """Follows the feed, finds whose look is due, and lets panels of planners think about them.

    1. A run that ended deserves thought, and a failure first of all.
    2. So do its siblings, if it ended otherwise than before, or was steered.
    3. So does an endpoint that a planner wanted to look at by now, whether it runs or is paused.
    """

    def __init__(
        self,
        panels: Sequence[Sequence[Seat]],
        *,
        means: Means,
        settings: AnalystSettings = USUAL,
        bell: Bell | None = None,
    ) -> None:
        self._means = means
        self._settings = settings
        self._bell = bell
        self._feed = Feed(store=means.store.analyses, clock=means.clock)
        self._recorder = Recorder(store=means.store.analyses, clock=means.clock, log=means.log)
        self._panels = [
            Panel(seats, means=means, recorder=self._recorder, settings=settings.panel) for seats in panels
        ]
        self._turned_away = 0
        self._idle_ms = settings.poll_ms
        self.alive_at = means.clock.now()
        """When it last went round; an hour ago means that it hangs."""

    async def run(self) -> None:
        """Think until cancelled; a bug in any part ends it with that bug's exception."""
        await first_of(self._follow(), self._recorder.run(), *(panel.run() for panel in self._panels))

    async def _follow(self) -> None:
        clock, log = self._means.clock, self._means.log
        while not await try_once(self._feed.resume(), log):
            await clock.sleep(RECOVERY_MS)
        while True:
            if not await try_once(self._round(), log):
                await clock.sleep(RECOVERY_MS)

    async def _round(self) -> None:
        """Look for what deserves thought, and rest if that was all."""
        self.alive_at = self._means.clock.now()
        runs, more = await self._feed.read()
        for run in runs:
            if run.status in COUNTED:
                self._put(Look(EndpointKey(run.tenant_id, run.endpoint_id), Trigger.RUN, self._feed.page))
        due = await self._put_due()
        await self._feed.keep(self._oldest_page())
        self._tell(runs)
        if runs or due:
            self._idle_ms = self._settings.poll_ms
        if not more:
            await self._rest()

    async def _put_due(self) -> int:
        now = self._means.clock.now()
        due = await self._means.store.analyses.due_analyses(now, again_at=now + LOOK_LOST, limit=PAGE)
        for key, planner, _ in due:
            self._put(Look(key, Trigger.DUE, self._feed.page, frozenset({planner})))
        return len(due)

    def _put(self, look: Look) -> None:
        for panel in self._panels:
            if not look.due or look.due & panel.names:
                panel.put(look)

    def _oldest_page(self) -> int | None:
        pages = [page for panel in self._panels if (page := panel.oldest_page()) is not None]
        return min(pages, default=None)

    async def _rest(self) -> None:
        """Until the bell rings, or for a while: ever longer, if nothing comes."""
        clock, idle_ms = self._means.clock, self._idle_ms
        self._idle_ms = min(idle_ms * 2, self._settings.idle_ms)
        if self._bell is None:
            await clock.sleep(idle_ms)
            return
        await first_of(clock.sleep(idle_ms), self._bell.heard())
        await clock.sleep(LINGER_MS)

    def _tell(self, runs: Sequence[Run]) -> None:
        turned_away = sum(panel.turned_away for panel in self._panels)
        lost, self._turned_away = turned_away - self._turned_away, turned_away
        if lost:
            self._means.log.warning("planners are busy: some endpoints were passed over", endpoints=lost)
        if not runs and not lost:
            return
        ends = [run.finished_at for run in runs if run.finished_at is not None]
        lag_ms = max(0.0, (self._means.clock.now() - min(ends)) / milliseconds(1)) if ends else 0.0
        waiting = sum(panel.waiting for panel in self._panels)
        measured = {"runs": len(runs), "lag_ms": lag_ms, "waiting": waiting, "passed_over": lost}
        self._means.telemetry.emit(FED, measured, {})
