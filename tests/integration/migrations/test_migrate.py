"""A schema is made, upgraded with what is in it, and never used when it is newer than the code."""

import asyncio
import sqlite3
import subprocess
import sys
from pathlib import Path

import asyncpg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine
from tests.integration.migrations.expected_schema import metadata
from tests.postgres import Databases

from cadenza.adapters.stores.sql.migrate import Migrated, check, migrate
from cadenza.adapters.stores.sql.migrations import HEAD, script
from cadenza.domain.errors import Unavailable

OLD_ENDPOINT = "INSERT INTO endpoints VALUES ('default', 'old', 'default', 'old', NULL, '{}')"
OLD_STATE = (
    "INSERT INTO endpoint_states (tenant_id, endpoint_id, rank, version, next_source, missed_slots,"
    " failure_count, abandoned_count, enabled, archived, job_active, lease_token)"
    " VALUES ('default', 'old', {rank}, 3, 'first', 0, 7, 0, true, false, true, 'token')"
)
LEASED = "SELECT failure_count FROM endpoint_states WHERE lease_token = 'token'"


async def execute(url: str, *statements: str) -> list[tuple[object, ...]]:
    """Carry out statements, and answer the rows of the last."""
    if url.startswith("sqlite"):
        with sqlite3.connect(url.removeprefix("sqlite:///")) as connection:
            rows = [connection.execute(statement).fetchall() for statement in statements][-1]
        connection.close()
        return rows
    server = await asyncpg.connect(url)
    try:
        *first, last = statements
        for statement in first:
            await server.execute(statement)
        return [tuple(row) for row in await server.fetch(last)]
    finally:
        await server.close()


async def stop_at(url: str, version: str) -> None:
    """Make the schema as it was at a version."""
    dialect = "sqlite" if url.startswith("sqlite") else "postgresql"
    await execute(url, *script.statements(dialect, None, version))


async def test_a_new_database_gets_the_schema_and_the_second_time_there_is_nothing_to_do(url: str) -> None:
    with pytest.raises(Unavailable, match="run `cadenza migrate`"):
        await check(url)
    assert await migrate(url) == Migrated(None, HEAD)
    assert await migrate(url) == Migrated(HEAD, HEAD)
    await check(url)


async def test_an_older_schema_is_upgraded_and_keeps_what_is_in_it(url: str) -> None:
    await stop_at(url, "0001")
    rank = "1" if url.startswith("sqlite") else "DEFAULT"
    await execute(url, OLD_ENDPOINT, OLD_STATE.format(rank=rank))
    with pytest.raises(Unavailable, match="run `cadenza migrate`"):
        await check(url)
    assert await migrate(url) == Migrated("0001", HEAD)
    assert await execute(url, LEASED) == [(7,)]
    await check(url)


async def test_jobs_from_before_they_had_descriptions_were_written_by_no_file(url: str) -> None:
    await stop_at(url, "0003")
    await execute(url, "INSERT INTO jobs (tenant_id, id, name, active) VALUES ('default', 'a', 'old', true)")
    await migrate(url)
    described = "SELECT name, active, description, applied, created_at FROM jobs"
    assert await execute(url, described) == [("old", True, None, False, None)]


async def test_endpoints_from_before_they_had_requirements_get_those_of_their_targets(url: str) -> None:
    await stop_at(url, "0014")
    rank = "{number}" if url.startswith("sqlite") else "DEFAULT"
    for number, (name, target) in enumerate(
        {
            "page": '{"kind": "http", "url": "https://example.com/"}',
            "function": '{"kind": "callable", "function": "check"}',
            "prompt": '{"kind": "prompt", "prompt": "hello"}',
        }.items()
    ):
        await execute(
            url,
            OLD_ENDPOINT.replace("{}", f'{{"target": {target}}}').replace("'old'", f"'{name}'"),
            OLD_STATE.replace("'old'", f"'{name}'").format(rank=rank.format(number=number)),
        )
    await migrate(url)
    required = "SELECT endpoint_id, requirement FROM endpoint_states ORDER BY endpoint_id"
    assert await execute(url, required) == [
        ("function", "callable:check"),
        ("page", "http"),
        ("prompt", "prompt"),
    ]


