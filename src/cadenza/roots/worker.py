"""A worker: store, dispatchers and loop, from settings to a running object."""

import asyncio
import gc
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from cadenza.adapters.access.quota import CountedQuota
from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.dispatch.by_target import DispatcherByTarget
from cadenza.adapters.dispatch.callables import CallableDispatcher
from cadenza.adapters.null import NoTelemetry
from cadenza.engine.async_helpers import Work
from cadenza.engine.worker.execute import Executor
from cadenza.engine.worker.loop import Loop, LoopSettings
from cadenza.engine.worker.scheduler import Scheduler, SchedulerSettings
from cadenza.engine.worker.settler import EndpointAlerts
from cadenza.engine.worker.sweeper import Sweeper
from cadenza.ports.clock import Clock
from cadenza.ports.dispatcher import Dispatcher
from cadenza.ports.secrets import SecretStore
from cadenza.ports.store import Store
from cadenza.ports.telemetry import Logger, Telemetry
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.agents import conversations, prompt_dispatcher
from cadenza.roots.wiring.application import dependencies
from cadenza.roots.wiring.http_dispatch import http_dispatcher, open_secrets


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """What a worker works with."""

    store: Store
    clock: Clock
    log: Logger
    callables: CallableDispatcher
    telemetry: Telemetry = field(default_factory=NoTelemetry)
    alerts: EndpointAlerts | None = None


class Worker:
    """A worker that can begin anew: a loop that crashed leaves its claims to the sweeper."""

    def __init__(self, new_loop: Callable[[], Loop]) -> None:
        self._new_loop = new_loop
        self._loop = new_loop()

    @property
    def alive_at(self) -> datetime:
        """When it last went round."""
        return self._loop.alive_at

    @property
    def in_flight(self) -> int:
        """How many claims it holds."""
        return self._loop.in_flight

    def run(self) -> Work:
        """Run until stopped, with a loop of its own."""
        self._loop = self._new_loop()
        return self._loop.run()

    def stop(self) -> None:
        """Ask it to claim no more, let runs finish and settle them."""
        self._loop.stop()


@asynccontextmanager
async def worker(settings: Settings, shop: Workshop) -> AsyncIterator[Loop]:
    """A loop that is ready to run."""
    async with looping(settings, shop) as new_loop:
        yield new_loop()


@asynccontextmanager
async def looping(settings: Settings, shop: Workshop) -> AsyncIterator[Callable[[], Loop]]:
    """What makes loops, each ready to run, one at a time."""
    async with AsyncExitStack() as stack:
        stored = await stack.enter_async_context(open_secrets(settings))
        http = await stack.enter_async_context(http_dispatcher(settings, stored, clock=shop.clock))
        executor = Executor(
            dispatcher=DispatcherByTarget(
                http=http, callables=shop.callables, prompts=_prompts(settings, shop, stored)
            ),
            quota=CountedQuota(shop.store, shop.clock, shop.telemetry),
            clock=shop.clock,
        )
        yield partial(_loop, settings, shop, executor)


def _prompts(settings: Settings, shop: Workshop, stored: SecretStore) -> Dispatcher:
    """What lets agents answer when a schedule fires; their tools are an application's own."""
    trials = DispatcherByTarget(callables=shop.callables)
    given = dependencies(store=shop.store, clock=shop.clock, log=shop.log, dispatcher=trials, secrets=stored)
    return prompt_dispatcher(conversations(settings, given), given)


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
        alerts=shop.alerts,
    )
    return Loop(
        scheduler=scheduler,
        executor=executor,
        sweeper=Sweeper(
            store=shop.store,
            clock=shop.clock,
            cron=cron,
            log=shop.log,
            telling=scheduler.telling,
            alerts=shop.alerts,
        ),
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
