"""What every process has: an event loop, a log, tuned garbage collection, and a clean end on signals."""

import asyncio
import gc
import logging
import signal
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from cadenza.adapters.telemetry.log import StructuredLog
from cadenza.roots.settings import Settings

Result = TypeVar("Result")


def run_event_loop(main: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine to its end on the fastest event loop that is installed."""
    with asyncio.Runner(loop_factory=fastest_loop()) as runner:
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


def stop_on_signals(stop: Callable[[], None]) -> None:
    """Call `stop` on SIGTERM and SIGINT."""
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop)
