"""No statement reads more than it needs, whatever the statistics say."""

import re
from typing import Any, cast

import pytest
from tests.integration.postgres.postgres_fixtures import a_store, fill, many

from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.stores.postgres import claim, planner_feed, sweep
from cadenza.adapters.stores.postgres import cycle_statements as cycle
from cadenza.adapters.stores.postgres.claim_statements import BOUNDED_CLAIMS, CLAIMS
from cadenza.adapters.stores.postgres.cycle_statements import LOCK, SETTLE, SETTLE_ORDINARY
from cadenza.adapters.stores.postgres.engines import claim_by_key
from cadenza.adapters.stores.postgres.pool import Connection
from cadenza.adapters.stores.postgres.settle import settle_ordinary
from cadenza.adapters.stores.postgres.start import START
from cadenza.adapters.stores.sql.database import Dialect
from cadenza.adapters.stores.sql.planning import analyses
from cadenza.adapters.stores.sql.scheduling import (
    calendars,
    catalog,
    endpoint_store,
    endpoints,
    jobs,
    labels_and_uses,
    run_search,
)
from cadenza.domain.scheduling.run import Completion, Outcome, RunStatus
from cadenza.domain.scheduling.settle import settle
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.contracts.harness import Bench

NAMES: dict[Any, tuple[str, ...]] = {
    cycle: ("RUNS_OF_LEASES",),
    claim: ("NEXT_DUE", "NEXT_DUE_OF_OTHERS", "REQUIREMENTS"),
    claim_by_key: ("LOCK_DUE", "LEASE"),
    sweep: ("LEASED", "END_LEASES", "STALE", "LOCK_THEIRS", "NOTE_DEATHS"),
    endpoints: (
        "GET", "GET_LOCKED", "GET_MANY_LOCKED", "GET_JOBS", "COUNT_LIVE_UP_TO", "UPDATE_ENDPOINTS",
    ),
    labels_and_uses: ("DROP_LABELS", "DROP", "OF_CALENDAR", "NAMING", "CURRENT"),
    calendars: ("GET", "LIST", "UNTIL"),
    endpoint_store: ("OPEN_RUN", "RUN", "RUNS", "HINTS"),
    jobs: ("LIST", "DROP", "LIVE_OF_JOB", "UNLIKE_JOBS"),
    catalog: ("COUNT_LIVE", "JOBS_WITHIN", "ENDPOINTS_WITHIN"),
    planner_feed: ("ENDED", "RECENT", "ENDPOINTS", "SIBLINGS"),
    run_search: ("FIND_RUNS", "FIND_RUNS_OF_ENDPOINT", "ENDED_SINCE"),
}  # fmt: skip
FOUND = {
    f"find by {labels} labels{', of a job' if of_job else ''}{', failing' if failing else ''}": catalog.find(
        labels, of_job=of_job, archived=True, failing=failing
    )
    for labels in range(4)
    for of_job in (True, False)
    for failing in (True, False)
}
FLOORS = {
    f"floor{' of an endpoint' if of_endpoint else ''}{' within days' if within else ''}": run_search.floor(
        of_endpoint=of_endpoint, within=within
    )
    for of_endpoint in (True, False)
    for within in (True, False)
}
STATEMENTS = {name: getattr(module, name) for module, names in NAMES.items() for name in names}
STATEMENTS |= {"UPDATE_STATES": endpoints.UPDATE_STATES[Dialect.POSTGRES]} | FOUND | FLOORS
STATEMENTS |= {
    f"{name} of analyses": getattr(analyses, name)
    for name in ("LIST", "USAGE_BY_DAY", "REMOVE_NEXT", "DUE", "LOCK_DUE", "NOTES", "REMOVE_OLD")
}
STATEMENTS |= {f"CLAIM up to {bound}": text for bound, text in CLAIMS.items()}
STATEMENTS |= {f"CLAIM within bounds up to {bound}": text for bound, text in BOUNDED_CLAIMS.items()}
STATEMENTS |= {
    f"choice of up to {bound}{' within bounds' if within else ''}": claim_by_key.choice_of(
        bound, within_bounds=within
    ).text
    for bound in CLAIMS
    for within in (True, False)
}
STATEMENTS |= {"LOCK": LOCK, "START": START, "SETTLE": SETTLE, "SETTLE_ORDINARY": SETTLE_ORDINARY}
EACH_WITH_EACH = re.compile(r"Join Filter: \(\w+\.id = \w+\.id\)")
"""Two steps of a statement, each as long as the batch, that are compared row by row."""
LARGE = (
    "endpoint_states",
    "endpoints",
    "endpoint_labels",
    "jobs",
    "runs",
    "runs_default",
    "hints",
    "analyses",
    "looks",
    "notes",
)


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
                assert not EACH_WITH_EACH.search(planned), f"{name}:\n{planned}"

        await store._pool.write(work)


