"""A pool of connections to one PostgreSQL database."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any, TypeAlias, TypeVar, cast

import asyncpg

from cadenza.adapters.stores.postgres.arrays import identity
from cadenza.adapters.stores.postgres.connections.server_connector import ServerConnector
from cadenza.adapters.stores.postgres.connections.session_settings import (
    QUERY_OPTIONS,
    apply_settings,
    time_limits,
)
from cadenza.adapters.stores.postgres.connections.transactions import (
    DriverConnection,
    cause_of,
    terminate,
    transaction,
)
from cadenza.adapters.stores.postgres.engines.profile import POSTGRESQL, EngineProfile
from cadenza.adapters.stores.postgres.engines.reduced_connection import ReducedConnection
from cadenza.adapters.stores.postgres.errors import address_of, is_retryable, translated_errors
from cadenza.adapters.stores.sql.database import Dialect
from cadenza.adapters.stores.sql.monitoring.health import RefusedChanges
from cadenza.adapters.stores.sql.one_commit import OneCommit
from cadenza.adapters.stores.sql.rows import Read

Answer = TypeVar("Answer")
Connection: TypeAlias = DriverConnection
Work = Callable[[Connection], Awaitable[Answer]]
CLOSE_TIMEOUT_S = 10
TIMEOUT_S = 60.0
"""How long a statement may take, or work may wait for a connection of the pool."""
LEAVES_SERVER = (TimeoutError, asyncpg.ReadOnlySQLTransactionError)
"""After these, all connections are replaced: the server is gone, or another one has taken its place."""
KEPT_S, KEPT_ASLEEP_S = 300.0, 5.0
"""How long a connection that is not used stays open; a server that is to fall asleep wants none."""
ATTEMPTS = 3
QUERIES_PER_CONNECTION = 1_000_000


class RolledBack(Exception):
    """Work decided that its transaction is rolled back."""


class PostgresPool:
    """Connects when it is first used, so the server need not be up at the start.

    With `prepared=False` nothing is left in a session, neither prepared statements nor settings:
    for a pooler in transaction mode.

    When a statement is not answered within `timeout_s`, or the server has become read-only, all
    connections are replaced, so that however many went silent, one of them is waited for. The server
    has the same limit, so that what was locked by a transaction that nobody can end is free after it.
    """

    dialect = Dialect.POSTGRES
    read_moment: Read = staticmethod(identity)

    def __init__(
        self,
        url: str,
        *,
        size: int = 8,
        prepared: bool = True,
        timeout_s: float = TIMEOUT_S,
        profile: EngineProfile = POSTGRESQL,
    ) -> None:
        self.url = url
        self.profile = profile
        self.on_notification: Callable[[str], None] = lambda _: None
        """Called with what a commit of this pool would notify, if the engine passes no notifications on."""
        self._reduces = not (profile.advisory_locks and profile.notifications)
        self.address = address_of(url)
        self.refused_changes = RefusedChanges()
        self._connector = ServerConnector(url, self.address, keeps_sessions=prepared)
        self._size = size
        self._prepared = prepared
        self._timeout_s = timeout_s
        self._settings = QUERY_OPTIONS | time_limits(timeout_s)
        self._opening = asyncio.Lock()
        self._pool: asyncpg.Pool[asyncpg.Record] | None = None
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def connections_made(self) -> int:
        """Each may lead to a server that has another history than the last one."""
        return self._connector.connections_made

    async def write(self, work: Work[Answer]) -> Answer:
        """Do work in one transaction; if it raises, it is rolled back.

        After a deadlock, a serialization failure, or when a partition of runs appeared, it is retried.
        """
        with self.refused_changes.noted(), translated_errors(self.address):
            return await _retried(lambda: self._transact(work))

    async def in_one_commit(self, perform: Callable[[], Awaitable[Answer]]) -> Answer:
        """Do work whose reads and writes are one transaction; if it raises, it is rolled back.

        Within another one, it is a part of that.
        """
        if OneCommit.of(self) is not None:
            return await perform()
        with self.refused_changes.noted(), translated_errors(self.address):
            async with AsyncExitStack() as stack:
                one_commit = OneCommit(self, lambda: self._begin(one_commit, stack))
                stack.enter_context(one_commit.joined())
                return await perform()

    def after_commit(self, callback: Callable[[], None]) -> None:
        """Call this once what was just written is committed: at once, unless it is part of more."""
        OneCommit.after(self, callback)

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
        if OneCommit.of(self) is not None:
            return await self.write(lambda connection: connection.fetch(statement, *arguments))
        return await self._ask(statement, arguments)

    async def read(self, statement: str, /, *values: Any) -> list[Any]:
        """The rows of a statement that changes nothing."""
        one_commit = OneCommit.of(self)
        if one_commit is not None and one_commit.connection is None:
            return await self._ask(statement, values)
        return await self.ask(statement, *values)

    async def read_by_key(
        self, statement: str, /, *values: Any, decode: Callable[[Sequence[Any]], Answer]
    ) -> Answer:
        """What is made of the rows that are found by their key."""
        return decode(await self.read(statement, *values))

    async def connect(self) -> "asyncpg.Connection[asyncpg.Record]":
        """A new connection, outside the pool."""
        with translated_errors(self.address):
            return await self._connector.connect(self.url, command_timeout=self._timeout_s)

    async def close(self) -> None:
        """Finish running work, and close all connections."""
        if self._pool is not None:
            self._leave(self._pool)
        await asyncio.gather(*self._closing)

    async def _begin(self, one_commit: OneCommit, stack: AsyncExitStack) -> None:
        connection = await stack.enter_async_context(self._acquired())
        await stack.enter_async_context(transaction(connection))
        if not self._prepared:
            await apply_settings(connection, self._settings, scope="LOCAL")
        one_commit.connection = connection

    async def _transact(self, work: Work[Answer]) -> Answer:
        """Do work in one transaction; what the engine cannot notify is passed on after the commit."""
        if not self._reduces:
            return await self._transact_plainly(work)
        notifications: list[str] = []

        async def reduced_work(connection: Connection) -> Answer:
            reduced = ReducedConnection(connection, self.profile)
            answer = await work(cast("Connection", reduced))
            notifications.extend(reduced.notifications)
            return answer

        answer = await self._transact_plainly(reduced_work)
        for notification in notifications:
            self.after_commit(partial(self.on_notification, notification))
        return answer

    async def _transact_plainly(self, work: Work[Answer]) -> Answer:
        one_commit = OneCommit.of(self)
        if one_commit is None:
            return await self._transact_alone(work)
        connection: Connection = await one_commit.begun()
        async with transaction(connection):
            return await work(connection)

    async def _transact_alone(self, work: Work[Answer]) -> Answer:
        async with self._acquired() as connection, transaction(connection):
            if not self._prepared:
                await apply_settings(connection, self._settings, scope="LOCAL")
            return await work(connection)

    async def _ask(self, statement: str, arguments: tuple[Any, ...]) -> list[Any]:
        with self.refused_changes.noted(), translated_errors(self.address):
            return await _retried(lambda: self._ask_once(statement, arguments))

    async def _ask_once(self, statement: str, arguments: tuple[Any, ...]) -> list[Any]:
        if not self._prepared:
            return await self._transact_alone(lambda connection: connection.fetch(statement, *arguments))
        async with self._acquired() as connection:
            return await connection.fetch(statement, *arguments)

    @asynccontextmanager
    async def _acquired(self) -> AsyncIterator[Connection]:
        """A connection of the pool; what it is used for may show that all of them must be replaced."""
        pool = await self._opened()
        async with pool.acquire(timeout=self._timeout_s) as connection:
            try:
                yield connection
            except Exception as problem:
                if isinstance(cause_of(problem), LEAVES_SERVER):
                    self._leave(pool)
                if isinstance(cause_of(problem), TimeoutError):
                    terminate(connection)  # The pool would wait once more, for the end of the statement.
                raise

    def _leave(self, pool: "asyncpg.Pool[asyncpg.Record]") -> None:
        """Let the next work open new connections; what is still done on the old ones may end."""
        if self._pool is pool:
            self._pool = None
            closing = asyncio.create_task(_close(pool))
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

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
            max_inactive_connection_lifetime=KEPT_S if self.profile.idle_queries else KEPT_ASLEEP_S,
            connect=self._connector.connect,
            command_timeout=self._timeout_s,
            statement_cache_size=100 if self._prepared else 0,
            max_cached_statement_lifetime=0,
            init=partial(apply_settings, settings=self._settings) if self._prepared else None,
            reset=_no_reset,
        )


async def _close(pool: "asyncpg.Pool[asyncpg.Record]") -> None:
    """Let running work end, but not for long, and close all connections."""
    try:
        async with asyncio.timeout(CLOSE_TIMEOUT_S):
            await pool.close()
    except (OSError, asyncpg.InterfaceError):
        pool.terminate()


async def _retried(attempt: Callable[[], Awaitable[Answer]]) -> Answer:
    for _ in range(ATTEMPTS - 1):
        try:
            return await attempt()
        except asyncpg.PostgresError as problem:
            if not is_retryable(problem):
                raise
    return await attempt()


async def _no_reset(connection: Connection) -> None:
    """No work changes its session, so the round trip of a reset is saved."""
