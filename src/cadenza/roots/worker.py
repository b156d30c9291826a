"""A worker: store, dispatchers and loop, from settings to a running object."""

import asyncio
import gc
import signal
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

from cadenza.adapters.callables import CallableDispatcher
from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.dispatch import DispatcherByTarget
from cadenza.adapters.http.dispatcher import HttpDispatcher
from cadenza.adapters.http.settings import HttpSettings
from cadenza.adapters.quiet import NoTelemetry
from cadenza.adapters.quota import CountedQuota
from cadenza.engine.execution import Executor
from cadenza.engine.loop import Loop, LoopSettings
from cadenza.engine.scheduler import Scheduler, SchedulerSettings
from cadenza.engine.sweeper import Sweeper
from cadenza.ports.clock import Clock
from cadenza.ports.log import Logger
from cadenza.ports.store import Store
from cadenza.ports.telemetry import Telemetry
from cadenza.roots.secrets import for_targets, open_secrets
from cadenza.roots.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """What a worker works with."""

    store: Store
    clock: Clock
    log: Logger
    callables: CallableDispatcher
    telemetry: Telemetry = field(default_factory=NoTelemetry)


@asynccontextmanager
async def worker(settings: Settings, shop: Workshop) -> AsyncIterator[Loop]:
    """A loop that is ready to run."""
    async with AsyncExitStack() as stack:
        reach = HttpSettings(allow_private=settings.allow_private_targets, allow=settings.allow_targets)
        secrets = for_targets(settings, await stack.enter_async_context(open_secrets(settings)))
        http = await stack.enter_async_context(
            HttpDispatcher(secrets=secrets, clock=shop.clock, settings=reach)
        )
        executor = Executor(
            dispatcher=DispatcherByTarget(http=http, callables=shop.callables),
            quota=CountedQuota(shop.store, shop.clock),
            clock=shop.clock,
        )
        yield _loop(settings, shop, executor)


def _loop(settings: Settings, shop: Workshop, executor: Executor) -> Loop:
    cron = CronsimCron()
    scheduler = Scheduler(
        store=shop.store,
        executor=executor,
        clock=shop.clock,
        cron=cron,
        telemetry=shop.telemetry,
        log=shop.log,
        settings=SchedulerSettings(
            claim_limit=settings.claim_limit,
            concurrency=settings.worker_concurrency,
            within_ms=settings.claim_ahead_ms,
            lease_ms=settings.lease_ms,
        ),
    )
    return Loop(
        scheduler=scheduler,
        executor=executor,
        sweeper=Sweeper(store=shop.store, clock=shop.clock, cron=cron, log=shop.log),
        store=shop.store,
        clock=shop.clock,
        log=shop.log,
        settings=LoopSettings(
            jitter_ms=settings.jitter_ms, grace_ms=settings.grace_ms, poll_ms=settings.poll_ms
        ),
    )


def tune_memory() -> None:
    """Let the collector look less often: a worker makes many short-lived values, and hardly a cycle."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def stop_on_signals(loop: Loop) -> None:
    """SIGTERM and SIGINT ask for a clean end."""
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, loop.stop)
