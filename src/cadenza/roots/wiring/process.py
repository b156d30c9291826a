"""What every process has: an event loop, a log, tuned garbage collection, and a clean end on signals."""

import asyncio
import gc
import logging
import signal
from collections.abc import Callable, Coroutine
from contextlib import closing
from typing import Any, TypeVar

from cadenza.adapters.telemetry.log import StructuredLog
from cadenza.roots.settings import Settings

Result = TypeVar("Result")
MOST_OPEN_FILES = 65_536


def run_event_loop(main: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine to its end on the fastest event loop that is installed."""
    with closing(main), asyncio.Runner(loop_factory=fastest_loop()) as runner:
        return runner.run(main)


def fastest_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop where it is installed; None, which means asyncio's own loop, elsewhere."""
    try:
        import uvloop
    except ImportError:  # There is none for Windows, nor for other Pythons.
        return None
    return uvloop.new_event_loop


def open_log(settings: Settings) -> StructuredLog:
    """The log with the level and format of the settings."""
    level = logging.getLevelNamesMapping()[settings.log_level.upper()]
    return StructuredLog(level=level, as_json=settings.log_json)


def tune_garbage_collection() -> None:
    """Collect garbage less often: a worker makes many short-lived values and hardly any cycles."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def most_open_files() -> int:
    """How many files and connections this process may have open, after asking for as many as it can get."""
    try:
        from resource import RLIM_INFINITY, RLIMIT_NOFILE, getrlimit, setrlimit
    except ImportError:  # Windows has no such limit.
        return MOST_OPEN_FILES
    soft, hard = getrlimit(RLIMIT_NOFILE)
    wanted = MOST_OPEN_FILES if hard == RLIM_INFINITY else min(hard, MOST_OPEN_FILES)
    if soft != RLIM_INFINITY and soft < wanted:
        setrlimit(RLIMIT_NOFILE, (wanted, hard))
        return wanted
    return soft if soft != RLIM_INFINITY else wanted


def stop_on_signals(*stops: Callable[[], None]) -> None:
    """Call these on SIGTERM and SIGINT, one after the other."""

    def stop() -> None:
        for one in stops:
            one()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop)
