"""The program `cadenza`, which `python -m cadenza` is, too; Ctrl-C never shows a traceback."""

import gc
import os
import signal
import sys
import warnings
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130
ALLOCATIONS = 200_000
"""Garbage is collected so seldom: modules are most of what a command makes, and what they define stays."""
SETTLED = {"_frozen_importlib", "_frozen_importlib_external", "importlib", "asyncio"}
"""Where nothing is left to settle: loading modules, and opening or closing an event loop."""


def main() -> int:
    """Carry out the command line of this process; the exit code."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # asyncio puts its own handler only in the place of the default one.
        signal.default_int_handler = _interrupt
        signal.signal(signal.SIGINT, _interrupt)
    try:
        gc.set_threshold(ALLOCATIONS)
        from cadenza.roots.command_line import main as carry_out

        code = carry_out()
        if signal.getsignal(signal.SIGINT) is _interrupt:
            signal.signal(signal.SIGINT, _end)
    except KeyboardInterrupt:
        code = INTERRUPTED
    if code == INTERRUPTED:
        _end()
    return code


def _interrupt(_number: int, frame: FrameType | None) -> NoReturn:
    """Raise KeyboardInterrupt; but end at once where Python would show or swallow it.

    While an event loop runs, it has a handler of its own.
    """
    while frame is not None:
        if frame.f_globals.get("__name__", "").partition(".")[0] in SETTLED:
            _end()
        frame = frame.f_back
    warnings.simplefilter("ignore")  # About coroutines that did not begin any more.
    raise KeyboardInterrupt


def _end(*_: object) -> NoReturn:
    """End at once: Python would show an interruption of its own end, or die by the signal."""
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    sys.exit(main())
