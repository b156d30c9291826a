"""A process that runs cycles until its standard input ends, and prints their number for each line of it.

It takes a role, worker, default, ceiling or rows, the URL of a database, and the size of a batch.
"""

import asyncio
import sys
from collections.abc import Callable
from functools import partial

import asyncpg
from benchmarks.counting import Counter
from benchmarks.fill_database import NOOP
from benchmarks.postgres_ceiling import PostgresCeiling
from benchmarks.workers import CLOCK, LOG

from cadenza.adapters.dispatch.callables import CallableDispatcher
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.engine.worker.loop import WorkerLoop
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.process import run_event_loop, tune_garbage_collection
from cadenza.roots.wiring.stores import open_store
from cadenza.roots.wiring.worker import ProcessContext, open_loop

CONNECTIONS = 10


async def work_tuned(url: str, batch: int) -> None:
    """Be a worker with batches as large as the ceiling's."""
    await work(Settings(database_url=url, jitter_ms=0, claim_limit=batch, worker_concurrency=4 * batch))


async def work_by_default(url: str, _: int) -> None:
    """Be a worker with the product's defaults, but for the jitter: everything is overdue here."""
    await work(Settings(database_url=url, jitter_ms=0))


async def work(settings: Settings) -> None:
    """Be a worker as the product sets it up."""
    counter, callables = Counter(), CallableDispatcher()
    callables.register(NOOP, counter.noop)
    async with open_store(settings, ids=TimeOrderedIds(), log=LOG) as store:
        context = ProcessContext(store=store, clock=CLOCK, log=LOG, callables=callables)
        async with open_loop(settings, context) as loop:
            await _run(loop, counter)


async def _run(loop: WorkerLoop, counter: Counter) -> None:
    counter.answer(on_loop(loop.stop))
    await loop.run()


def on_loop(callback: Callable[[], object]) -> Callable[[], object]:
    """Have the running event loop call this, from whatever thread."""
    return partial(asyncio.get_running_loop().call_soon_threadsafe, callback)


async def run_ceiling(url: str, batch: int, *, connections: int = 1) -> None:
    """Claim and settle one batch after the other."""
    counter, ended = Counter(), asyncio.Event()
    counter.answer(on_loop(ended.set))

    async def cycle() -> None:
        connection = await asyncpg.connect(url)
        ceiling = PostgresCeiling(connection, batch)
        while not ended.is_set():
            claimed = await ceiling.claim(CLOCK.now())
            now = CLOCK.now()
            await ceiling.settle(now, [now] * len(claimed))
            counter.count += len(claimed)
        await connection.close()

    await asyncio.gather(*(cycle() for _ in range(connections)))


async def run_rows(url: str, _: int) -> None:
    """The ceiling without batches: one row at a time on each of several connections."""
    await run_ceiling(url, 1, connections=CONNECTIONS)


ROLES = {"worker": work_tuned, "default": work_by_default, "ceiling": run_ceiling, "rows": run_rows}

if __name__ == "__main__":
    tune_garbage_collection()
    run_event_loop(ROLES[sys.argv[1]](sys.argv[2], int(sys.argv[3])))
