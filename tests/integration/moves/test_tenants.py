"""One tenant is moved between two servers, with everything that is its own and nothing else."""

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from tests.integration.moves.filled_databases import content_of, kinds_of, rows_in, run_async
from tests.postgres import Databases
from tests.surfaces.api_in_process import Answered, ApiInProcess

from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.stores.moves.tables import NOT_CARRIED
from cadenza.adapters.stores.moves.tenant_tables import BY_TENANT, OF_THE_INSTALLATION, OWNED
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.roots.command_line import main

Captured = pytest.CaptureFixture[str]
TENANT, OTHER = "tenant-1", "tenant-0"


class Cells(NamedTuple):
    """Two installations; the first has two tenants with rows in every table."""

    one: str
    two: str


@pytest.fixture
def cells(filled: str, newest_databases: Databases, capsys: Captured) -> Iterator[Cells]:
    cells = Cells(newest_databases.empty(), newest_databases.new())
    assert main(["move", "--from", filled, "--to", cells.one]) == 0
    # Nothing is in flight, and a schedule of a user is enabled.
    run_async(rows_in(cells.one, "UPDATE endpoint_states SET lease_token = NULL, requirement = 'http'"))
    run_async(rows_in(cells.one, "DELETE FROM leases"))
    run_async(rows_in(cells.one, "UPDATE keys SET user_id = NULL WHERE id LIKE 'key-1%'"))
    capsys.readouterr()
    yield cells
    for url in cells:
        newest_databases.drop(url)


def move(source: str, target: str, *options: str, tenant: str = TENANT) -> int:
    return main(["move", "--from", source, "--to", target, "--tenant", tenant, *options])


def asked(url: str, statement: str) -> list[tuple[Any, ...]]:
    return run_async(rows_in(url, statement))


def test_every_table_is_the_tenants_or_the_installations(cells: Cells) -> None:
    tables = run_async(kinds_of(cells.one))
    of_tenants = {table for table, columns in tables.items() if "tenant_id" in columns} | set(OWNED)
    assert set(tables) == of_tenants | set(OF_THE_INSTALLATION) | set(NOT_CARRIED)


