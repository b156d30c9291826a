"""A pool of connections to one PostgreSQL database."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias, TypeVar

import asyncpg

from cadenza.adapters.stores.postgres.arrays import identity
from cadenza.adapters.stores.postgres.errors import RETRYABLE, address_of, translated_errors
from cadenza.adapters.stores.sql.database import Dialect
from cadenza.adapters.stores.sql.rows import Read

Answer = TypeVar("Answer")
Connection: TypeAlias = (
    "asyncpg.Connection[asyncpg.Record] | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"
)
Work = Callable[[Connection], Awaitable[Answer]]
CONNECT_TIMEOUT_S = 10
COMMAND_TIMEOUT_S = 60
QUERIES_PER_CONNECTION = 1_000_000
QUERY_OPTIONS = {
    "jit": "off",  # Compiling a statement that takes a millisecond takes hundreds.
    "plan_cache_mode": "force_generic_plan",  # Planning the claim takes longer than many a claim.
    # Every statement goes by keys, whatever the statistics of a table that has just grown may say.
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "enable_seqscan": "off",
}


class RolledBack(Exception):
    """Work decided that its transaction is rolled back."""


class PostgresPool:
    """Connects when it is first used, so the server need not be up at the start.

    With `prepared=False` nothing is left in a session, neither prepared statements nor settings:
    for a pooler in transaction mode.
    """

    dialect = Dialect.POSTGRES
    read_moment: Read = staticmethod(identity)

    def __init__(self, url: str, *, size: int = 8, prepared: bool = True) -> None:
        self.url = url
        self.address = address_of(url)
        self._size = size
        self._prepared = prepared
        self._opening = asyncio.Lock()
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None

    async def write(self, work: Work[Answer]) -> Answer:
        """Do work in one transaction; if it raises, it is rolled back.

        After a deadlock or a serialization failure it is retried once.
        """
        with translated_errors(self.address):
            try:
                return await self._transact(work)
            except RETRYABLE:
                return await self._transact(work)

    async def try_write(self, work: Work[bool]) -> bool:
        """Do work in one transaction; if it returns False, it is rolled back."""

        async def attempt(connection: Connection) -> None:
            if not await work(connection):
                raise RolledBack

        try:
            await self.write(attempt)
        except RolledBack:
            return False
        return True

    async def ask(self, statement: str, *arguments: Any) -> list[Any]:
        """Carry out one statement in a commit of its own, and return its rows; retried like `write`."""
        with translated_errors(self.address):
            try:
                return await self._ask(statement, arguments)
            except RETRYABLE:
                return await self._ask(statement, arguments)

    async def read(self, statement: str, /, *values: Any) -> list[Any]:
        """The rows of a statement that changes nothing."""
        return await self.ask(statement, *values)

    async def connect(self) -> "asyncpg.Connection[asyncpg.Record]":
        """A new connection, outside the pool."""
        with translated_errors(self.address):
            return await asyncpg.connect(
                self.url, timeout=CONNECT_TIMEOUT_S, command_timeout=COMMAND_TIMEOUT_S
            )

    async def close(self) -> None:
        """Finish running work, and close all connections."""
        pool, self._pool = self._pool, None
        if pool is None:
            return
        try:
            await asyncio.wait_for(pool.close(), CONNECT_TIMEOUT_S)
        except (OSError, asyncpg.InterfaceError):
            pool.terminate()

    async def _transact(self, work: Work[Answer]) -> Answer:
        pool = await self._opened()
        async with pool.acquire(timeout=COMMAND_TIMEOUT_S) as connection, connection.transaction():
            if not self._prepared:
                await _set_query_options(connection, "LOCAL")
            return await work(connection)

    async def _ask(self, statement: str, arguments: tuple[Any, ...]) -> list[Any]:
        if not self._prepared:
            return await self._transact(lambda connection: connection.fetch(statement, *arguments))
        pool = await self._opened()
        async with pool.acquire(timeout=COMMAND_TIMEOUT_S) as connection:
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
            max_queries=QUERIES_PER_CONNECTION,
            timeout=CONNECT_TIMEOUT_S,
            command_timeout=COMMAND_TIMEOUT_S,
            statement_cache_size=100 if self._prepared else 0,
            max_cached_statement_lifetime=0,
            init=_set_query_options if self._prepared else None,
            reset=_no_reset,
        )


async def _set_query_options(connection: Connection, scope: str = "SESSION") -> None:
    await connection.execute(
        "; ".join(f"SET {scope} {name} = {value}" for name, value in QUERY_OPTIONS.items())
    )


async def _no_reset(connection: Connection) -> None:
    """No work changes its session, so the round trip of a reset is saved."""