async def test_hints_and_pauses_from_before_they_had_origins_get_them_from_their_history(url: str) -> None:
    await stop_at(url, "0014")
    hint = (
        "INSERT INTO hints (tenant_id, endpoint_id, kind, written_at, origin)"
        f" VALUES ('default', 'old', '{{}}', {0 if url.startswith('sqlite') else 'now()'}, '{{}}')"
    )
    steered = (
        f"interval_hint_ms = 5, paused_until = {9 if url.startswith('sqlite') else 'now()'}"
        " WHERE endpoint_id = 'old'"
    )
    await execute(
        url,
        OLD_ENDPOINT,
        OLD_STATE.format(rank=1 if url.startswith("sqlite") else "DEFAULT"),
        f"UPDATE endpoint_states SET {steered}",
        hint.format("interval", "cli"),
        hint.format("one-shot", "dashboard"),
        hint.format("interval", "planner:rules"),
    )
    await migrate(url)
    origins = "SELECT interval_hint_origin, one_shot_origin, pause_origin FROM endpoint_states"
    assert await execute(url, origins) == [("planner:rules", None, None)]


async def test_a_newer_schema_is_refused_in_one_sentence(url: str) -> None:
    await migrate(url)
    await execute(url, "UPDATE alembic_version SET version_num = '9999'")
    for use in (migrate, check):
        with pytest.raises(Unavailable, match=r"are of a newer version \(9999\) than this program knows"):
            await use(url)


async def test_several_that_start_at_once_make_the_schema_once(url: str) -> None:
    migrated = await asyncio.gather(*(migrate(url) for _ in range(8)))
    assert [one.before for one in migrated].count(None) >= 1
    assert {one.after for one in migrated} == {HEAD}
    assert await execute(url, "SELECT version_num FROM alembic_version") == [(HEAD,)]


async def test_an_upgrade_that_fails_leaves_the_old_schema(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    await stop_at(url, "0001")
    right = script.statements
    monkeypatch.setattr(script, "statements", lambda *given: [*right(*given), "SELECT * FROM nowhere;"])
    with pytest.raises(Unavailable):
        await migrate(url)
    assert await execute(url, "SELECT version_num FROM alembic_version") == [("0001",)]
    monkeypatch.undo()
    assert await migrate(url) == Migrated("0001", HEAD)


def test_the_newest_step_is_the_one_that_the_code_names() -> None:
    config = Config()
    config.set_main_option("script_location", str(script.HERE))
    config.set_main_option("path_separator", "os")
    assert ScriptDirectory.from_config(config).get_current_head() == HEAD


@pytest.mark.filterwarnings("ignore:Skipped unsupported reflection of expression-based index")
async def test_the_steps_lead_to_the_tables_that_the_code_declares(tmp_path: Path) -> None:
    await migrate(f"sqlite:///{tmp_path / 'cadenza.db'}")
    engine = create_engine(f"sqlite:///{tmp_path / 'cadenza.db'}")
    with engine.connect() as connection:
        differences = compare_metadata(MigrationContext.configure(connection), metadata)
    engine.dispose()
    assert differences == []


async def test_postgresql_has_the_declared_columns_too(newest_databases: Databases) -> None:
    url = await asyncio.to_thread(newest_databases.empty)
    await migrate(url)
    rows = await execute(
        url,
        "SELECT table_name, column_name, is_nullable = 'YES' FROM information_schema.columns"
        " WHERE table_schema = 'public'"
        " AND table_name NOT IN ('alembic_version', 'schedules') AND table_name !~ '^runs_'",
    )
    declared = {
        (table.name, column.name, column.nullable) for table in metadata.tables.values() for column in table.c
    }
    assert set(rows) == declared
    await asyncio.to_thread(newest_databases.drop, url)


async def test_nothing_to_do_costs_no_import_of_alembic(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'cadenza.db'}"
    await migrate(url)
    program = (
        "import asyncio, sys; from cadenza.adapters.stores.sql.migrate import check, migrate;"
        f"asyncio.run(migrate({url!r})); asyncio.run(check({url!r}));"
        "print({'alembic', 'sqlalchemy', 'asyncpg'} & sys.modules.keys())"
    )
    assert await asyncio.to_thread(printed, program) == "set()\n"


def printed(program: str) -> str:
    return subprocess.check_output([sys.executable, "-c", program], text=True)


async def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, " * 100)
    with pytest.raises(Unavailable, match=r"notes\.txt is not a SQLite database"):
        await migrate(f"sqlite:///{path}")
