"""The lanes of daily users in rows that are leased, for engines without advisory locks."""

import asyncio
from functools import partial

from cadenza.adapters.stores.postgres.engines.reduced_connection import LOCK_ROW
from cadenza.adapters.stores.postgres.locks.daily_lanes import (
    COMMAND_TIMEOUT_S,
    RETRY_S,
    LaneHolders,
    LaneLocks,
    PostgresLanes,
    StandInLanes,
)
from cadenza.adapters.stores.postgres.locks.row_leases import LEASE_S, RowLeases, Sleep
from cadenza.adapters.stores.postgres.pool import Connection, PostgresPool
from cadenza.domain.errors import Unavailable
from cadenza.ports.daily import LaneServer
from cadenza.ports.telemetry import Logger

JOINING = "daily joining"
"""Locked while a process joins or a stand-in begins, so that both never do."""
MEMBER, LANE, STAND_IN = "daily member ", "daily lane ", "daily stand-in "


class LeasedLocks:
    """Leases of one process, renewed whenever it looks who holds what."""

    def __init__(self, pool: PostgresPool, leases: RowLeases, *, retry_s: float) -> None:
        self.me: int | str = leases.holder
        self.lost = asyncio.Event()
        self._pool = pool
        self._leases = leases
        self._member = f"{MEMBER}{leases.holder}"
        self._retry_s = retry_s

    async def join(self, most: int) -> None:
        """Take part; a stand-in sees that, and makes way."""
        loop = asyncio.get_running_loop()
        waited_until = loop.time() + COMMAND_TIMEOUT_S
        while await self._pool.write(partial(self._join, most=most)):
            if loop.time() >= waited_until:
                raise Unavailable("A standby process still serves the daily users.")
            await asyncio.sleep(self._retry_s)

    async def _join(self, connection: Connection, most: int) -> bool:
        """Take part; whether a stand-in still serves."""
        await connection.execute(LOCK_ROW, JOINING)
        await self._leases.take_within(connection, [self._member], most)
        return bool(await self._leases.held_within(connection, STAND_IN))

    async def all_held(self) -> LaneHolders:
        """Who holds what; one's own is renewed first. Unavailable if it expired: others may have it."""
        if self._leases.expired or self._member not in await self._leases.renew():
            raise Unavailable(f"The leases in {self._pool.address} were lost.")
        members, lanes = await self._leases.held(MEMBER), await self._leases.held(LANE)
        return LaneHolders(
            {one.holder: one.note or 0 for one in members},
            {int(one.name.removeprefix(LANE)): one.holder for one in lanes},
        )

    async def take(self, lanes: list[int]) -> set[int]:
        """Take those of these that are free."""
        taken = await self._leases.take([f"{LANE}{lane}" for lane in lanes])
        return {int(name.removeprefix(LANE)) for name in taken}

    async def release(self, lanes: list[int]) -> None:
        """Release these."""
        await self._leases.release([f"{LANE}{lane}" for lane in lanes])


class _WithLeases(PostgresLanes):
    """Lanes with leases and a pool of their own, which are given up in the end."""

    def __init__(
        self,
        pool: PostgresPool,
        log: Logger,
        *,
        holder: str,
        max_concurrency: int,
        retry_s: float = RETRY_S,
        lease_s: float = LEASE_S,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        super().__init__(pool, log, max_concurrency=max_concurrency, retry_s=retry_s)
        self._leases = RowLeases(pool, holder, lease_s=lease_s, sleep=sleep)

    async def _sleep(self, span_s: float) -> None:
        await self._leases.sleep(span_s)

    async def _wait(self, locks: LaneLocks) -> None:  # noqa: ARG002 - Leases are found lost when they are renewed.
        await self._sleep(self._retry_s)

    async def hold(self, server: LaneServer) -> None:
        """Hold a fair share until cancelled; then the pool is closed."""
        try:
            await super().hold(server)
        finally:
            await asyncio.shield(self._pool.close())


class LeasedLanes(_WithLeases):
    """Holds leases; those of a process that dies are taken over when they expire."""

    async def _hold_once(self, server: LaneServer) -> None:
        try:
            await self._hold_locks(LeasedLocks(self._pool, self._leases, retry_s=self._retry_s), server)
        finally:
            await asyncio.shield(self._leases.release_all())


class LeasedStandIn(_WithLeases, StandInLanes):
    """A stand-in with a lease."""

    async def _hold_once(self, server: LaneServer) -> None:
        taken = await self._pool.write(self._begin)
        try:
            await self._serve_if(taken, self._until_member_or_lost(), server)
        finally:
            await asyncio.shield(self._leases.release_all())

    async def _begin(self, connection: Connection) -> bool:
        """Take the place of the processes with a target, if there are none."""
        await connection.execute(LOCK_ROW, JOINING)
        if await self._leases.held_within(connection, MEMBER):
            return False
        return bool(await self._leases.take_within(connection, [f"{STAND_IN}lease"]))

    async def _until_member_or_lost(self) -> None:
        """Return when a process with a target takes part, or the lease is lost."""
        while not self._leases.expired and await self._leases.renew() and not await self._leases.held(MEMBER):
            await self._sleep(self._retry_s)
