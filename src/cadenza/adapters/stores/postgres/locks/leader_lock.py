"""The leader lock on PostgreSQL: an advisory lock that ends with its session, or a leased row."""

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

import asyncpg

from cadenza.adapters.stores.postgres.errors import translated_errors
from cadenza.adapters.stores.postgres.locks.row_leases import LEASE_S, RowLeases, Sleep
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.domain.errors import Unavailable
from cadenza.domain.monitoring.outage import Outage
from cadenza.ports.planning import LeaderWork
from cadenza.ports.telemetry import Logger

LEADER_LOCK_KEY = 7_236_836_944
"""The number of the advisory lock; any that is not used for another lock."""
LEADER = "planner leader"
"""The name of the row that is leased instead."""
TAKE = f"SELECT pg_try_advisory_lock({LEADER_LOCK_KEY})"
RETRY_S = 1.0
CHECK_INTERVAL_S = 2.0
CHECK_TIMEOUT_S = 5.0


class PostgresLeaderLock:
    """Holds the lock in a session of its own.

    When the session is lost, so is the lock, and another process takes it. This one stops as soon as it
    notices: at once, or with the next check if the network is silent. It does not work behind a pooler
    in transaction mode.
    """

    def __init__(self, pool: PostgresPool, log: Logger, sleep: Sleep = asyncio.sleep) -> None:
        self._pool = pool
        self._sleep = sleep
        self._log = log
        self._waiting_logged = False
        self._outage = Outage()

    async def hold(self, work: LeaderWork) -> None:
        """Do the work while holding the lock; an exception of the work ends this."""
        while True:
            try:
                if await self._hold_once(work):
                    return
            except Unavailable as problem:
                persists = self._outage.failed(asyncio.get_running_loop().time()) is not None
                log = self._log.warning if persists else self._log.debug
                log(
                    "the leader lock of the planners is not available",
                    part="planner",
                    problem=problem.message,
                )
            await self._sleep(RETRY_S)

    async def _hold_once(self, work: LeaderWork) -> bool:
        """Did the work end? False if another process holds the lock."""
        connection = await self._pool.connect()
        try:
            with translated_errors(self._pool.address):
                taken = await connection.fetchval(TAKE)
                if not self._note_taken(taken=taken):
                    return False
                await self._work_until_lost(_until_lost(connection), work)
                return True
        finally:
            connection.terminate()

    def _note_taken(self, *, taken: bool) -> bool:
        """Log whether this process leads, if that is new."""
        if self._outage.succeeded(asyncio.get_running_loop().time()) is not None:
            self._log.info("the leader lock of the planners is available again", part="planner")
        if taken:
            self._waiting_logged = False
            self._log.info("this process is the planner leader")
        else:
            self._log_waiting()
        return taken

    async def _work_until_lost(self, lost: Coroutine[Any, Any, None], work: LeaderWork) -> None:
        working, watching = asyncio.create_task(work()), asyncio.create_task(lost)
        try:
            await asyncio.wait({working, watching}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            ended = working.done()
            for task in (working, watching):
                task.cancel()
            await asyncio.gather(working, watching, return_exceptions=True)
        if not ended:
            raise Unavailable(f"The lock in {self._pool.address} was lost.")
        working.result()

    def _log_waiting(self) -> None:
        if not self._waiting_logged:
            self._waiting_logged = True
            self._log.info("another process runs the planners; this one is on standby")


class LeasedLeaderLock(PostgresLeaderLock):
    """Holds a lease in a row, where sessions have no locks; a process that dies holds it until it expires."""

    def __init__(
        self,
        pool: PostgresPool,
        log: Logger,
        holder: str,
        *,
        lease_s: float = LEASE_S,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        super().__init__(pool, log, sleep)
        self._leases = RowLeases(pool, holder, lease_s=lease_s, sleep=sleep)

    async def hold(self, work: LeaderWork) -> None:
        """Do the work while holding the lock; then the pool is closed."""
        try:
            await super().hold(work)
        finally:
            await asyncio.shield(self._pool.close())

    async def _hold_once(self, work: LeaderWork) -> bool:
        taken_at = asyncio.get_running_loop().time()
        if not self._note_taken(taken=bool(await self._leases.take([LEADER]))):
            return False
        try:
            await self._work_until_lost(self._leases.until_lost(LEADER, taken_at), work)
        finally:
            await asyncio.shield(self._leases.release_all())
        return True


async def _until_lost(connection: "asyncpg.Connection[asyncpg.Record]") -> None:
    """Return when the session is lost: at once if the driver notices, else with the next check."""
    lost = asyncio.Event()
    connection.add_termination_listener(lambda _: lost.set())
    while not lost.is_set() and not connection.is_closed():
        with suppress(TimeoutError):
            async with asyncio.timeout(CHECK_INTERVAL_S):
                await lost.wait()
            return
        try:
            await connection.fetchval("SELECT 1", timeout=CHECK_TIMEOUT_S)
        except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
            return
