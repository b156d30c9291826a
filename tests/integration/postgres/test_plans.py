"""No statement reads more than it needs, whatever the statistics say."""

import pytest
from tests.integration.postgres.world import a_store, fill, many

from cadenza.adapters.sql.postgres import statements as sql
from cadenza.adapters.sql.postgres.cycle_statements import CLAIMS, SETTLE, START
from cadenza.adapters.sql.postgres.pool import Connection
from cadenza.testing.clock import NEW_YEAR

NAMES = (
    "GET", "GET_LOCKED", "GET_MANY_LOCKED", "FIND", "FIND_OF_JOB", "STEER", "DEFINE", "HELD", "LEASED",
    "END_LEASES", "STALE", "NEXT_DUE", "ANY_DUE", "OPEN_RUN", "OF_JOB", "RUN", "RUNS", "HINTS",
)  # fmt: skip
STATEMENTS = {name: getattr(sql, name) for name in NAMES}
STATEMENTS |= {f"CLAIM up to {bound}": claim for bound, claim in CLAIMS.items()}
STATEMENTS |= {"START": START, "SETTLE": SETTLE}
LARGE = ("endpoint_states", "endpoints", "runs", "hints")


async def plan(connection: Connection, statement: str) -> str:
    """The plan that is used for every value of its parameters."""
    await connection.execute(f"PREPARE planned AS {statement}")
    types = await connection.fetchval(
        "SELECT cardinality(parameter_types) FROM pg_prepared_statements WHERE name = 'planned'"
    )
    arguments = f"({', '.join(['NULL'] * types)})" if types else ""
    lines = await connection.fetch(f"EXPLAIN EXECUTE planned {arguments}")
    await connection.execute("DEALLOCATE planned")
    return "\n".join(line[0] for line in lines)


@pytest.mark.parametrize("analyzed", [True, False], ids=["analyzed", "just grown"])
async def test_every_statement_goes_by_an_index(database_url: str, *, analyzed: bool) -> None:
    async with a_store(database_url) as store:
        await fill(store._pool, [*many(4_000, NEW_YEAR, "big"), *many(50, NEW_YEAR, "small")])

        async def work(connection: Connection) -> None:
            if not analyzed:
                await connection.execute("DELETE FROM pg_statistic")
            for name, statement in STATEMENTS.items():
                planned = await plan(connection, statement)
                for table in LARGE:
                    assert f"Seq Scan on {table} " not in planned, f"{name}:\n{planned}"
                assert "Hash Join" not in planned, f"{name}:\n{planned}"

        await store._pool.write(work)


async def test_tenants_are_found_and_served_by_their_own_index(database_url: str) -> None:
    async with a_store(database_url) as store:
        await fill(store._pool, [*many(4_000, NEW_YEAR, "big"), *many(50, NEW_YEAR, "small")])
        planned = await store._pool.write(lambda connection: plan(connection, CLAIMS[1_024]))
        shared = planned[planned.index("CTE shared") : planned.index("CTE soonest")]
        assert "endpoint_states_due_of_tenant" in shared


@pytest.mark.parametrize("count", [100, 8_000])
async def test_a_claim_that_finds_nothing_reads_a_handful_of_pages(database_url: str, count: int) -> None:
    async with a_store(database_url) as store:
        await fill(store._pool, many(count, NEW_YEAR.replace(year=2030)))

        async def work(connection: Connection) -> str:
            ids = [str(number) for number in range(500)]
            lines = await connection.fetch(
                f"EXPLAIN (ANALYZE, BUFFERS) {CLAIMS[1_024]}",
                NEW_YEAR, 500, "token", NEW_YEAR, ids, NEW_YEAR, "", 50,
            )  # fmt: skip
            return "\n".join(line[0] for line in lines)

        read = await store._pool.write(work)
        (pages, *_) = [line for line in read.split("\n") if "Buffers: shared hit=" in line]
        assert int(pages.split("hit=")[1].split()[0]) < 20, read
