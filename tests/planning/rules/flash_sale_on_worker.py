"""The flash sale on the real worker: real HTTP, a real store, the analyst, and time that hurries."""

import asyncio
from contextlib import AsyncExitStack
from datetime import datetime, timedelta
from heapq import heappop, heappush
from pathlib import Path
from typing import NamedTuple

from cadenza.adapters.dispatch.callables import CallableDispatcher
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.null import NoLog, NoTelemetry
from cadenza.domain.planning.analysis import Analysis
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.domain.scheduling.run import Run
from cadenza.domain.scheduling.steer import HintRecord
from cadenza.engine.async_helpers import first_of
from cadenza.ports.store import Store
from cadenza.roots.demo import FlashSale
from cadenza.roots.planner import PlannerContext, analyst, planners
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.stores import open_store
from cadenza.roots.wiring.worker import ProcessContext, open_loop
from cadenza.sim.flash_sale.scenario import unsteered_sale
from cadenza.sim.product_run import EVERYTHING, TENANT
from cadenza.sim.world import END_S, START

TICK = timedelta(milliseconds=300)
NOBODY = EndpointKey(TENANT, "nobody")


class TickingClock:
    """Every breath of the machine is a tick: time hurries, but runs ahead of nobody who is out of breath."""

    def __init__(self) -> None:
        self._now = START
        self._count = 0
        self._sleepers: list[tuple[datetime, int, asyncio.Future[None]]] = []

    def now(self) -> datetime:
        return self._now

    async def sleep(self, span_ms: float) -> None:
        self._count += 1
        sleeper: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heappush(self._sleepers, (self._now + timedelta(milliseconds=span_ms), self._count, sleeper))
        await sleeper

    async def run(self, until: datetime, store: Store) -> None:
        while self._now < until:
            await self._breathe(store)
            self._now += TICK
            while self._sleepers and self._sleepers[0][0] <= self._now:
                sleeper = heappop(self._sleepers)[2]
                if not sleeper.done():
                    sleeper.set_result(None)

    async def _breathe(self, store: Store) -> None:
        """What was asked of the store before is done, and who waited for it or for the network had a turn."""
        await asyncio.sleep(0)
        await store.endpoints.renew([], self._now)
        await store.runs.runs(NOBODY)


class StoredHistory(NamedTuple):
    """What the store holds of an endpoint."""

    runs: list[Run]
    hints: list[HintRecord]
    analyses: list[Analysis]


async def play_for_real(folder: Path) -> dict[str, StoredHistory]:
    """Forty minutes of the sale under its rules."""
    settings = Settings(database_url=f"sqlite:///{folder / 'sale.db'}", jitter_ms=0)
    log, clock = NoLog(), TickingClock()
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(open_store(settings, ids=TimeOrderedIds(), log=log))
        sale = FlashSale(store=store, clock=clock, log=log)
        address = await stack.enter_async_context(sale.open(0))
        near = settings.model_copy(update={"allow_targets": (address,)})
        context = ProcessContext(store=store, clock=clock, log=log, callables=CallableDispatcher())
        loop = await stack.enter_async_context(open_loop(near, context))
        everybody = planners(Settings(llm_model=None), store)
        thinking = analyst(everybody, PlannerContext(store, clock, log, NoTelemetry()))
        await first_of(loop.run(), thinking.run(), clock.run(START + timedelta(seconds=END_S), store))
        return await _stored_history(store)


async def _stored_history(store: Store) -> dict[str, StoredHistory]:
    keys = [EndpointKey(TENANT, endpoint.name) for endpoint in unsteered_sale().endpoints]
    return {
        key.id: StoredHistory(
            [run for run in await store.runs.runs(key, EVERYTHING) if run.started_at is not None],
            await store.runs.hints(key, EVERYTHING),
            await store.analyses.analyses(key, EVERYTHING),
        )
        for key in keys
    }
