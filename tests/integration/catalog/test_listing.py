"""No listing reads more than it needs, and none more than it may."""

import asyncio
import re
import sqlite3
from collections.abc import AsyncIterator
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.postgres import Databases

from cadenza.adapters.stores.postgres.partitions import ensure_partitions
from cadenza.adapters.stores.postgres.pool import Connection, PostgresPool
from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sql.rows import EPOCH
from cadenza.adapters.stores.sql.scheduling import jobs, run_search
from cadenza.adapters.stores.sql.scheduling.catalog import find
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.dialect import for_sqlite
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.ports.catalog import Page
from cadenza.ports.scheduling import RunFilter
from cadenza.testing import FakeIds
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.contracts.harness import MINUTE, Bench

FAILED = frozenset({RunStatus.FAILURE})
DAY = 24 * 60 * MINUTE


@pytest.fixture
async def file(tmp_path: Path) -> AsyncIterator[SqliteFile]:
    await migrate(f"sqlite:///{tmp_path / 'cadenza.db'}")
    file = SqliteFile(tmp_path / "cadenza.db")
    yield file
    await file.close()


@pytest.fixture
async def pool(newest_databases: Databases) -> AsyncIterator[PostgresPool]:
    url = await asyncio.to_thread(newest_databases.new)
    pool = PostgresPool(url)
    yield pool
    await pool.close()
    await asyncio.to_thread(newest_databases.drop, url)


@pytest.fixture(params=["sqlite", "postgres"])
def bench(request: pytest.FixtureRequest) -> Bench:
    if request.param == "sqlite":
        return Bench(SqliteStore(request.getfixturevalue("file"), FakeIds()))
    return Bench(PostgresStore(request.getfixturevalue("pool"), FakeIds()))


async def run_with_one_failure(bench: Bench, count: int, failing: int) -> list[Run]:
    """So many runs of one endpoint, of which one fails."""
    await bench.add(job_id="job")
    runs = []
    for number in range(count):
        runs.append(await bench.run_once(RunStatus.FAILURE if number == failing else RunStatus.SUCCESS))
        bench.pass_ms(MINUTE)
    return runs


@pytest.mark.parametrize(
    "wanted", [RunFilter(statuses=FAILED), RunFilter("endpoint", "job", FAILED)], ids=str
)
async def test_a_search_for_what_is_rare_answers_early_and_goes_on_where_it_was(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, wanted: RunFilter
) -> None:
    for scan in ("SCAN", "SCATTERED_SCAN"):
        monkeypatch.setattr(run_search, scan, 4)
    runs = await run_with_one_failure(bench, 11, failing=3)
    answers, after = [], None
    for _ in range(3):
        found, after = await bench.store.runs.find_runs("default", wanted=wanted, page=Page(10, after))
        answers.append(([run.id for run in found], after))
    assert answers == [([], runs[7].id), ([runs[3].id], runs[3].id), ([], None)]


async def test_a_full_page_goes_on_after_its_last_run_and_not_after_the_last_that_was_looked_at(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_search, "SCAN", 8)
    runs = await run_with_one_failure(bench, 10, failing=0)
    wanted = RunFilter(statuses=frozenset({RunStatus.SUCCESS}))
    found, after = await bench.store.runs.find_runs("default", wanted=wanted, page=Page(3))
    assert [run.id for run in found] == [run.id for run in runs[:-4:-1]]
    assert after == runs[-3].id


