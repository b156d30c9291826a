"""A process of a program that runs in virtual time: it can be killed and frozen."""

import asyncio
from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from heapq import heappop

NEVER = float("inf")


class SimulatedProcess:
    """The tasks of one process: what runs in it, and whether it runs at all.

    Within a process callbacks are called as asyncio calls them: in the order in which they were
    registered, and timers that are due after those that were ready before. Between processes chance
    decides.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.alive = True
        self.frozen = False
        self.steps = 0
        """How many callbacks were called in it: the awaits that it came back from."""
        self.dies_at: int | None = None
        """Before which of them it dies."""
        self.on_death: Callable[[], None] = lambda: None
        self.ready: deque[asyncio.Handle] = deque()
        self.timers: list[tuple[float, int, asyncio.TimerHandle]] = []

    def kill(self) -> None:
        """End it as a power cut does: none of its tasks goes on, not even to clean up."""
        self.alive = False
        self.ready.clear()
        self.timers.clear()
        self.on_death()

    def freeze(self) -> None:
        """Let none of its tasks go on until `thaw`; its timers run out meanwhile."""
        self.frozen = True

    def thaw(self) -> None:
        """Let it go on."""
        self.frozen = False

    def next_timer(self) -> float:
        """When its first timer is due; infinity if there is none."""
        timers = self.timers
        while timers and timers[0][2].cancelled():
            heappop(timers)
        return timers[0][0] if timers else NEVER


PROCESS: ContextVar[SimulatedProcess] = ContextVar("simulated process")
"""The process of the running task; tasks inherit it from the one that creates them."""
