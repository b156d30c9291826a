"""The chair of the planners on PostgreSQL: an advisory lock that ends with its session."""

import asyncio
from contextlib import suppress

import asyncpg

from cadenza.adapters.stores.postgres.errors import translated
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.domain.errors import Unavailable
from cadenza.ports.leader import Work
from cadenza.ports.telemetry import Logger

LEADER_LOCK_KEY = 7_236_836_944
"""The advisory lock of whoever plans; any number will do that nobody else takes."""
TAKE = f"SELECT pg_try_advisory_lock({LEADER_LOCK_KEY})"
AGAIN_S = 1.0
CHECKED_EVERY_S = 2.0
ANSWERED_S = 5.0


class PostgresLeaderLock:
    """Whoever holds the lock in a session of its own.

    When the session is lost, so is the lock, and another process goes on; this one stops
    as soon as it knows, which is at once unless the network is silent. Behind a pooler
    that hands sessions around, a lock means nothing.
    """

    def __init__(self, pool: PostgresPool, log: Logger) -> None:
        self._pool = pool
        self._log = log
        self._waits = False

    async def hold(self, work: Work) -> None:
        """Do work when nobody else does; a bug in it ends this with its exception."""
        while True:
            try:
                if await self._held_once(work):
                    return
            except Unavailable as problem:
                self._log.warning("the planners' chair is out of reach", problem=problem.message)
            await asyncio.sleep(AGAIN_S)

    async def _held_once(self, work: Work) -> bool:
        """Did the work come to its end? False if the chair was taken."""
        connection = await self._pool.connect()
        try:
            with translated(self._pool.address):
                if not await connection.fetchval(TAKE):
                    self._wait()
                    return False
                self._waits = False
                self._log.info("planners act here now")
                await self._sit(connection, work)
                return True
        finally:
            connection.terminate()

    async def _sit(self, connection: "asyncpg.Connection[asyncpg.Record]", work: Work) -> None:
        working, guarding = asyncio.create_task(work()), asyncio.create_task(_until_lost(connection))
        try:
            await asyncio.wait({working, guarding}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended = working.done()
            for task in (working, guarding):
                task.cancel()
            await asyncio.gather(working, guarding, return_exceptions=True)
        if not ended:
            raise Unavailable(f"The connection to {self._pool.address} was lost.")
        working.result()

    def _wait(self) -> None:
        if not self._waits:
            self._waits = True
            self._log.info("another process plans; this one waits for its turn")


async def _until_lost(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Come back when the session is gone: at once if that is told, else after a look."""
    lost = asyncio.Event()
    connection.add_termination_listener(lambda _: lost.set())
    while not lost.is_set() and not connection.is_closed():
        with suppress(TimeoutError):
            await asyncio.wait_for(lost.wait(), CHECKED_EVERY_S)
            return
        try:
            await connection.fetchval("SELECT 1", timeout=ANSWERED_S)
        except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
            return
