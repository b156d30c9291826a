"""The chair of the planners beside an SQLite file: a lock that ends with its process."""

import asyncio
import fcntl
from contextlib import suppress
from pathlib import Path

from cadenza.domain.errors import Unavailable
from cadenza.ports.chair import Work
from cadenza.ports.log import Logger

AGAIN_S = 1.0


class FileChair:
    """Whoever holds the lock on a file beside the database."""

    def __init__(self, database: Path, log: Logger) -> None:
        self._path = database.with_name(f"{database.name}-planner")
        self._log = log

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
                    self._log.info("another process plans; this one waits for its turn")
                waiting = True
                await asyncio.sleep(AGAIN_S)
            await work()


def _locked(descriptor: int) -> bool:
    with suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False
