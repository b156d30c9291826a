"""Whether a call through the database is heard."""

import asyncio
from contextlib import suppress

from cadenza.adapters.stores.postgres import statements as sql
from cadenza.adapters.stores.postgres.errors import translated
from cadenza.adapters.stores.postgres.pool import PostgresPool

HEARD_S = 2.0


async def is_heard(pool: PostgresPool, call: str, *, within_s: float = HEARD_S) -> bool:
    """Does a call that nobody else makes get from one connection to another?

    Behind a pooler that hands sessions around, it does not.
    """
    heard = asyncio.Event()
    connection = await pool.connect()
    try:
        with translated(pool.address):
            await connection.add_listener(sql.CHANNEL, lambda *said: heard.set() if call in said else None)
        await pool.ask(sql.CHECK, call)
        with suppress(TimeoutError):
            await asyncio.wait_for(heard.wait(), within_s)
    finally:
        connection.terminate()
    return heard.is_set()
