"""An office: what operations need, from settings to something that can be asked."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace

from cadenza.adapters.callables import CallableDispatcher
from cadenza.adapters.clock import SystemClock
from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.dispatch import DispatcherByTarget
from cadenza.adapters.expressions import CelExpressions
from cadenza.adapters.http.dispatcher import HttpDispatcher
from cadenza.adapters.http.settings import HttpSettings
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.mint import RandomMint
from cadenza.adapters.quiet import NoQuota
from cadenza.engine.execution import Executor
from cadenza.engine.steering import Steering
from cadenza.operations.desk import Supplies
from cadenza.operations.office import Office
from cadenza.ports.clock import Clock
from cadenza.ports.dispatcher import Dispatcher
from cadenza.ports.log import Logger
from cadenza.ports.secrets import SecretStore
from cadenza.ports.store import Store
from cadenza.roots.agents import conversing
from cadenza.roots.secrets import for_targets, open_secrets
from cadenza.roots.settings import Settings
from cadenza.sim.playback import Playback


@asynccontextmanager
async def open_office(
    settings: Settings, *, store: Store, clock: Clock, log: Logger, callables: CallableDispatcher
) -> AsyncIterator[Office]:
    """An office on a store; trials are dispatched as a worker would, and no quota counts them."""
    async with AsyncExitStack() as stack:
        stored = await stack.enter_async_context(open_secrets(settings))
        reach = HttpSettings(allow_private=settings.allow_private_targets, allow=settings.allow_targets)
        http = await stack.enter_async_context(
            HttpDispatcher(secrets=for_targets(settings, stored), clock=clock, settings=reach)
        )
        dispatcher = DispatcherByTarget(http=http, callables=callables)
        given = supplies(store=store, clock=clock, log=log, dispatcher=dispatcher, secrets=stored)
        yield Office(replace(given, conversing=conversing(settings, given)))


def supplies(
    *, store: Store, clock: Clock, log: Logger, dispatcher: Dispatcher, secrets: SecretStore
) -> Supplies:
    """What desks share, all but the agents."""
    cron = CronsimCron()
    return Supplies(
        store=store,
        clock=clock,
        cron=cron,
        ids=TimeOrderedIds(),
        mint=RandomMint(),
        log=log,
        executor=Executor(dispatcher=dispatcher, quota=NoQuota(), clock=clock),
        secrets=secrets,
        steering=Steering(store=store, clock=clock, cron=cron, log=log),
        expressions=CelExpressions(),
        wall=SystemClock(),
        simulations=Playback(),
    )
