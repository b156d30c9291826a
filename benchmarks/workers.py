"""The product's own loop, as the benchmarks start it."""

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.null import NoLog, NoQuota, NoTelemetry
from cadenza.engine.worker.execute import Executor
from cadenza.engine.worker.loop import Loop, LoopSettings
from cadenza.engine.worker.scheduler import Scheduler, SchedulerSettings
from cadenza.engine.worker.sweeper import Sweeper
from cadenza.ports.dispatcher import Dispatcher
from cadenza.ports.store import Store

BATCH = 500
CLOCK, CRON, LOG = SystemClock(), CronsimCron(), NoLog()


def a_worker(store: Store, dispatcher: Dispatcher, *, within_ms: int = 0) -> Loop:
    """A loop on a store, with batches of 500."""
    executor = Executor(dispatcher=dispatcher, quota=NoQuota(), clock=CLOCK)
    settings = SchedulerSettings(claim_limit=BATCH, concurrency=4 * BATCH, within_ms=within_ms)
    scheduler = Scheduler(
        store=store,
        executor=executor,
        clock=CLOCK,
        cron=CRON,
        telemetry=NoTelemetry(),
        log=LOG,
        settings=settings,
    )
    sweeper = Sweeper(store=store, clock=CLOCK, cron=CRON, log=LOG)
    return Loop(
        scheduler=scheduler,
        executor=executor,
        sweeper=sweeper,
        store=store,
        clock=CLOCK,
        log=LOG,
        settings=LoopSettings(),
    )
