"""A worker of the tests beside it: a real one, whose one function notes the run it was called for.

Its arguments are the file for these notes, how long a run takes at least and at most, in milliseconds,
and what it runs: first the name of the function, then other kinds of targets.
"""

import asyncio
import os
import sys
from collections.abc import Sequence
from random import Random
from time import monotonic_ns

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.dispatch.callables import CallableDispatcher
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.telemetry.log import StructuredLog
from cadenza.domain.scheduling.run import Claim
from cadenza.domain.scheduling.target import HTTP, PROMPT
from cadenza.roots.settings import read_settings
from cadenza.roots.wiring.process import stop_on_signals
from cadenza.roots.wiring.stores import open_store
from cadenza.roots.wiring.worker import ProcessContext, open_loop

NOTE_AND_ALL = ("note", HTTP, PROMPT)
SPANS_SUFFIX = ".spans"
"""What is behind the name of a second file: when runs began and ended, by the clock of the machine."""


async def main(path: str, least_ms: float, most_ms: float, runs: Sequence[str] = NOTE_AND_ALL) -> None:
    function, *beside = runs
    chance = Random(os.getpid())
    out, spans = (
        os.open(f"{path}{end}", os.O_WRONLY | os.O_APPEND | os.O_CREAT) for end in ("", SPANS_SUFFIX)
    )
    settings, log, callables = read_settings(), StructuredLog(), CallableDispatcher()

    def note_span(run: Claim, word: str) -> None:
        os.write(spans, f"{monotonic_ns()} {word} {os.getpid()} {run.run_id}\n".encode())

    async def note(run: Claim) -> None:
        note_span(run, "begin")
        os.write(out, f"{run.run_id}\n".encode())
        await asyncio.sleep(chance.uniform(least_ms, most_ms) / 1_000)
        note_span(run, "end")

    callables.register(function, note)
    async with open_store(settings, ids=TimeOrderedIds(), log=log) as store:
        context = ProcessContext(
            store=store, clock=SystemClock(), log=log, callables=callables, beside_functions=lambda: beside
        )
        async with open_loop(settings, context) as loop:
            stop_on_signals(loop.stop)
            log.info("ready")
            await loop.run()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), sys.argv[4:]))
