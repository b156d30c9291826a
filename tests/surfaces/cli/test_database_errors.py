"""What can go wrong with a database is one sentence and the right exit code."""

import resource
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from cadenza.roots.command_line import main
from cadenza.surfaces.cli.exits import Exit

SERVING = [["up"], ["worker"]]
AS_NOBODY = """
import concurrent.futures.thread, encodings.idna, os, pkgutil, sys
import cadenza.adapters.stores.sql.migrations.script
import cadenza.roots.up, cadenza.roots.doctor, cadenza.surfaces.cli, cadenza.adapters.stores.moves
import cadenza.adapters.stores.sqlite
for package in (cadenza.surfaces.cli, cadenza.adapters.stores.moves, cadenza.adapters.stores.sqlite):
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        __import__(module.name)
from cadenza.roots.command_line import main
if os.geteuid() == 0:
    os.chroot(".")
    os.seteuid(65534)
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CADENZA_PORT", "0")
    return tmp_path


def refused(capsys: pytest.CaptureFixture[str]) -> str:
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("cadenza: ")
    assert captured.err.count("\n") == 1
    return captured.err


@pytest.mark.parametrize("command", [*SERVING, ["migrate"], ["doctor"]])
@pytest.mark.parametrize("url", ["mysql://localhost/x", "cadenza.db", "sqlite:///", ""])
def test_a_wrong_url_is_wrong_use(
    command: list[str], url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CADENZA_DATABASE_URL", url)
    assert main(command) == Exit.WRONG_USE
    assert "CADENZA_DATABASE_URL must be" in refused(capsys)


@pytest.mark.parametrize("command", [*SERVING, ["migrate"]])
def test_a_server_that_does_not_answer_is_unavailable_and_its_password_stays_secret(
    command: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CADENZA_DATABASE_URL", "postgresql://somebody:hidden@127.0.0.1:1/x")
    assert main(command) == Exit.UNAVAILABLE
    assert "hidden" not in refused(capsys)


@pytest.mark.parametrize("command", [*SERVING, ["migrate"]])
def test_a_schema_that_is_newer_than_the_program_is_left_alone(
    command: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["migrate"]) == Exit.DONE
    capsys.readouterr()
    with sqlite3.connect(folder / "cadenza.db") as file:
        file.execute("UPDATE alembic_version SET version_num = '9999'")
    file.close()
    assert main(command) == Exit.UNAVAILABLE
    assert "newer version (9999)" in refused(capsys)


@pytest.mark.parametrize("command", [*SERVING, ["migrate"]])
def test_a_file_that_is_no_database_is_left_alone(
    command: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "cadenza.db").write_text("to whom it may concern " * 100)
    assert main(command) == Exit.UNAVAILABLE
    assert "cadenza.db is not a SQLite database." in refused(capsys)
    assert (folder / "cadenza.db").read_text().startswith("to whom")


def test_a_folder_that_is_not_there_is_unavailable(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CADENZA_DATABASE_URL", "sqlite:///nowhere/cadenza.db")
    assert main(["up"]) == Exit.UNAVAILABLE
    assert "cannot be opened" in refused(capsys)


def cadenza(*arguments: str, limited_to: int | None = None) -> subprocess.CompletedProcess[str]:
    def limit() -> None:
        if limited_to is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limited_to, limited_to))

    return subprocess.run(
        [sys.executable, "-B", "-c", AS_NOBODY, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        preexec_fn=limit,
    )


@pytest.mark.parametrize("command", ["up", "migrate"])
def test_a_file_that_may_not_be_written_is_unavailable(command: str, folder: Path) -> None:
    assert main(["migrate"]) == Exit.DONE
    (folder / "cadenza.db").chmod(0o444)
    with sqlite3.connect(folder / "cadenza.db") as file:
        file.execute("UPDATE alembic_version SET version_num = '0001'")
        file.execute("DROP INDEX endpoint_states_leased")
    file.close()
    folder.chmod(0o755)
    done = cadenza(command)
    assert done.returncode == Exit.UNAVAILABLE
    assert done.stderr.strip() == "cadenza: cadenza.db cannot be written."


@pytest.mark.parametrize("command", ["up", "migrate"])
def test_a_disk_that_is_full_is_unavailable(command: str, folder: Path) -> None:
    folder.chmod(0o777)
    done = cadenza(command, limited_to=8_192)
    assert done.returncode == Exit.UNAVAILABLE
    assert done.stderr.startswith("cadenza: ")
    assert done.stderr.count("\n") == 1


def test_a_file_that_cannot_be_opened_for_want_of_room_says_so(folder: Path) -> None:
    assert main(["migrate"]) == Exit.DONE
    folder.chmod(0o777)
    (folder / "cadenza.db").chmod(0o666)
    done = cadenza("up", limited_to=8_192)
    assert done.returncode == Exit.UNAVAILABLE
    assert done.stderr == "cadenza: The disk of cadenza.db is full.\n"
