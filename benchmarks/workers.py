"""The product's own loop, as the benchmarks start it."""

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.null import NoLog, NoQuota, NoTelemetry
from cadenza.engine.worker.execute import Executor
from cadenza.engine.worker.loop import WorkerLoop, WorkerSettings
from cadenza.engine.worker.sweeper import Sweeper
from cadenza.ports.dispatcher import Dispatcher
from cadenza.ports.store import Store

BATCH = 500
CAN_RUN = ("http", "prompt", "callable:noop")
CLOCK, CRON, LOG = SystemClock(), CronsimCron(), NoLog()


def worker_loop(store: Store, dispatcher: Dispatcher, *, claim_ahead_ms: int = 0) -> WorkerLoop:
    """A loop on a store, with batches of 500."""
    executor = Executor(dispatcher=dispatcher, quota=NoQuota(), clock=CLOCK)
    return WorkerLoop(
        store=store.endpoints,
        executor=executor,
        sweeper=Sweeper(store=store.endpoints, clock=CLOCK, cron=CRON, log=LOG),
        clock=CLOCK,
        cron=CRON,
        telemetry=NoTelemetry(),
        log=LOG,
        settings=WorkerSettings(claim_limit=BATCH, concurrency=4 * BATCH, claim_ahead_ms=claim_ahead_ms),
        can_run=lambda: CAN_RUN,
    )