async def test_tenants_are_found_and_served_by_their_own_index(database_url: str) -> None:
    async with a_store(database_url) as store:
        await fill(store._pool, [*many(4_000, NEW_YEAR, "big"), *many(50, NEW_YEAR, "small")])
        planned = await store._pool.write(lambda connection: plan(connection, CLAIMS[1_024]))
        shared = planned[planned.index("CTE shared") : planned.index("CTE soonest")]
        assert "endpoint_states_due_of_tenant" in shared


HURRY = True
CAN_RUN = ["callable:noop", "http", "prompt"]
SETTLINGS = {
    "ordinary": (SETTLE_ORDINARY, "Tid Scan"),
    "any": (SETTLE, "Index Scan using endpoint_states_pkey"),
}


@pytest.mark.parametrize("kind", SETTLINGS)
@pytest.mark.parametrize("analyzed", [True, False], ids=["analyzed", "just grown"])
async def test_settling_locks_rows_in_the_order_in_which_they_are_given(
    database_url: str, kind: str, *, analyzed: bool
) -> None:
    statement, found = SETTLINGS[kind]
    async with a_store(database_url) as store:
        await fill(store._pool, many(4_000, NEW_YEAR))

        async def work(connection: Connection) -> str:
            if not analyzed:
                await connection.execute("DELETE FROM pg_statistic")
            return await plan(connection, statement)

        steps = [line.strip() for line in (await store._pool.write(work)).split("\n") if "->" in line]
        joined = steps.index(next(step for step in steps if "Nested Loop" in step))
        scans = [step for step in steps[joined:] if "Scan" in step and "Subquery" not in step]
        assert "Function Scan" in scans[0], steps
        assert found in scans[1], steps


class Recorder:
    """A connection that only remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: tuple[Any, ...] = ()

    async def fetch(self, *asked: Any) -> list[list[int]]:
        self.asked = asked
        return [[0]]


async def test_a_batch_reads_no_table_whole(database_url: str) -> None:
    """A plan for the values of one batch may be another than those above."""
    async with a_store(database_url) as store:
        await fill(store._pool, many(4_000, NEW_YEAR))
        claims = await Bench(store).claim(limit=500)
        ended = [Completion(claim, Outcome(RunStatus.SUCCESS), NEW_YEAR) for claim in claims]
        settled = [settle(one.claim.endpoint, one, now=NEW_YEAR, cron=CronsimCron()) for one in ended]
        recorder = Recorder()
        await settle_ordinary(cast("Connection", recorder), ended, settled)
        ids = [claim.run_id for claim in claims]
        claiming = (
            CLAIMS[1_024], NEW_YEAR, 500, "token", NEW_YEAR, ids, NEW_YEAR, "", 50, HURRY, CAN_RUN, "", "",
        )  # fmt: skip
        for statement, *values in (recorder.asked, claiming):
            lines = await store._pool.ask(f"EXPLAIN {statement}", *values)
            planned = "\n".join(line[0] for line in lines)
            assert "Tid Scan on endpoint_states" in planned, planned
            assert "Seq Scan" not in planned, planned


@pytest.mark.parametrize("count", [100, 8_000])
@pytest.mark.parametrize("others_have_due", [True, False], ids=["others have work", "nobody has work"])
async def test_a_claim_that_finds_nothing_reads_a_handful_of_pages(
    database_url: str, count: int, *, others_have_due: bool
) -> None:
    async with a_store(database_url) as store:
        due_at = NEW_YEAR.replace(year=2020 if others_have_due else 2030)
        await fill(store._pool, many(count, due_at, function="another" if others_have_due else "noop"))

        async def work(connection: Connection) -> str:
            ids = [str(number) for number in range(500)]
            lines = await connection.fetch(
                f"EXPLAIN (ANALYZE, BUFFERS) {CLAIMS[1_024]}",
                NEW_YEAR, 500, "token", NEW_YEAR, ids, NEW_YEAR, "", 50, HURRY, CAN_RUN, "", "",
            )  # fmt: skip
            return "\n".join(line[0] for line in lines)

        read = await store._pool.write(work)
        (pages, *_) = [line for line in read.split("\n") if "Buffers: shared hit=" in line]
        assert int(pages.split("hit=")[1].split()[0]) < 30, read
