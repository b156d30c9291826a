"""A worker process whose function takes a while, and notes when it began and ended, until its input ends.

It takes the URL of a database, the milliseconds that the function takes, and the file for what it noted:
a line for each run, with two moments of the machine's monotonic clock in nanoseconds.
"""

import asyncio
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from time import monotonic_ns

from benchmarks.cycle_process import on_loop
from benchmarks.fill_database import NOOP
from benchmarks.workers import CLOCK, LOG

from cadenza.adapters.dispatch.callables import CallableDispatcher
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.process import run_event_loop, tune_garbage_collection
from cadenza.roots.wiring.stores import open_store
from cadenza.roots.wiring.worker import ProcessContext, open_loop


def stop_at_end(stop: Callable[[], object]) -> None:
    """Call this when the standard input ends."""

    def body() -> None:
        sys.stdin.read()
        stop()

    threading.Thread(target=body, daemon=True).start()


async def work(url: str, takes_ms: float, noted: list[str]) -> None:
    """Be a worker with the product's defaults, but for the jitter and the places."""

    async def function() -> None:
        began = monotonic_ns()
        await asyncio.sleep(takes_ms / 1_000)
        noted.append(f"{began} {monotonic_ns()}")

    callables = CallableDispatcher()
    callables.register(NOOP, function)
    settings = Settings(database_url=url, jitter_ms=0, worker_concurrency=200, claim_limit=200)
    async with open_store(settings, ids=TimeOrderedIds(), log=LOG) as store:
        context = ProcessContext(store=store, clock=CLOCK, log=LOG, callables=callables)
        async with open_loop(settings, context) as loop:
            stop_at_end(on_loop(loop.stop))
            print("ready", flush=True)
            await loop.run()


if __name__ == "__main__":
    tune_garbage_collection()
    lines: list[str] = []
    run_event_loop(work(sys.argv[1], float(sys.argv[2]), lines))
    Path(sys.argv[3]).write_text("\n".join(lines))
