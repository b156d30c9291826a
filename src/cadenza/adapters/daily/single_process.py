"""A leader lock on a file, and lanes that the process with such a lock serves alone."""

import asyncio
import fcntl
from contextlib import suppress
from pathlib import Path

from cadenza.domain.daily.rules import lane_count
from cadenza.domain.errors import Unavailable
from cadenza.ports.daily import LaneServer
from cadenza.ports.leader import LeaderLock, Work
from cadenza.ports.telemetry import Logger


class SingleProcessLanes:
    """Serves all lanes while it holds a leader lock, and none otherwise."""

    def __init__(self, leader_lock: LeaderLock, *, max_concurrency: int) -> None:
        self._leader_lock = leader_lock
        self._lane_count = lane_count(max_concurrency)

    async def hold(self, server: LaneServer) -> None:
        """Serve all lanes from when the lock is acquired."""

        async def serve() -> None:
            server.serve(range(self._lane_count))
            await asyncio.Event().wait()

        try:
            await self._leader_lock.hold(serve)
        finally:
            server.serve(())


RETRY_S = 1.0


class FileLeaderLock:
    """A lock on a file beside the database; it is released when its process ends."""

    def __init__(
        self, database: Path, log: Logger, *, name: str = "planner", does: str = "another process plans"
    ) -> None:
        self._path = database.with_name(f"{database.name}-{name}")
        self._log = log
        self._does = does

    async def hold(self, work: Work) -> None:
        """Wait for the lock, and do the work while holding it."""
        try:
            file = self._path.open("ab")
        except OSError as problem:
            raise Unavailable(f"{self._path} cannot be written: {problem.strerror}.") from None
        with file:
            waiting = False
            while not _locked(file.fileno()):
                if not waiting:
                    self._log.info(f"{self._does}; waiting for the lock")
                waiting = True
                await asyncio.sleep(RETRY_S)
            await work()


def _locked(descriptor: int) -> bool:
    with suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False
