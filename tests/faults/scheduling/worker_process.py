"""A worker of the tests beside it: a real one, whose one function notes the run it was called for."""

import asyncio
import os
import sys
from random import Random

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.dispatch.callables import CallableDispatcher
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.telemetry.log import StructuredLog
from cadenza.domain.scheduling.run import Claim
from cadenza.roots.settings import read_settings
from cadenza.roots.wiring.process import stop_on_signals
from cadenza.roots.wiring.stores import open_store
from cadenza.roots.wiring.worker import ProcessContext, open_loop


async def main(path: str, least_ms: float, most_ms: float) -> None:
    chance = Random(os.getpid())
    out = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    settings, log, callables = read_settings(), StructuredLog(), CallableDispatcher()

    async def note(run: Claim) -> None:
        os.write(out, f"{run.run_id}\n".encode())
        await asyncio.sleep(chance.uniform(least_ms, most_ms) / 1_000)

    callables.register("note", note)
    async with open_store(settings, ids=TimeOrderedIds(), log=log) as store:
        context = ProcessContext(store=store, clock=SystemClock(), log=log, callables=callables)
        async with open_loop(settings, context) as loop:
            stop_on_signals(loop.stop)
            log.info("ready")
            await loop.run()


asyncio.run(main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3])))
