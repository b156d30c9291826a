"""Chairs beside an SQLite file: locks that end with their process."""

import asyncio
import fcntl
from contextlib import suppress
from pathlib import Path

from cadenza.domain.errors import Unavailable
from cadenza.ports.leader import Work
from cadenza.ports.telemetry import Logger

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
