"""Planners: from settings to an analyst that follows the runs; beside a worker, or as a role of its own."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

from cadenza.adapters.access.quota import CountedQuota
from cadenza.adapters.clock import SystemClock
from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.daily.single_process import FileChair
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.planners.change_detection import shown
from cadenza.adapters.planners.http_hints import HttpHints
from cadenza.adapters.planners.learning.planner import LearnedPlanner
from cadenza.adapters.planners.rules.expressions import CelExpressions
from cadenza.adapters.planners.rules.planner import RulePlanner
from cadenza.adapters.telemetry.prometheus import PlannerMetrics
from cadenza.engine.planning.analysis import Seat
from cadenza.engine.planning.analyst import Analyst
from cadenza.engine.planning.consult import Means
from cadenza.engine.steering import Steering
from cadenza.engine.supervision import Part, Supervisor
from cadenza.ports.clock import Clock
from cadenza.ports.leader import Chair
from cadenza.ports.planning import Planner
from cadenza.ports.store import Bell, Store
from cadenza.ports.telemetry import Logger, Telemetry
from cadenza.roots.api import a_log, on_signals
from cadenza.roots.settings import Settings, read_settings
from cadenza.roots.wiring.event_loop import run_to_end
from cadenza.roots.wiring.health import HANGS_AFTER, Health, tell_health
from cadenza.roots.wiring.llm import llm_planner
from cadenza.roots.wiring.monitoring import ProcessMonitoring
from cadenza.roots.wiring.stores import SQLITE, open_pool, open_store
from cadenza.roots.worker import tune_memory

SLOW = frozenset({"llm"})
"""Planners that take long, and spend tokens."""
LONG_MS = 180_000


class Study(NamedTuple):
    """Where planners think."""

    store: Store
    clock: Clock
    log: Logger
    telemetry: Telemetry
    bell: Bell | None = None
    """Rings when a run has ended in this process."""


def planners(settings: Settings, store: Store) -> list[Planner]:
    """Every planner there is, those that cost nothing first."""
    found: list[Planner | None] = [
        RulePlanner(store, CelExpressions()),
        HttpHints(),
        LearnedPlanner(store),
        llm_planner(settings, store),
    ]
    return [planner for planner in found if planner is not None]


def panels(found: Sequence[Planner]) -> list[list[Seat]]:
    """Quick planners share a briefing; each slow one has a panel of its own, so that nobody waits for it."""
    quick = [Seat(planner) for planner in found if planner.name not in SLOW]
    slow = [
        Seat(planner, timeout_ms=LONG_MS, spends=True, health=True)
        for planner in found
        if planner.name in SLOW
    ]
    return [quick, *([seat] for seat in slow)]


def analyst(found: Sequence[Planner], study: Study) -> Analyst:
    """An analyst that is ready to run."""
    store, clock, log, telemetry, bell = study
    means = Means(
        store=store,
        clock=clock,
        ids=TimeOrderedIds(),
        quota=CountedQuota(store, clock, telemetry),
        steering=Steering(store=store, clock=clock, cron=CronsimCron(), log=log),
        log=log,
        telemetry=telemetry,
        shown=shown,
    )
    return Analyst(panels(found), means=means, bell=bell)


class Thinker:
    """Lets planners think whenever this process has their chair."""

    def __init__(self, settings: Settings, study: Study) -> None:
        # A model that cannot be used is refused here, and not whenever it is this process's turn.
        planners(settings, study.store)
        self._settings = settings
        self._study = study
        self._analyst: Analyst | None = None

    @property
    def lives(self) -> bool:
        """Does it go round, or wait for its turn?"""
        at_work = self._analyst
        return at_work is None or self._study.clock.now() - at_work.alive_at < HANGS_AFTER

    async def run(self) -> None:
        """Think until cancelled; a bug ends it with its exception."""
        await _chair(self._settings, self._study.log).hold(self._think)

    async def _think(self) -> None:
        # Made anew, since whoever had the chair meanwhile may have learned more.
        self._analyst = analyst(planners(self._settings, self._study.store), self._study)
        try:
            await self._analyst.run()
        finally:
            self._analyst = None


def launch() -> int:
    """Plan until stopped; the exit code."""
    tune_memory()
    run_to_end(plan(read_settings()))
    return 0


async def plan(settings: Settings) -> None:
    """Run the planners alone until a signal comes; of several processes, one acts at a time."""
    log = a_log(settings)
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(open_store(settings, ids=TimeOrderedIds(), log=log))
        monitoring = ProcessMonitoring(settings, store=store, log=log, role="planner")
        monitoring.events.attach("planner-metrics", PlannerMetrics(monitoring.registry))
        supervisor = Supervisor(clock=SystemClock(), log=log, telemetry=monitoring.events)
        thinker = Thinker(settings, Study(store, SystemClock(), log, monitoring.events))
        health = Health(lives=lambda: thinker.lives, store=store, registry=monitoring.registry)
        await tell_health(stack, settings, health=health, log=log)
        on_signals(supervisor.stop)
        log.info("cadenza is up; stop it with Ctrl-C", role="planner")
        await supervisor.run(Part("planner", thinker.run), *await monitoring.open(stack))
        log.info("cadenza has stopped; what was being thought about is thought about again")


def _chair(settings: Settings, log: Logger) -> Chair:
    if settings.database_url.startswith(SQLITE):
        return FileChair(Path(settings.database_url.removeprefix(SQLITE)), log)
    pool = open_pool(settings, size=1)
    from cadenza.adapters.stores.postgres.leader_lock import PostgresChair

    return PostgresChair(pool, log)
