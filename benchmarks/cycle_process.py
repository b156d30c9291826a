"""A process that runs cycles until its standard input ends, and prints their number for each line of it.

It takes a role, worker or ceiling, the URL of a database, and the size of a batch.
"""

import asyncio
import sys
import threading
from collections.abc import Callable

import asyncpg
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


class Counter:
    """Counts cycles, and prints the count."""

    def __init__(self) -> None:
        self.count = 0

    async def noop(self) -> None:
        """A function that does nothing."""
        self.count += 1

    def answer(self, on_end: Callable[[], object]) -> None:
        """Answer every line of the input, in a thread of its own, until it ends."""
        loop = asyncio.get_running_loop()

        def body() -> None:
            for _ in sys.stdin:
                print(self.count, flush=True)
            loop.call_soon_threadsafe(on_end)

        threading.Thread(target=body, daemon=True).start()


async def work(url: str, batch: int) -> None:
    """Be a worker as the product sets it up, with batches as large as the ceiling's."""
    settings = Settings(database_url=url, jitter_ms=0, claim_limit=batch, worker_concurrency=4 * batch)
    counter, callables = Counter(), CallableDispatcher()
    callables.register(NOOP, counter.noop)
    async with open_store(settings, ids=TimeOrderedIds(), log=LOG) as store:
        context = ProcessContext(store=store, clock=CLOCK, log=LOG, callables=callables)
        async with open_loop(settings, context) as loop:
            await _run(loop, counter)


async def _run(loop: WorkerLoop, counter: Counter) -> None:
    counter.answer(loop.stop)
    await loop.run()


async def run_ceiling(url: str, batch: int) -> None:
    """Claim and settle one batch after the other."""
    connection, counter, ended = await asyncpg.connect(url), Counter(), asyncio.Event()
    ceiling = PostgresCeiling(connection, batch)
    counter.answer(ended.set)
    while not ended.is_set():
        claimed = await ceiling.claim(CLOCK.now())
        now = CLOCK.now()
        await ceiling.settle(now, [now] * len(claimed))
        counter.count += len(claimed)
    await connection.close()


ROLES = {"worker": work, "ceiling": run_ceiling}

if __name__ == "__main__":
    tune_garbage_collection()
    run_event_loop(ROLES[sys.argv[1]](sys.argv[2], int(sys.argv[3])))
