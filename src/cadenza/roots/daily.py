"""`cadenza daily`: the daily runner as a process of its own; on PostgreSQL any number of them may run."""

from contextlib import AsyncExitStack

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.dispatch.callables import CallableDispatcher
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.domain.errors import InvalidRequest
from cadenza.engine.daily.events import SCHEDULER
from cadenza.engine.daily.programmes import all_programmes
from cadenza.engine.daily.tick import STALLED_TICKS
from cadenza.engine.supervision import Part, Supervisor
from cadenza.ports.clock import Stopwatch
from cadenza.ports.daily import DailyTargetRunner, ProgrammeStore
from cadenza.ports.telemetry import TICK, Measurements, Metadata
from cadenza.roots.settings import Settings, read_settings
from cadenza.roots.wiring.daily.programmes import open_targets, same_target
from cadenza.roots.wiring.daily.service import SYSTEM_CLOCKS, Clocks, daily_parts
from cadenza.roots.wiring.daily.target import daily_target
from cadenza.roots.wiring.extras import check_extras
from cadenza.roots.wiring.health import HealthServer, serve_health
from cadenza.roots.wiring.idle import refuse_beside_up
from cadenza.roots.wiring.monitoring import ProcessMonitoring
from cadenza.roots.wiring.process import open_log, run_event_loop, stop_on_signals, tune_garbage_collection
from cadenza.roots.wiring.stores import open_store
from cadenza.roots.wiring.worker import ProcessContext, retention_loop


class TickMonitor:
    """Whether the daily runner still ticks: subscribed to the tick event."""

    def __init__(self, stopwatch: Stopwatch, *, tick_ms: int) -> None:
        self._stopwatch = stopwatch
        self._allowed_ms = STALLED_TICKS * tick_ms
        self._last_tick_ms = stopwatch.elapsed_ms()

    def emit(self, event: str, measurements: Measurements, metadata: Metadata) -> None:  # noqa: ARG002 - It takes all that its port hands over.
        """Note a tick."""
        self._last_tick_ms = self._stopwatch.elapsed_ms()

    @property
    def alive(self) -> bool:
        """Whether the last tick is recent enough."""
        return self._stopwatch.elapsed_ms() - self._last_tick_ms <= self._allowed_ms


def launch() -> int:
    """Serve daily users until stopped; the exit code."""
    settings = read_settings()
    refuse_beside_up(settings, "cadenza daily")
    check_extras(settings, models=False)
    tune_garbage_collection()
    daily_target(settings)
    run_event_loop(serve(settings))
    return 0


async def _check_target(settings: Settings, programmes: ProgrammeStore) -> None:
    """InvalidRequest if neither the settings nor any programme say what is done for users."""
    if daily_target(settings) is None and not any(one.target for one in await all_programmes(programmes)):
        raise InvalidRequest(
            "CADENZA_DAILY_TARGET must say what is done for each user: a URL, a prompt or a function;"
            " or a daily programme must have a target.",
            "daily_target",
        )


async def serve(
    settings: Settings, *, clocks: Clocks = SYSTEM_CLOCKS, target_runner: DailyTargetRunner | None = None
) -> None:
    """Run the daily runner alone until a signal comes; jobs are those of the settings, or given."""
    log = open_log(settings)
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(open_store(settings, ids=TimeOrderedIds(), log=log))
        monitoring = ProcessMonitoring(settings, store=store, log=log, role="daily")
        context = ProcessContext(
            store=store,
            clock=clocks.clock,
            log=log,
            callables=CallableDispatcher(),
            telemetry=monitoring.events,
        )
        supervisor = Supervisor(clock=SystemClock(), log=log, telemetry=monitoring.events)
        if target_runner is None:
            await _check_target(settings, store.programmes)
            targets = await open_targets(stack, settings, context)
        else:
            targets = same_target(log, target_runner)
        parts = daily_parts(settings, context, targets, clocks)
        ticks = TickMonitor(clocks.stopwatch, tick_ms=settings.tick_ms)
        monitoring.events.attach("tick-monitor", ticks, {TICK})
        health = HealthServer(alive=lambda: ticks.alive, store=store.health, registry=monitoring.registry)
        await serve_health(stack, settings, health=health, log=log)
        stop_on_signals(supervisor.stop)
        log.info("cadenza is up; stop it with Ctrl-C", role="daily")
        await supervisor.run(
            *parts,
            Part("upkeep", retention_loop(settings, context).run),
            *await monitoring.open(stack, SCHEDULER),
        )
        log.info("cadenza has stopped; all daily results are written")
