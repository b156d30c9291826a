"""Leader locks on a file, and lanes that the process with such a lock serves alone."""

import asyncio
import fcntl
import os
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO

from cadenza.domain.daily.rules import lane_count
from cadenza.domain.errors import Unavailable
from cadenza.ports.daily import LaneServer
from cadenza.ports.planning import LeaderLock, LeaderWork
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
            try:
                await asyncio.Event().wait()
            finally:
                server.serve(())

        await self._leader_lock.hold(serve)


RETRY_S = 1.0


class FileLeaderLock:
    """A lock on a file beside the database; it is released when its process ends."""

    def __init__(
        self, database: Path, log: Logger, *, name: str = "planner", does: str = "another process plans"
    ) -> None:
        self._path = database.with_name(f"{database.name}-{name}")
        self._log = log
        self._does = does

    async def hold(self, work: LeaderWork) -> None:
        """Wait for the lock, and do the work while holding it."""
        with _opened(self._path) as file:
            waiting = False
            while not _locked(file):
                if not waiting:
                    self._log.info(f"{self._does}; waiting for the lock")
                waiting = True
                await asyncio.sleep(RETRY_S)
            await work()


class DailyTargetLock(FileLeaderLock):
    """The lock of a process that has a daily target: a stand-in makes way for it."""

    async def hold(self, work: LeaderWork) -> None:
        """Wait for the lock, visibly for stand-ins, and do the work while holding it."""
        with _opened(_wanted(self._path)) as wanted:
            while not _locked(wanted, fcntl.LOCK_SH):  # noqa: ASYNC110 - a lock tells nobody that it is free
                await asyncio.sleep(RETRY_S)
            await super().hold(work)


class StandInLock(FileLeaderLock):
    """The lock of a process without a daily target, which is held while no process with one wants it."""

    async def hold(self, work: LeaderWork) -> None:
        """Do the work whenever the lock is free, until a process with a target comes."""
        while True:
            await super().hold(partial(self._until_wanted, work))
            await asyncio.sleep(2 * RETRY_S)

    async def _until_wanted(self, work: LeaderWork) -> None:
        working = asyncio.ensure_future(work())
        try:
            with _opened(_wanted(self._path)) as wanted:
                while not working.done() and _locked(wanted):
                    fcntl.flock(wanted, fcntl.LOCK_UN)
                    await asyncio.wait({working}, timeout=RETRY_S)
            if working.done():
                working.result()
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)


def _wanted(lock: Path) -> Path:
    """The file that processes with a daily target lock together, whether they wait or serve."""
    return lock.with_name(f"{lock.name}-target")


def _opened(path: Path) -> BinaryIO:
    try:
        return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab")
    except OSError as problem:
        raise Unavailable(f"{path} cannot be written: {problem.strerror}.") from None


def _locked(file: BinaryIO, kind: int = fcntl.LOCK_EX) -> bool:
    with suppress(BlockingIOError):
        fcntl.flock(file, kind | fcntl.LOCK_NB)
        return True
    return False
