"""Backups of a database at rest, and what is refused."""

import asyncio
import os
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from tests.integration.backup_checks import complaints, endpoints_in, keep

from cadenza.adapters.stores.sql.migrations import HEAD
from cadenza.adapters.stores.sql.migrations.script import statements
from cadenza.domain.errors import Conflict, InvalidRequest, NotFound, Unavailable
from cadenza.ports.secrets import SecretKey
from cadenza.roots import backup as roots
from cadenza.roots.backup import backup, restore
from cadenza.roots.settings import read_settings
from cadenza.roots.wiring.secrets import open_secrets
from cadenza.testing.builders import an_endpoint
from cadenza.testing.clock import NEW_YEAR


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a database of three endpoints."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CADENZA_DATABASE_URL", "sqlite:///cadenza.db")
    asyncio.run(keep(Path("cadenza.db"), *(an_endpoint(name) for name in ("a", "b", "c"))))
    return tmp_path


def put_secret(value: str) -> None:
    async def put() -> None:
        async with open_secrets(read_settings()) as secrets:
            await secrets.put(SecretKey("default", "TOKEN"), value, now=NEW_YEAR)

    asyncio.run(put())


def sql(path: str | Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as file, file:
        file.execute(statement)


def test_a_backup_is_a_whole_database_for_its_owner_alone(home: Path) -> None:
    answer = backup("copy.db")
    assert (answer.path, answer.endpoints, answer.version) == ("copy.db", 3, HEAD)
    assert answer.bytes == Path("copy.db").stat().st_size
    assert stat.S_IMODE(Path("copy.db").stat().st_mode) == 0o600
    assert complaints(Path("copy.db")) == []
    assert sorted(path.name for path in home.iterdir() if "copy" in path.name) == ["copy.db"]


def test_a_backup_says_which_key_is_not_in_it(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_secret("correct horse")
    assert "only with the key file cadenza.db.key, which is not in it" in backup("one.db").note
    assert (home / "cadenza.db.key").read_text().strip() not in (home / "one.db").read_bytes().decode(
        "latin-1"
    )
    monkeypatch.setenv("CADENZA_SECRET_KEY", (home / "cadenza.db.key").read_text().strip())
    assert "only with CADENZA_SECRET_KEY, which is not in it" in backup("two.db").note


def test_a_backup_writes_over_a_file_only_when_it_is_told(home: Path) -> None:
    backup("copy.db")
    asyncio.run(keep(Path("cadenza.db"), an_endpoint("d")))
    with pytest.raises(Conflict, match=r"copy\.db already exists"):
        backup("copy.db")
    assert len(endpoints_in(Path("copy.db"))) == 3
    assert backup("copy.db", overwrite=True).endpoints == 4


@pytest.mark.parametrize(
    "name", ["cadenza.db", "./cadenza.db", "cadenza.db-wal", "cadenza.db.key", "link.db"]
)
def test_a_backup_is_never_written_over_what_is_live(home: Path, name: str) -> None:
    (home / "link.db").symlink_to(home / "cadenza.db")
    with pytest.raises(InvalidRequest, match="is part of the database to back up"):
        backup(name, overwrite=True)
    assert len(endpoints_in(Path("cadenza.db"))) == 3


def test_a_backup_that_fails_leaves_nothing(home: Path) -> None:
    with pytest.raises(Unavailable, match="cannot be written"):
        backup("no/such/folder.db")
    with pytest.raises(Conflict):
        backup(home)
    size = (home / "cadenza.db").stat().st_size
    with (home / "cadenza.db").open("r+b") as file:
        file.seek(size // 2)
        file.write(os.urandom(4_096))
    with pytest.raises((InvalidRequest, Unavailable), match="damaged"):
        backup("copy.db")
    assert sorted(path.name for path in home.iterdir() if path.suffix in {".db", ".partial"}) == [
        "cadenza.db"
    ]


def test_without_a_database_there_is_nothing_to_back_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CADENZA_DATABASE_URL", f"sqlite:///{tmp_path / 'cadenza.db'}")
    with pytest.raises(NotFound, match=r"Database .* not found"):
        backup(tmp_path / "copy.db")
    assert list(tmp_path.iterdir()) == []


def test_a_restored_database_is_what_it_was_and_what_was_there_is_kept(home: Path) -> None:
    backup("copy.db")
    asyncio.run(keep(Path("cadenza.db"), an_endpoint("d")))
    answer = restore("copy.db")
    assert endpoints_in(Path("cadenza.db")) == ["a", "b", "c"]
    assert (answer.endpoints, answer.before, answer.after, answer.note) == (3, HEAD, HEAD, "")
    assert answer.kept is not None
    assert answer.kept.startswith("cadenza.db.before-restore-")
    assert stat.S_IMODE(Path(answer.kept).stat().st_mode) == 0o600
    assert endpoints_in(Path(answer.kept)) == ["a", "b", "c", "d"]
    assert restore(answer.kept).endpoints == 4
    assert complaints(Path("cadenza.db")) == []


def test_a_backup_can_be_restored_where_there_is_nothing_yet(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    backup("copy.db")
    monkeypatch.setenv("CADENZA_DATABASE_URL", "sqlite:///elsewhere.db")
    assert (restore("copy.db").kept, endpoints_in(Path("elsewhere.db"))) == (None, ["a", "b", "c"])
    assert stat.S_IMODE(Path("elsewhere.db").stat().st_mode) == 0o600


def test_an_older_backup_is_brought_up_to_date(home: Path) -> None:
    with closing(sqlite3.connect("old.db", isolation_level=None)) as file:
        for statement in statements("sqlite", None, "0001"):
            file.execute(statement)
        file.execute("INSERT INTO jobs (tenant_id, id, name, active) VALUES ('default', 'old', 'old', 1)")
    answer = restore("old.db")
    assert (answer.before, answer.after, answer.endpoints) == ("0001", HEAD, 0)
    with closing(sqlite3.connect("cadenza.db")) as file:
        assert file.execute("SELECT version_num FROM alembic_version").fetchall() == [(HEAD,)]
        assert file.execute("SELECT id, applied FROM jobs").fetchall() == [("old", 0)]
    with closing(sqlite3.connect("old.db")) as file:
        assert file.execute("SELECT version_num FROM alembic_version").fetchall() == [("0001",)]


def damage(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 2)
        file.write(b"\xff" * 8_192)


def newer(path: Path) -> None:
    sql(path, "UPDATE alembic_version SET version_num = '9999'")


def strange(path: Path) -> None:
    sql(path, "UPDATE alembic_version SET version_num = 'a1b2c3d4'")


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (
            lambda path: path.write_bytes(b"not a database at all, but long enough" * 100),
            "not a SQLite database",
        ),
        (lambda path: path.write_bytes(b""), "not a database of Cadenza"),
        (damage, "damaged"),
        (newer, "newer version"),
        (strange, "not a database of Cadenza"),
        (lambda path: sql(path, "DROP TABLE endpoint_states"), "not a database of Cadenza"),
        (lambda path: sql(path, "DELETE FROM alembic_version"), "not a database of Cadenza"),
    ],
)
def test_what_is_no_sound_backup_is_refused_and_nothing_changes(
    home: Path, spoil: Callable[[Path], object], sentence: str
) -> None:
    backup("copy.db")
    spoil(Path("copy.db"))
    with pytest.raises(InvalidRequest, match=sentence):
        restore("copy.db")
    assert endpoints_in(Path("cadenza.db")) == ["a", "b", "c"]
    assert not list(home.glob("*before-restore*"))


def test_a_backup_must_be_there_and_be_another_file(home: Path) -> None:
    with pytest.raises(NotFound, match=r"File nowhere\.db not found"):
        restore("nowhere.db")
    with pytest.raises(InvalidRequest, match="the database itself"):
        restore("./cadenza.db")


@pytest.mark.parametrize("spoil", [newer, lambda path: path.write_bytes(b"somebody else's" * 1_000)])
def test_what_is_live_and_not_ours_is_not_written_over(home: Path, spoil: Callable[[Path], object]) -> None:
    backup("copy.db")
    for part in ("-wal", "-shm"):
        Path(f"cadenza.db{part}").unlink(missing_ok=True)
    spoil(Path("cadenza.db"))
    before = Path("cadenza.db").read_bytes()
    with pytest.raises(Conflict, match="move it away"):
        restore("copy.db")
    assert Path("cadenza.db").read_bytes() == before


def test_secrets_that_do_not_open_are_told(home: Path) -> None:
    put_secret("correct horse")
    backup("copy.db")
    assert restore("copy.db").note == "Its secrets open with the key that is here."
    (home / "cadenza.db.key").unlink()
    assert "1 of 1 secrets do not open here" in restore("copy.db").note


def test_a_writer_that_does_not_let_go_is_told(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backup("copy.db")
    monkeypatch.setattr("cadenza.adapters.stores.sqlite.database.BUSY_MS", 100)
    with closing(sqlite3.connect("cadenza.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Unavailable, match="busy"):
            restore("copy.db")
        other.execute("COMMIT")
    assert not list(home.glob("*before-restore*"))
    assert restore("copy.db").endpoints == 3


@pytest.mark.parametrize("ask", [backup, restore])
def test_postgres_has_its_own_tools(ask: Callable[[str], object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CADENZA_DATABASE_URL", "postgresql://localhost/cadenza")
    with pytest.raises(InvalidRequest, match="pg_dump"):
        ask("copy.db")


def test_both_answer_with_plain_values() -> None:
    assert {*roots.BackupResult.__annotations__.values(), *roots.RestoreResult.__annotations__.values()} <= {
        str,
        int,
        str | None,
    }