async def test_what_an_index_tells_alone_is_not_cut_short(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    for scan in ("SCAN", "SCATTERED_SCAN"):
        monkeypatch.setattr(run_search, scan, 2)
    await run_with_one_failure(bench, 6, failing=0)
    for wanted in (RunFilter(), RunFilter("endpoint")):
        found = await bench.store.runs.find_runs("default", wanted=wanted)
        assert (len(found.runs), found.after) == (6, None)


async def test_runs_with_long_responses_are_not_all_read_for_one_answer(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_search, "LONGEST", 1_000)
    await bench.add()
    runs = []
    for length in (10, 2_000, 300, 300, 300):
        runs.append(await bench.run_once(response={"body": "x" * length}))
        bench.pass_ms(MINUTE)
    answers, after = [], None
    for _ in range(3):
        found, after = await bench.store.runs.find_runs("default", page=Page(10, after))
        answers.append(([run.id for run in found], after))
    first, second, third, fourth, fifth = (run.id for run in runs)
    assert answers == [([fifth, fourth, third], third), ([second], second), ([first], None)]


async def test_a_span_reads_the_partitions_of_its_days_alone(pool: PostgresPool) -> None:
    await ensure_partitions(pool, NEW_YEAR)
    bench = Bench(PostgresStore(pool, FakeIds()))
    await bench.add()
    runs = []
    for _ in range(6):
        runs.append(await bench.run_once())
        bench.pass_ms(DAY)
    since, until = NEW_YEAR + timedelta(days=2), NEW_YEAR + timedelta(days=3, hours=1)
    found = await bench.store.runs.find_runs("default", wanted=RunFilter(since=since, until=until))
    assert found == ([runs[3], runs[2]], None)
    arguments = ("default", "z", "", since, until, None, None, None, 10)
    plan = await pool.write(partial(analyzed, statement=run_search.FIND_RUNS, arguments=arguments))
    read = {day for day in range(1, 9) if f"on runs_2025010{day} " in plan}
    assert read == {3, 4}, plan


async def analyzed(connection: Connection, statement: str, arguments: tuple[Any, ...]) -> str:
    """What is really read for these arguments, by the plan that serves all."""
    await connection.execute(f"PREPARE planned AS {statement}")
    given = ", ".join("NULL" if one is None else f"'{one}'" for one in arguments)
    lines = await connection.fetch(f"EXPLAIN (ANALYZE, COSTS OFF) EXECUTE planned ({given})")
    await connection.execute("DEALLOCATE planned")
    return "\n".join(line[0] for line in lines)


async def test_runs_are_read_by_their_index_and_never_sorted(pool: PostgresPool) -> None:
    await ensure_partitions(pool, NEW_YEAR)
    bench = Bench(PostgresStore(pool, FakeIds()))
    await run_with_one_failure(bench, 20, failing=0)
    for of_endpoint in (True, False):
        last = ("endpoint",) if of_endpoint else ()
        searches = {
            run_search.floor(of_endpoint=of_endpoint, within=False): ("default", "z", 10, *last),
            run_search.FIND_RUNS_OF_ENDPOINT if of_endpoint else run_search.FIND_RUNS: (
                ("default", "z", "", EPOCH, NEW_YEAR, None, None, None, 10, *last)
            ),
        }
        for statement, arguments in searches.items():
            plan = await pool.write(partial(analyzed, statement=statement, arguments=arguments))
            assert "Merge Append" in plan, plan
            assert "->  Sort" not in plan, plan


@pytest.mark.parametrize("analyzed_before", [True, False], ids=["analyzed", "just grown"])
async def test_a_page_of_endpoints_costs_little_in_a_table_that_has_just_grown(
    pool: PostgresPool, *, analyzed_before: bool
) -> None:
    """A plan by wrong guesses would go through a tenant's rows for each of them."""
    await fill(pool, 4_000)
    if analyzed_before:
        await pool.ask("ANALYZE")
    for labels in range(3):
        for of_job in (True, False):
            statement = find(labels, of_job=of_job, archived=True)
            words = ("all", "x", "team", "1")[: 2 * labels]
            arguments = ("default", "e-0100", 10, *words, *(["job"] if of_job else []), False)
            plan = await pool.write(partial(analyzed, statement=statement, arguments=arguments))
            assert rows_read(plan) < (1_000 if analyzed_before else 5 * 4_000), plan


async def fill(pool: PostgresPool, count: int) -> None:
    """Many endpoints at once; nobody tells the planner."""
    series = f"generate_series(1, {count}) AS n"
    id_ = "'e-' || lpad(n::text, 4, '0')"
    await pool.ask(
        f"INSERT INTO endpoints SELECT 'default', {id_}, CASE n % 2 WHEN 0 THEN 'job' ELSE 'odd' END, 'name',"
        f" NULL, '{{}}' FROM {series}"
    )
    await pool.ask(
        "INSERT INTO endpoint_states (tenant_id, endpoint_id, version, next_source, missed_slots,"
        " failure_count, abandoned_count, enabled, archived, job_active)"
        f" SELECT 'default', {id_}, 0, 'first', 0, 0, 0, true, false, true FROM {series}"
    )
    for name, value in (("all", "'x'"), ("team", "(n % 3)::text")):
        await pool.ask(
            f"INSERT INTO endpoint_labels SELECT 'default', '{name}', {value}, {id_} FROM {series}"
        )


def rows_read(plan: str) -> float:
    """All rows that all steps of a plan have handed on."""
    steps = re.findall(r"rows=([\d.]+) loops=(\d+)", plan)
    return sum(float(rows) * int(loops) for rows, loops in steps)


@pytest.mark.parametrize("labels", range(4))
@pytest.mark.parametrize("of_job", [True, False])
async def test_sqlite_finds_endpoints_by_keys_in_their_order(
    file: SqliteFile, labels: int, *, of_job: bool
) -> None:
    steps = await file.read(partial(explained, statement=find(labels, of_job=of_job, archived=True)))
    assert all(step.startswith(("SEARCH ", "CORRELATED ")) for step in steps), steps
    assert steps[0].startswith("SEARCH l " if labels else "SEARCH e "), steps


@pytest.mark.parametrize(
    "statement",
    [
        run_search.FIND_RUNS,
        run_search.FIND_RUNS_OF_ENDPOINT,
        run_search.floor(of_endpoint=False, within=False),
        run_search.floor(of_endpoint=True, within=False),
        run_search.ENDED_SINCE,
        jobs.LIST,
    ],
)
async def test_sqlite_reads_runs_and_jobs_in_the_order_of_an_index(file: SqliteFile, statement: str) -> None:
    steps = await file.read(partial(explained, statement=statement))
    assert any(step.startswith("SEARCH ") for step in steps), steps
    assert not any("TEMP B-TREE" in step or step in ("SCAN runs", "SCAN jobs") for step in steps), steps


def explained(connection: sqlite3.Connection, statement: str) -> list[str]:
    """What SQLite does for a statement, step by step."""
    translated = for_sqlite(statement)
    values = [None] * translated.parameters
    rows = connection.execute(f"EXPLAIN QUERY PLAN {translated.text}", values)
    return [row[3] for row in rows]
