"""A store on PostgreSQL with a bench to drive it."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

from cadenza.adapters.stores.postgres.pool import Connection, PostgresPool
from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.adapters.stores.sql.database import Dialect
from cadenza.adapters.stores.sql.given_rows import columns_of
from cadenza.adapters.stores.sql.rows import OWNER_COLUMNS, write_state
from cadenza.adapters.stores.sql.scheduling.definition import write_definition
from cadenza.adapters.stores.sql.scheduling.endpoints import ADD_STATES
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.target import CallableTarget
from cadenza.ports.telemetry import Logger
from cadenza.testing import FakeIds, FakeLog, an_endpoint


@asynccontextmanager
async def a_store(url: str, *, name: str = "id", log: Logger | None = None) -> AsyncIterator[PostgresStore]:
    store = PostgresStore(PostgresPool(url), FakeIds(name), log or FakeLog())
    try:
        yield store
    finally:
        await store.close()


async def fill(pool: PostgresPool, endpoints: Sequence[Endpoint]) -> None:
    """Keep many endpoints at once."""

    async def work(connection: Connection) -> None:
        owned = [(*one.key, one.job_id, one.name, None, write_definition(one)) for one in endpoints]
        await connection.copy_records_to_table("endpoints", records=owned, columns=OWNER_COLUMNS)
        await connection.execute(
            ADD_STATES[Dialect.POSTGRES],
            *columns_of([(*one.key, *write_state(one)) for one in endpoints]),
        )
        await connection.execute("ANALYZE endpoints; ANALYZE endpoint_states")

    await pool.write(work)


def many(count: int, due_at: datetime, tenant_id: str = "default", function: str = "noop") -> list[Endpoint]:
    target = CallableTarget(function)
    return [
        an_endpoint(f"{tenant_id}-{number:06}", next_run_at=due_at, tenant_id=tenant_id, target=target)
        for number in range(count)
    ]
