"""`cadenza daily`: the daily runner as a role of its own, of which any number may run on PostgreSQL."""

from contextlib import AsyncExitStack

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.dispatch.callables import CallableDispatcher
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.domain.errors import InvalidRequest
from cadenza.engine.daily.events import SCHEDULER
from cadenza.engine.daily.tick import STALLED_TICKS
from cadenza.engine.supervision import Part, Supervisor
from cadenza.ports.clock import Stopwatch
from cadenza.ports.daily import JobRunner
from cadenza.ports.telemetry import TICK, Measurements, Metadata
from cadenza.roots.api import a_log, on_signals
from cadenza.roots.settings import Settings, read_settings
from cadenza.roots.up import upkeep
from cadenza.roots.wiring.daily_service import REAL, Times, daily_parts
from cadenza.roots.wiring.daily_target import daily_target, open_jobs
from cadenza.roots.wiring.event_loop import run_to_end
from cadenza.roots.wiring.health import Health, tell_health
from cadenza.roots.wiring.monitoring import ProcessMonitoring
from cadenza.roots.wiring.stores import open_store
from cadenza.roots.worker import Workshop, tune_memory


class Pulse:
    """Hears ticks, and says whether they come."""

    def __init__(self, stopwatch: Stopwatch, *, tick_ms: int) -> None:
        self._stopwatch = stopwatch
        self._patience_ms = STALLED_TICKS * tick_ms
        self._heard_ms = stopwatch.elapsed_ms()

    def emit(self, event: str, measurements: Measurements, metadata: Metadata) -> None:  # noqa: ARG002 - It takes all that its port hands over.
        """Hear one."""
        self._heard_ms = self._stopwatch.elapsed_ms()

    @property
    def lives(self) -> bool:
        """Has one come lately?"""
        return self._stopwatch.elapsed_ms() - self._heard_ms <= self._patience_ms


def launch() -> int:
    """Serve daily users until stopped; the exit code."""
    tune_memory()
    settings = read_settings()
    if daily_target(settings) is None:
        message = "CADENZA_DAILY_TARGET must say what is done for each user: a URL, a prompt or a function."
        raise InvalidRequest(message, "daily_target")
    run_to_end(serve(settings))
    return 0


async def serve(settings: Settings, *, times: Times = REAL, jobs: JobRunner | None = None) -> None:
    """Run the daily runner alone until a signal comes; jobs are those of the settings, or given."""
    log = a_log(settings)
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(open_store(settings, ids=TimeOrderedIds(), log=log))
        monitoring = ProcessMonitoring(settings, store=store, log=log, role="daily")
        shop = Workshop(
            store=store,
            clock=times.clock,
            log=log,
            callables=CallableDispatcher(),
            telemetry=monitoring.events,
        )
        supervisor = Supervisor(clock=SystemClock(), log=log, telemetry=monitoring.events)
        if jobs is None:
            target = daily_target(settings)
            assert target is not None, "launch has looked"
            jobs = await open_jobs(stack, settings, shop, target)
        parts = daily_parts(settings, shop, jobs, times)
        pulse = Pulse(times.stopwatch, tick_ms=settings.tick_ms)
        monitoring.events.attach("pulse", pulse, {TICK})
        health = Health(lives=lambda: pulse.lives, store=store, registry=monitoring.registry)
        await tell_health(stack, settings, health=health, log=log)
        on_signals(supervisor.stop)
        log.info("cadenza is up; stop it with Ctrl-C", role="daily")
        await supervisor.run(
            *parts, Part("upkeep", upkeep(settings, shop).run), *await monitoring.open(stack, SCHEDULER)
        )
        log.info("cadenza has stopped; every verdict is written")
