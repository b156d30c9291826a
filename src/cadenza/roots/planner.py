"""`cadenza planner`: the planners as a process of their own; `cadenza up` runs them beside the worker."""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from cadenza.adapters.access.quota import CountedQuota
from cadenza.adapters.clock import SystemClock
from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.daily.single_process import FileLeaderLock
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.planners.change_detection import fingerprint
from cadenza.adapters.planners.http_hints import HttpHints
from cadenza.adapters.planners.learning.planner import LearningPlanner
from cadenza.adapters.planners.rules.expressions import CelExpressions
from cadenza.adapters.planners.rules.planner import RulePlanner
from cadenza.adapters.telemetry.prometheus import PlannerMetrics
from cadenza.engine.idle import IdleGate
from cadenza.engine.planning.analysis import PlannerEntry
from cadenza.engine.planning.analyst import DEFAULT_SETTINGS, Analyst, AnalystSettings
from cadenza.engine.planning.planner_runner import PlannerDependencies
from cadenza.engine.steering import Steering
from cadenza.engine.supervision import Part, Supervisor
from cadenza.ports.clock import Clock
from cadenza.ports.planning import LeaderLock, Planner
from cadenza.ports.scheduling import Wakeup
from cadenza.ports.store import Store
from cadenza.ports.telemetry import Logger, Telemetry
from cadenza.roots.settings import SQLITE, Settings, read_settings
from cadenza.roots.wiring.extras import check_extras
from cadenza.roots.wiring.health import HANGS_AFTER, HealthServer, serve_health
from cadenza.roots.wiring.idle import refuse_beside_up
from cadenza.roots.wiring.llm import llm_planner
from cadenza.roots.wiring.monitoring import ProcessMonitoring
from cadenza.roots.wiring.process import open_log, run_event_loop, stop_on_signals, tune_garbage_collection
from cadenza.roots.wiring.stores import open_pool, open_store

SLOW = frozenset({"llm"})
"""Planners that are slow and spend tokens."""
SLOW_TIMEOUT_MS = 180_000
AFTER_IDLE = timedelta(days=30)
"""How old a saved place in the feed of runs may be where the process may have been idle since."""


class PlannerContext(NamedTuple):
    """What planners need from the process they run in."""

    store: Store
    clock: Clock
    log: Logger
    telemetry: Telemetry
    wakeup: Wakeup | None = None
    """Notified when a run has ended in this process."""
    idle: IdleGate | None = None
    """Where the process may be idle: its leases run out meanwhile, and runs may be days apart."""


def planners(settings: Settings, store: Store) -> list[Planner]:
    """All planners, those that spend no tokens first."""
    found: list[Planner | None] = [
        RulePlanner(store.rules, store.analyses, CelExpressions()),
        HttpHints(),
        LearningPlanner(store),
        llm_planner(settings, store.runs),
    ]
    return [planner for planner in found if planner is not None]


def planner_groups(found: Sequence[Planner]) -> list[list[PlannerEntry]]:
    """Quick planners share a briefing; each slow one is a group of its own, so that no other waits for it."""
    quick = [PlannerEntry(planner) for planner in found if planner.name not in SLOW]
    slow = [
        PlannerEntry(planner, timeout_ms=SLOW_TIMEOUT_MS, uses_tokens=True, health=True)
        for planner in found
        if planner.name in SLOW
    ]
    return [quick, *([entry] for entry in slow)]


def analyst(found: Sequence[Planner], context: PlannerContext, *, jitter_ms: int = 0) -> Analyst:
    """An analyst that is ready to run."""
    store, clock, log, telemetry, wakeup, idle = context
    dependencies = PlannerDependencies(
        store=store,
        clock=clock,
        ids=TimeOrderedIds(),
        quota=CountedQuota(store.tenants, clock, telemetry),
        steering=Steering(store=store.endpoints, clock=clock, cron=CronsimCron(), jitter_ms=jitter_ms),
        log=log,
        telemetry=telemetry,
        fingerprint=fingerprint,
    )
    settings = DEFAULT_SETTINGS if idle is None else AnalystSettings(resume_within=AFTER_IDLE)
    return Analyst(planner_groups(found), dependencies=dependencies, settings=settings, wakeup=wakeup)


class PlannerService:
    """Runs the planners while this process holds the leader lock: one process plans at a time."""

    def __init__(self, settings: Settings, context: PlannerContext) -> None:
        # A model that cannot be used is refused here, and not when this process becomes the leader.
        planners(settings, context.store)
        self._settings = settings
        self._context = context
        self._analyst: Analyst | None = None

    @property
    def alive(self) -> bool:
        """Whether the analyst makes progress, or waits to become the leader."""
        analyst = self._analyst
        return analyst is None or self._context.clock.now() - analyst.alive_at < HANGS_AFTER

    @property
    def busy(self) -> bool:
        """Whether analyses are in progress here."""
        return self._analyst is not None and self._analyst.busy

    async def run(self) -> None:
        """Plan until cancelled; a bug ends it with its exception."""
        await _leader_lock(self._settings, self._context).hold(self._plan)

    async def _plan(self) -> None:
        # A new analyst, since the planners of the last leader may have learned more.
        found = planners(self._settings, self._context.store)
        self._analyst = analyst(found, self._context, jitter_ms=self._settings.jitter_ms)
        try:
            await self._analyst.run()
        finally:
            self._analyst = None


def launch() -> int:
    """Plan until stopped; the exit code."""
    settings = read_settings()
    refuse_beside_up(settings, "cadenza planner")
    check_extras(settings)
    tune_garbage_collection()
    run_event_loop(plan(settings))
    return 0


async def plan(settings: Settings) -> None:
    """Run the planners alone until a signal comes; of several processes, one acts at a time."""
    log = open_log(settings)
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(open_store(settings, ids=TimeOrderedIds(), log=log))
        monitoring = ProcessMonitoring(settings, store=store, log=log, role="planner")
        monitoring.events.attach("planner-metrics", PlannerMetrics(monitoring.registry))
        supervisor = Supervisor(clock=SystemClock(), log=log, telemetry=monitoring.events)
        planners_here = PlannerService(settings, PlannerContext(store, SystemClock(), log, monitoring.events))
        health = HealthServer(
            alive=lambda: planners_here.alive, store=store.health, registry=monitoring.registry
        )
        await serve_health(stack, settings, health=health, log=log)
        stop_on_signals(supervisor.stop)
        log.info("cadenza is up; stop it with Ctrl-C", role="planner")
        await supervisor.run(Part("planner", planners_here.run), *await monitoring.open(stack))
        log.info("cadenza has stopped; unfinished analyses are repeated")


def _leader_lock(settings: Settings, context: PlannerContext) -> LeaderLock:
    log = context.log
    if settings.database_url.startswith(SQLITE):
        return FileLeaderLock(Path(settings.database_url.removeprefix(SQLITE)), log)
    pool = open_pool(settings, size=1)
    from cadenza.adapters.stores.postgres.locks.leader_lock import LeasedLeaderLock, PostgresLeaderLock

    if pool.profile.advisory_locks:
        return PostgresLeaderLock(pool, log)
    sleep = asyncio.sleep if context.idle is None else context.idle.sleep
    return LeasedLeaderLock(pool, log, TimeOrderedIds().new(), sleep=sleep)
