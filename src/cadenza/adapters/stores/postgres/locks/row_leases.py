"""Leases of names, in rows of the table `locks` and by the clock of the database."""

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Any, NamedTuple

from cadenza.adapters.stores.postgres.pool import Connection, PostgresPool
from cadenza.domain.errors import Unavailable

Sleep = Callable[[float], Awaitable[None]]
"""Waits for so many seconds, and longer while the process is idle: then leases may run out."""
LEASE_S = 10.0
RENEWALS = 3
"""How often a lease is renewed in its length."""
UNTIL = "clock_timestamp() + $2::float8 * interval '1 second'"
TAKE = f"""
INSERT INTO locks (name, holder, until, note)
SELECT g.name, $1, {UNTIL}, $4 FROM unnest($3::text[]) AS g (name) ORDER BY g.name
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, until = excluded.until, note = excluded.note
WHERE locks.until IS NULL OR locks.until <= clock_timestamp() OR locks.holder = excluded.holder
RETURNING name
"""
RENEW = f"UPDATE locks SET until = {UNTIL} WHERE holder = $1 AND until > clock_timestamp() RETURNING name"
RELEASE = "DELETE FROM locks WHERE holder = $1 AND name = ANY ($2::text[])"
RELEASE_ALL = "DELETE FROM locks WHERE holder = $1"
HELD = """
SELECT name, holder, note FROM locks WHERE name > $1 AND name < $1 || '~' AND until > clock_timestamp()
"""


class HeldLease(NamedTuple):
    """A lease that somebody holds."""

    name: str
    holder: str
    note: int | None


class RowLeases:
    """The leases of one holder.

    They last from before the request that took or renewed them was sent, so who counts from there gives
    them up no later than the database does.
    """

    def __init__(
        self, pool: PostgresPool, holder: str, *, lease_s: float = LEASE_S, sleep: Sleep = asyncio.sleep
    ) -> None:
        self.holder = holder
        self.lease_s = lease_s
        self.sleep = sleep
        self._pool = pool
        self._asked_at = 0.0

    @property
    def expired(self) -> bool:
        """Whether so much time has passed since the last request that all leases must have run out."""
        return asyncio.get_running_loop().time() >= self._asked_at + self.lease_s

    async def take(self, names: Collection[str], note: int | None = None) -> set[str]:
        """Take those that nobody holds, and renew one's own."""
        self._asked_at = asyncio.get_running_loop().time()
        rows = await self._ask(TAKE, self.holder, self.lease_s, sorted(names), note)
        return {row[0] for row in rows}

    async def take_within(
        self, connection: Connection, names: Collection[str], note: int | None = None
    ) -> set[str]:
        """The same as part of a transaction."""
        self._asked_at = asyncio.get_running_loop().time()
        rows = await connection.fetch(TAKE, self.holder, self.lease_s, sorted(names), note)
        return {row[0] for row in rows}

    async def renew(self) -> set[str]:
        """Renew all that are still held; their names."""
        self._asked_at = asyncio.get_running_loop().time()
        return {row[0] for row in await self._ask(RENEW, self.holder, self.lease_s)}

    async def release(self, names: Collection[str]) -> None:
        """Release these for others."""
        await self._ask(RELEASE, self.holder, sorted(names))

    async def release_all(self) -> None:
        """Release everything; what cannot be released now expires."""
        try:
            await self._ask(RELEASE_ALL, self.holder)
        except Unavailable:
            return

    async def held(self, prefix: str) -> list[HeldLease]:
        """All leases in force whose names begin like this, whoever holds them."""
        return [HeldLease(*row) for row in await self._ask(HELD, prefix)]

    async def held_within(self, connection: Connection, prefix: str) -> list[HeldLease]:
        """The same as part of a transaction."""
        return [HeldLease(*row) for row in await connection.fetch(HELD, prefix)]

    async def until_lost(self, name: str, taken_at: float) -> None:
        """Renew until a lease is lost or cannot be renewed in time; it was taken by the loop's clock."""
        loop = asyncio.get_running_loop()
        while True:
            await self.sleep(self.lease_s / RENEWALS)
            if self.expired:
                return
            began = loop.time()
            try:
                async with asyncio.timeout_at(taken_at + self.lease_s * (1 - 1 / RENEWALS)):
                    if name not in await self.renew():
                        return
                taken_at = began
            except TimeoutError:
                return
            except Unavailable:
                continue

    async def _ask(self, statement: str, *values: Any) -> list[Any]:
        try:
            async with asyncio.timeout(self.lease_s / 2):
                return await self._pool.ask(statement, *values)
        except TimeoutError:
            raise Unavailable(f"{self._pool.address} did not answer in time.") from None
