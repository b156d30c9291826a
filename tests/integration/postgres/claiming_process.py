"""A worker process of the test beside it: claims until nothing is left, and prints what it got."""

import asyncio
import sys
from datetime import UTC, datetime, timedelta

from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.postgres.store import PostgresStore

NOW = datetime(2025, 1, 1, tzinfo=UTC)


async def main(url: str) -> None:
    store = PostgresStore(PostgresPool(url), TimeOrderedIds())
    empty = 0
    while empty < 3:
        claims = await store.endpoints.claim_due(
            now=NOW, within=timedelta(0), lease_until=NOW + timedelta(minutes=1), limit=70
        )
        empty = 0 if claims else empty + 1
        print("\n".join(f"{claim.endpoint.id} {claim.run_id}" for claim in claims), flush=True)  # noqa: T201
    await store.close()


asyncio.run(main(sys.argv[1]))
