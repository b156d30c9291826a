"""Transactions of connections that may go silent at any moment."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TypeAlias

import asyncpg

from cadenza.domain.errors import Unavailable

DriverConnection: TypeAlias = (
    "asyncpg.Connection[asyncpg.Record] | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"
)
Transaction: TypeAlias = "asyncpg.transaction.Transaction"


@asynccontextmanager
async def transaction(connection: DriverConnection) -> AsyncIterator[None]:
    """A transaction, which is not rolled back after a timeout: that would wait for the server once more."""
    begun = connection.transaction()
    await begun.start()
    try:
        yield
    except BaseException as problem:
        if not isinstance(cause_of(problem), TimeoutError):
            await _roll_back(begun, connection, problem)
        raise
    else:
        await begun.commit()


async def _roll_back(begun: Transaction, connection: DriverConnection, problem: BaseException) -> None:
    """Roll back; whoever was cancelled learns that, and not that the server did not answer meanwhile."""
    try:
        await begun.rollback()
    except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
        if not isinstance(problem, asyncio.CancelledError):
            raise
        terminate(connection)


def terminate(connection: DriverConnection) -> None:
    """End a connection without a word to the server; the driver may have done so already."""
    with suppress(asyncpg.InterfaceError):
        connection.terminate()


def cause_of(problem: BaseException) -> BaseException:
    """What the driver raised, also where it was translated already, as it is within one commit."""
    return problem.__cause__ or problem if isinstance(problem, Unavailable) else problem
