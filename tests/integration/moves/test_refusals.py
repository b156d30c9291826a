"""What cannot be moved is refused in one sentence, and nothing is half done."""

import asyncio
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.integration.moves.filled_databases import rows_in, run_async
from tests.postgres import Databases

from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sql.migrations import HEAD
from cadenza.roots.command_line import main

Refused = Callable[..., str]


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Refused:
    """The sentence of a move that ends with an exit code."""

    def ask(code: int, source: str, target: str, *options: str) -> str:
        capsys.readouterr()
        assert main(["move", "--from", source, "--to", target, *options]) == code
        told = capsys.readouterr()
        assert (told.out, len(told.err.splitlines())) == ("", 1)
        return told.err.strip()

    return ask


def sql(path: str, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as file, file:
        for statement in statements:
            file.execute(statement)


def untouched(url: str) -> bool:
    return run_async(rows_in(url, "SELECT count(*) FROM moves")) == [(0,)]


@pytest.mark.parametrize(
    "wrong", ["cadenza.db", "mysql://localhost/x", "sqlite:///", "sqlite:///:memory:", ""]
)
def test_an_address_that_is_none_is_wrong_use(filled: str, refused: Refused, wrong: str) -> None:
    assert "--to must be sqlite:///FILE or postgresql://HOST/DATABASE" in refused(2, filled, wrong)
    assert "--from must be sqlite:///FILE or postgresql://HOST/DATABASE" in refused(2, wrong, filled)


def test_the_same_database_under_two_names_is_wrong_use(filled: str, folder: Path, refused: Refused) -> None:
    assert "name the same database" in refused(2, filled, f"sqlite:///{folder / 'cadenza.db'}")


def test_to_count_and_to_cancel_do_not_go_together(filled: str, refused: Refused) -> None:
    assert "cannot be combined" in refused(2, filled, "sqlite:///b.db", "--dry-run", "--cancel")


@pytest.mark.parametrize("options", [[], ["--dry-run"]])
def test_what_was_moved_is_not_moved_again_and_leaves_nothing_elsewhere(
    filled: str, folder: Path, refused: Refused, options: list[str]
) -> None:
    assert main(["move", "--from", filled, "--to", "sqlite:///b.db"]) == 0
    before = set(folder.iterdir())
    assert "cadenza.db was moved to b.db already" in refused(4, filled, "sqlite:///c.db", *options)
    assert set(folder.iterdir()) == before


def test_nothing_is_moved_from_where_nothing_is(folder: Path, refused: Refused) -> None:
    assert "Nothing to move in nowhere.db" in refused(3, "sqlite:///nowhere.db", "sqlite:///b.db")
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("option", [(), ("--dry-run",)], ids=["move", "dry run"])
def test_a_target_with_something_else_is_refused(
    filled: str, newest_databases: Databases, refused: Refused, option: tuple[str, ...]
) -> None:
    target = newest_databases.new()
    run_async(rows_in(target, "INSERT INTO tenants (id, name) VALUES ('other', 'Other') RETURNING id"))
    assert "is not empty, it has rows in tenants" in refused(4, filled, target, *option)
    assert untouched(filled)
    assert untouched(target)
    newest_databases.drop(target)


def test_a_target_with_tables_of_another_program_is_refused(
    filled: str, server: str, refused: Refused
) -> None:
    sql("other.db", "CREATE TABLE theirs (id)")
    assert "other.db is a database of another program" in refused(4, filled, "sqlite:///other.db")
    run_async(rows_in(server, "CREATE TABLE theirs (id int)"))
    assert "has tables of another program" in refused(4, filled, server)
    assert untouched(filled)


def test_a_file_that_is_no_database_is_refused(filled: str, folder: Path, refused: Refused) -> None:
    (folder / "text.db").write_text("no database at all" * 1_000)
    assert "text.db is not a SQLite database" in refused(6, filled, "sqlite:///text.db")
    assert "text.db is not a SQLite database" in refused(6, "sqlite:///text.db", "sqlite:///b.db")


@pytest.mark.parametrize(
    ("version", "advice"), [("0007", "cadenza migrate"), ("9999", "upgrade this program")]
)
def test_tables_of_another_version_are_refused(
    filled: str, refused: Refused, version: str, advice: str
) -> None:
    run_async(migrate("sqlite:///other.db"))
    for path in ("other.db", "cadenza.db"):
        sql(path, f"UPDATE alembic_version SET version_num = '{version}'")
        told = refused(4, filled, "sqlite:///other.db")
        assert f"of version {version}, not of {HEAD}" in told
        assert advice in told
        sql(path, f"UPDATE alembic_version SET version_num = '{HEAD}'")
    assert untouched(filled)


def test_a_file_that_a_program_has_open_is_refused(filled: str, refused: Refused) -> None:
    with closing(sqlite3.connect("cadenza.db")) as program:
        program.execute("PRAGMA journal_mode = WAL")
        program.execute("SELECT count(*) FROM runs").fetchall()
        assert "Another program has cadenza.db open: stop it" in refused(4, filled, "sqlite:///b.db")
    assert untouched(filled)


def test_a_server_with_processes_at_work_is_refused_as_source_and_as_target(
    filled: str, newest_databases: Databases, refused: Refused
) -> None:
    target = newest_databases.new()

    async def beside_a_process(*move: str) -> str:
        pool = PostgresPool(target)
        await pool.read("SELECT 1")
        try:
            return await asyncio.to_thread(refused, 4, *move)
        finally:
            await pool.close()

    assert "1 sessions of Cadenza work in" in run_async(beside_a_process(filled, target))
    assert "stop its processes first" in run_async(beside_a_process(target, "sqlite:///b.db"))
    newest_databases.drop(target)


def test_a_server_with_runs_in_flight_is_refused(newest_databases: Databases, refused: Refused) -> None:
    source = newest_databases.new()
    lease = "INSERT INTO leases (token, until) VALUES ('t', now() + interval '1 minute') RETURNING token"
    run_async(rows_in(source, lease))
    assert "1 leases in" in refused(4, source, "sqlite:///b.db")
    assert untouched(source)
    newest_databases.drop(source)


def test_secrets_that_do_not_open_are_refused_before_anything_is_written(
    filled: str, folder: Path, server: str, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = (folder / "cadenza.db.key").read_text()
    (folder / "cadenza.db.key").unlink()
    told = refused(6, filled, server)
    assert re.search(r"The secret .+ of \S+ cannot be opened\. It was sealed with the key", told)
    assert "which is not among the settings" in told
    (folder / "cadenza.db.key").write_text(kept)
    monkeypatch.delenv("CADENZA_SECRET_KEY")
    assert "set CADENZA_SECRET_KEY" in refused(6, filled, server)
    assert untouched(filled)


def test_a_server_that_is_not_there_is_unavailable(filled: str, refused: Refused) -> None:
    assert "does not answer" in refused(6, filled, "postgresql://127.0.0.1:1/nowhere")
    assert untouched(filled)


def test_there_may_be_nothing_to_cancel(filled: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["move", "--from", filled, "--to", "sqlite:///b.db", "--cancel"]) == 0
    assert "No move of cadenza.db to b.db in progress" in capsys.readouterr().out
