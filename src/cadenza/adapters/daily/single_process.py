"""Lanes where one process serves all daily users: whoever sits in the chair."""

import asyncio
import fcntl
from contextlib import suppress
from pathlib import Path

from cadenza.domain.daily.rules import lanes
from cadenza.domain.errors import Unavailable
from cadenza.ports.daily import LaneServer
from cadenza.ports.leader import Chair, Work
from cadenza.ports.telemetry import Logger


class ChairLanes:
    """All lanes, or none."""

    def __init__(self, chair: Chair, *, max_concurrency: int) -> None:
        self._chair = chair
        self._of = lanes(max_concurrency)

    async def hold(self, server: LaneServer) -> None:
        """Serve all when the chair is free."""

        async def serve() -> None:
            server.serve(range(self._of))
            await asyncio.Event().wait()

        try:
            await self._chair.hold(serve)
        finally:
            server.serve(())


AGAIN_S = 1.0


class FileChair:
    """Whoever holds the lock on a file beside the database."""

    def __init__(
        self, database: Path, log: Logger, *, name: str = "planner", does: str = "another process plans"
    ) -> None:
        self._path = database.with_name(f"{database.name}-{name}")
        self._log = log
        self._does = does

    async def hold(self, work: Work) -> None:
        """Do work when nobody else does."""
        try:
            file = self._path.open("ab")
        except OSError as problem:
            raise Unavailable(f"{self._path} cannot be written: {problem.strerror}.") from None
        with file:
            waiting = False
            while not _locked(file.fileno()):
                if not waiting:
                    self._log.info(f"{self._does}; this one waits for its turn")
                waiting = True
                await asyncio.sleep(AGAIN_S)
            await work()


def _locked(descriptor: int) -> bool:
    with suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False