def test_a_tenant_arrives_with_all_its_rows_and_others_stay(cells: Cells, capsys: Captured) -> None:
    before, beside = run_async(content_of(cells.one, TENANT)), run_async(content_of(cells.one, OTHER))
    before.pop("sessions")
    assert all(before.values()), "every table has rows of this tenant"
    assert move(*cells, "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["outcome"], told["tenant"]) == ("moved", TENANT)
    assert {table: facts["rows"] for table, facts in told["tables"].items()} == {
        table: len(rows) for table, rows in before.items()
    }
    after = run_async(content_of(cells.two, TENANT))
    assert after.pop("sessions") == []
    assert after == before
    assert not any(run_async(content_of(cells.two, OTHER)).values())
    assert run_async(content_of(cells.one, OTHER)) == beside


def test_the_order_of_hints_is_kept(cells: Cells) -> None:
    ordered = "SELECT kind FROM hints WHERE tenant_id = 'tenant-1' ORDER BY endpoint_id, id"
    asked(cells.two, "ALTER SEQUENCE hints_id_seq RESTART WITH 1000")
    before = asked(cells.one, ordered)
    assert move(*cells) == 0
    assert asked(cells.two, ordered) == before
    assert asked(cells.two, "SELECT min(id) FROM hints") == [(1000,)]


def test_what_was_moved_cannot_be_claimed_or_changed_where_it_was(cells: Cells, capsys: Captured) -> None:
    assert move(*cells) == 0
    held = "SELECT DISTINCT requirement FROM endpoint_states WHERE tenant_id = 'tenant-1'"
    assert asked(cells.one, held) == [("moving:http",)]
    assert asked(cells.two, held) == [("http",)]
    assert asked(
        cells.one, "SELECT count(*) FROM daily_users WHERE tenant_id = 'tenant-1' AND shard >= 0"
    ) == [(0,)]
    assert asked(cells.two, "SELECT count(*) FROM daily_users WHERE shard < 0") == [(0,)]
    for table, moment in (("looks", "at"), ("alerts", "due_at")):
        near = f"SELECT count(*) FROM {table} WHERE {OWNED.get(table, BY_TENANT)} AND {moment} < now()"
        assert asked(cells.one, near.format(tenant=f"'{TENANT}'")) == [(0,)]
        assert asked(cells.two, near.format(tenant=f"'{TENANT}'")) == [(3,)]
    with pytest.MonkeyPatch.context() as settings:
        settings.setenv("CADENZA_DATABASE_URL", cells.one)
        capsys.readouterr()
        assert main(["jobs", "create", "--name", "new", "--tenant", TENANT]) == 6
        assert "This tenant is being moved" in capsys.readouterr().err
        assert main(["jobs", "create", "--name", "new", "--tenant", OTHER]) == 0


def test_a_moved_tenant_can_be_deleted_and_come_back(cells: Cells) -> None:
    before = run_async(content_of(cells.one, TENANT))
    beside = run_async(content_of(cells.one, OTHER))
    assert move(*cells) == 0
    assert move(*cells, "--remove") == 0
    left = {table: rows for table, rows in run_async(content_of(cells.one, TENANT)).items() if rows}
    assert set(left) == {"tenants", "keys"}
    assert run_async(content_of(cells.one, OTHER)) == beside
    assert asked(cells.one, "SELECT count(*) FROM pg_trigger WHERE tgname LIKE 'cadenza%'") == [(0,)]
    assert move(cells.two, cells.one, "--remove") == 0
    after = run_async(content_of(cells.one, TENANT))
    assert after.pop("sessions") == []
    before.pop("sessions")
    assert after == before
    assert asked(cells.one, "SELECT count(*) FROM moves WHERE side = 'source'") == [(0,)]
    assert move(*cells) == 0


def test_a_dry_run_counts_and_changes_nothing(cells: Cells, capsys: Captured) -> None:
    before = run_async(content_of(cells.one, TENANT))
    assert move(*cells, "--dry-run", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert told["tables"]["runs"] == {"rows": len(before["runs"])}
    assert run_async(content_of(cells.one, TENANT)) == before
    assert asked(cells.one, "SELECT count(*) FROM moves WHERE tenant_id <> ''") == [(0,)]


def test_runs_that_do_not_end_stop_the_move_and_the_tenant_works_on(cells: Cells, capsys: Captured) -> None:
    asked(cells.one, "UPDATE endpoint_states SET lease_token = 'long' WHERE endpoint_id = 'endpoint-1 ö'''")
    before = run_async(content_of(cells.one, TENANT))
    assert move(*cells, "--drain-seconds", "0.2") == 4
    assert "1 runs of tenant-1 did not end within 0.2 s" in capsys.readouterr().err
    assert run_async(content_of(cells.one, TENANT)) == before
    assert asked(cells.one, "SELECT DISTINCT requirement FROM endpoint_states") == [("http",)]
    asked(cells.one, "UPDATE endpoint_states SET lease_token = NULL")
    assert move(*cells) == 0


Refused = Callable[..., str]


@pytest.fixture
def refused(capsys: Captured) -> Refused:
    def ask(code: int, *arguments: str) -> str:
        capsys.readouterr()
        assert main(["move", *arguments]) == code
        told = capsys.readouterr()
        assert (told.out, len(told.err.splitlines())) == ("", 1)
        return told.err

    return ask


def test_what_cannot_be_is_refused_in_a_sentence(cells: Cells, refused: Refused) -> None:
    ends = ("--from", cells.one, "--to", cells.two)
    assert "Tenant nobody not found" in refused(3, *ends, "--tenant", "nobody")
    assert "--tenant needs the id" in refused(2, *ends, "--tenant", "")
    assert "--address and --remove need --tenant" in refused(2, *ends, "--remove")
    assert "--drain-seconds must be" in refused(2, *ends, "--tenant", TENANT, "--drain-seconds", "0")
    assert "--remove cannot be combined" in refused(2, *ends, "--tenant", TENANT, "--remove", "--cancel")
    file = ("--from", cells.one, "--to", "sqlite:///b.db")
    assert "--to is a file" in refused(2, *file, "--tenant", TENANT)
    asked(cells.two, f"INSERT INTO tenants (id, name) VALUES ('{TENANT}', 'Theirs')")
    assert f"has a tenant {TENANT} already, with tenants" in refused(4, *ends, "--tenant", TENANT)


def test_a_whole_installation_is_not_moved_while_a_tenant_is(cells: Cells, refused: Refused) -> None:
    asked(cells.one, "UPDATE endpoint_states SET lease_token = 'long'")
    ends = ("--from", cells.one, "--tenant", TENANT, "--to", cells.two)
    assert main(["move", *ends, "--drain-seconds", "0.1"]) == 4
    asked(cells.one, "UPDATE endpoint_states SET lease_token = NULL")
    told = refused(4, "--from", cells.one, "--to", "sqlite:///all.db")
    assert f"The tenant {TENANT} is being moved" in told
    assert main(["move", *ends, "--cancel"]) == 0
    assert asked(cells.one, "SELECT count(*) FROM moves WHERE tenant_id <> ''") == [(0,)]


async def test_a_moved_tenant_is_refused_where_it_was_and_served_where_it_is(cells: Cells) -> None:
    one, two = (PostgresStore(PostgresPool(url), TimeOrderedIds()) for url in cells)
    here, there = ApiInProcess(one), ApiInProcess(two)
    key, beside = await here.key(TENANT), await here.key(OTHER)
    assert (await asking(here, key)).status == 200
    address = ("--address", "https://two.example")
    assert await asyncio.to_thread(move, *cells, *address) == 0
    moved = await answered(here, key, 409)
    assert moved.json()["detail"] == "This tenant was moved to https://two.example: ask there."
    assert (await asking(here, f"{key}x")).status == 401
    assert (await asking(here, beside)).status == 200
    assert (await asking(there, key)).status == 200
    assert await one.keys.existing_keys([key.split("_")[1]]) == []
    for store in (one, two):
        await store.close()


async def asking(api: ApiInProcess, key: str) -> Answered:
    return await api.ask("GET /v1/jobs", by=None, authorization=f"Bearer {key}")


async def answered(api: ApiInProcess, key: str, status: int) -> Answered:
    """The answer once it has a status: other processes are told a moment later."""
    async with asyncio.timeout(30):
        while (answer := await asking(api, key)).status != status:  # noqa: ASYNC110 - It tells nobody.
            await asyncio.sleep(0.05)
    return answer
