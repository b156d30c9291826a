"""On tables that are partitioned by tenant, where rows of two partitions lie at the same place."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta

import pytest
from tests.integration.postgres.postgres_fixtures import a_store, fill, many
from tests.postgres import Databases, partition_by_tenant

from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.domain.scheduling.due import Start
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.contracts.harness import Bench

PARTITIONS, TENANTS, OF_EACH, LIMIT = 8, 32, 20, 50
LATER = NEW_YEAR + timedelta(hours=1)
LEASED = "SELECT tenant_id, endpoint_id, run_due_at FROM endpoint_states WHERE lease_token IS NOT NULL"
BOUNDS = {"tenant-00": 5, "tenant-01": 5}


def of_tenants() -> list[Endpoint]:
    """Endpoints of many tenants, of which the first ten of each are due."""
    return [
        endpoint
        for number in range(TENANTS)
        for due_at, count in ((NEW_YEAR, OF_EACH // 2), (LATER, OF_EACH // 2))
        for endpoint in many(count, due_at, f"tenant-{number:02}{'' if due_at == NEW_YEAR else '-later'}")
    ]


@pytest.fixture
def partitioned_url(newest_databases: Databases) -> Iterator[str]:
    url = newest_databases.new()
    asyncio.run(partition_by_tenant(url, PARTITIONS))
    yield url
    newest_databases.drop(url)


@pytest.fixture
async def store(partitioned_url: str) -> AsyncIterator[PostgresStore]:
    async with a_store(partitioned_url) as store:
        await fill(store._pool, of_tenants())
        yield store


@pytest.mark.parametrize("bounds", [{}, BOUNDS], ids=["no bounds", "tenants with bounds"])
async def test_a_claim_leases_what_it_chose_and_nothing_else(
    store: PostgresStore, bounds: dict[str, int]
) -> None:
    due = {one.key for one in of_tenants() if one.next_run_at == NEW_YEAR}
    claimed = [
        claim.key
        for _ in range(2)
        for claim in await store.endpoints.claim_due(
            now=NEW_YEAR,
            within=timedelta(0),
            lease_until=LATER,
            limit=LIMIT,
            bounds=bounds,
            can_run=["callable:noop"],
        )
    ]
    leased = [(row[0], row[1]) for row in await store._pool.ask(LEASED)]
    assert len(claimed) == 2 * LIMIT
    assert set(claimed) <= due
    assert sorted(leased) == sorted(claimed)


async def test_what_waited_is_started_and_settled_where_it_lies(store: PostgresStore) -> None:
    bench = Bench(store)
    claims = await bench.claim(limit=TENANTS * OF_EACH, within_ms=3_600_000)
    bench.pass_ms(3_600_000)
    at_once, waiting = claims[: len(claims) // 2], claims[len(claims) // 2 :]
    started = [one.claim for one in await bench.start(*waiting) if isinstance(one, Start)]
    assert len({claim.place for claim in started}) < len(started), "rows of two partitions share a place"
    settled = await bench.end(*at_once, *started)
    assert len(settled) == TENANTS * OF_EACH
    assert None not in settled
    assert await store._pool.ask(LEASED) == []
    assert await store._pool.ask("SELECT count(DISTINCT endpoint_id) FROM runs") == [(len(settled),)]
