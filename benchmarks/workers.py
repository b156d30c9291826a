"""The product's own loop, as the benchmarks start it."""

from cadenza.adapters.clock import SystemClock, SystemStopwatch
from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.null import NoLog, NoQuota, NoTelemetry
from cadenza.engine.worker.execute import Executor
from cadenza.engine.worker.loop import WorkerLoop
from cadenza.engine.worker.sweeper import Sweeper
from cadenza.engine.worker.worker_settings import WorkerSettings
from cadenza.ports.dispatcher import Dispatcher
from cadenza.ports.store import Store
from cadenza.roots.settings import Settings

BATCH = 500
CAN_RUN = ("http", "prompt", "callable:noop")
CLOCK, CRON, LOG = SystemClock(), CronsimCron(), NoLog()


def worker_loop(
    store: Store, dispatcher: Dispatcher, *, claim_ahead_ms: int = 0, default: bool = False
) -> WorkerLoop:
    """A loop on a store, tuned for bursts, or with the size that the product has by default."""
    settings = Settings() if default else Settings(claim_limit=BATCH, worker_concurrency=4 * BATCH)
    executor = Executor(dispatcher=dispatcher, quota=NoQuota(), clock=CLOCK)
    return WorkerLoop(
        store=store.endpoints,
        executor=executor,
        sweeper=Sweeper(store=store.endpoints, clock=CLOCK, cron=CRON, log=LOG),
        clock=CLOCK,
        cron=CRON,
        telemetry=NoTelemetry(),
        log=LOG,
        settings=WorkerSettings(
            claim_limit=settings.claim_limit,
            concurrency=settings.worker_concurrency,
            claim_ahead_ms=claim_ahead_ms,
        ),
        can_run=lambda: CAN_RUN,
        stopwatch=SystemStopwatch(),
    )
