"""Locks that one process at a time holds, and that its death releases, as sessions of PostgreSQL do."""

import asyncio
from collections import defaultdict

from tests.simulation.whole_system.simulated_world import SimulatedWorld

from cadenza.ports.planning import LeaderWork
from cadenza.testing.simulated_process import SimulatedProcess

RETRY_S = 3.0


class LeaderLocks:
    """All locks, by name."""

    def __init__(self, world: SimulatedWorld) -> None:
        self._world = world
        self.holders: dict[str, SimulatedProcess] = {}
        self.changes: defaultdict[str, int] = defaultdict(int)

    def forget(self, process: SimulatedProcess) -> None:
        """A process died: its session is over."""
        for name in [name for name, holder in self.holders.items() if holder is process]:
            del self.holders[name]


class SimulatedLock:
    """One lock, as one process sees it."""

    def __init__(self, locks: LeaderLocks, name: str, process: SimulatedProcess) -> None:
        self._locks = locks
        self._name = name
        self._process = process

    async def hold(self, work: LeaderWork) -> None:
        """Wait for the lock, and do the work while holding it."""
        while self._locks.holders.setdefault(self._name, self._process) is not self._process:  # noqa: ASYNC110 - a lock tells nobody that it is free
            await asyncio.sleep(RETRY_S)
        try:
            await work()
        finally:
            self._locks.holders.pop(self._name, None)
