"""The event loop that everything runs on."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

Answer = TypeVar("Answer")


def run_to_end(main: Coroutine[Any, Any, Answer]) -> Answer:
    """Run a coroutine on the quickest loop there is."""
    with asyncio.Runner(loop_factory=quickest()) as runner:
        return runner.run(main)


def quickest() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """uvloop where it is installed; None, which is Python's own loop, elsewhere."""
    try:
        import uvloop
    except ImportError:  # There is none for Windows, nor for other Pythons.
        return None
    return uvloop.new_event_loop
