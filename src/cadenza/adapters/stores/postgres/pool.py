"""Connections to one database: taken, used and given back, and made anew when the server returns."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, TypeVar

import asyncpg

from cadenza.adapters.stores.postgres.arrays import as_it_is
from cadenza.adapters.stores.postgres.errors import RETRIED, address_of, translated
from cadenza.adapters.stores.sql.database import Dialect
from cadenza.adapters.stores.sql.rows import Read

Answer = TypeVar("Answer")
Connection: TypeAlias = (
    "asyncpg.Connection[asyncpg.Record] | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"
)
Work = Callable[[Connection], Awaitable[Answer]]
CONNECT_S = 10
ANSWER_S = 60
QUERIES_OF_A_CONNECTION = 1_000_000
PLANNING = {
    "jit": "off",  # Compiling a statement that takes a millisecond takes hundreds.
    "plan_cache_mode": "force_generic_plan",  # Planning the claim takes longer than many a claim.
    # Every statement goes by keys, whatever the statistics of a table that has just grown may say.
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_seqscan": "off",
}


class Undone(Exception):
    """Work that took itself back."""


class PostgresPool:
    """Nothing is connected before it is needed, so a server that is away at the start is no harm.

    Behind a pooler that hands sessions around, say `prepared=False`: nothing is then
    left in a session, neither statements nor settings.
    """

    dialect = Dialect.POSTGRES
    read_moment: Read = staticmethod(as_it_is)

    def __init__(self, url: str, *, size: int = 8, prepared: bool = True) -> None:
        self.url = url
        self.address = address_of(url)
        self._size = size
        self._prepared = prepared
        self._opening = asyncio.Lock()
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None

    async def write(self, work: Work[Answer]) -> Answer:
        """Do work in one transaction; if it raises, nothing of it remains.

        What lost against a concurrent change is done once more.
        """
        with translated(self.address):
            try:
                return await self._transact(work)
            except RETRIED:
                return await self._transact(work)

    async def tried(self, work: Work[bool]) -> bool:
        """Do work in one transaction; if its answer is False, nothing of it remains."""

        async def attempt(connection: Connection) -> None:
            if not await work(connection):
                raise Undone

        try:
            await self.write(attempt)
        except Undone:
            return False
        return True

    async def ask(self, statement: str, *arguments: Any) -> list[Any]:
        """Carry out one statement, a commit of its own, and answer its rows; also once more if need be."""
        with translated(self.address):
            try:
                return await self._ask(statement, arguments)
            except RETRIED:
                return await self._ask(statement, arguments)

    async def read(self, statement: str, /, *values: Any) -> list[Any]:
        """The rows of a statement that changes nothing."""
        return await self.ask(statement, *values)

    async def connect(self) -> "asyncpg.Connection[asyncpg.Record]":
        """A connection of its own, outside the pool."""
        with translated(self.address):
            return await asyncpg.connect(self.url, timeout=CONNECT_S, command_timeout=ANSWER_S)

    async def close(self) -> None:
        """Let running work end, and hang up."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        try:
            await asyncio.wait_for(pool.close(), CONNECT_S)
        except (OSError, asyncpg.InterfaceError):
            pool.terminate()

    async def _transact(self, work: Work[Answer]) -> Answer:
        pool = await self._opened()
        async with pool.acquire(timeout=ANSWER_S) as connection, connection.transaction():
            if not self._prepared:
                await _plan_by_keys(connection, "LOCAL")
            return await work(connection)

    async def _ask(self, statement: str, arguments: tuple[Any, ...]) -> list[Any]:
        if not self._prepared:
            return await self._transact(lambda connection: connection.fetch(statement, *arguments))
        pool = await self._opened()
        async with pool.acquire(timeout=ANSWER_S) as connection:
            return await connection.fetch(statement, *arguments)

    async def _opened(self) -> "asyncpg.Pool[asyncpg.Record]":
        async with self._opening:
            if self._pool is None:
                self._pool = await self._open()
            return self._pool

    async def _open(self) -> "asyncpg.Pool[asyncpg.Record]":
        return await asyncpg.create_pool(
            self.url,
            min_size=0,
            max_size=self._size,
            max_queries=QUERIES_OF_A_CONNECTION,
            timeout=CONNECT_S,
            command_timeout=ANSWER_S,
            statement_cache_size=100 if self._prepared else 0,
            max_cached_statement_lifetime=0,
            init=_plan_by_keys if self._prepared else None,
            reset=_as_it_was,
        )


async def _plan_by_keys(connection: Connection, scope: str = "SESSION") -> None:
    await connection.execute("; ".join(f"SET {scope} {name} = {value}" for name, value in PLANNING.items()))


async def _as_it_was(connection: Connection) -> None:
    """No work leaves anything behind in its connection, so a reset would be a round trip for nothing."""
