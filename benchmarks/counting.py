"""Counts cycles, and prints their number for each line of the standard input, until it ends.

It imports nothing but the standard library: each peer runs it in an environment of its own.
"""

import sys
import threading
from collections.abc import Callable


class Counter:
    """How many cycles a process has completed."""

    def __init__(self) -> None:
        self.count = 0

    def add(self) -> None:
        """Count one."""
        self.count += 1

    async def noop(self) -> None:
        """A function that does nothing but count."""
        self.count += 1

    def answer(self, on_end: Callable[[], object]) -> None:
        """Answer every line of the input in a thread of its own; `on_end` is called there when it ends."""

        def body() -> None:
            for _ in sys.stdin:
                print(self.count, flush=True)
            on_end()

        threading.Thread(target=body, daemon=True).start()

    def answer_all(self) -> None:
        """Answer every line of the input, until it ends."""
        for _ in sys.stdin:
            print(self.count, flush=True)


COUNTER = Counter()


def count() -> None:
    """A job that does nothing but count; it has a name that can be stored."""
    COUNTER.add()


async def count_async() -> None:
    """The same for an event loop."""
    COUNTER.add()
