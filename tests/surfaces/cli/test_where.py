"""Where commands look: which database or server they ask, by which clock, and what they say about it."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from tests.surfaces.cli.cli_fixtures import CliRunner, CliTarget, free_port
from tests.surfaces.cli.conftest import CliRunners
from tests.surfaces.server_process import UP, Program, running

from cadenza.roots.clients.choice import choose_database
from cadenza.roots.settings import Settings

SPEED = 600


@pytest.fixture
def empty(tmp_path: Path, runner_at: CliRunners) -> CliRunner:
    """Commands in a folder without anything, on a port where nobody listens."""
    return runner_at(CliTarget(tmp_path, {"CADENZA_PORT": str(free_port())}))


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Program]:
    with running(tmp_path, [*UP, "--demo", "--speed", str(SPEED)], CADENZA_DEMO_PORT="0") as program:
        yield program


def beside(demo: Program, folder: Path, runner_at: CliRunners, **settings: str) -> CliRunner:
    """Commands in the folder of a demo."""
    return runner_at(CliTarget(folder, {"CADENZA_PORT": demo.address.rpartition(":")[2], **settings}))


READING = ("jobs list", "runs list", "secrets list", "usage", "export", "endpoints board")
NOT_FOUND = ("jobs show shop", "explain home", "sim replay --endpoint home --policy baseline")
DEMO = {"CADENZA_DATABASE_URL": "sqlite:///cadenza-demo.db"}


@pytest.mark.parametrize("words", READING)
def test_reading_in_an_empty_folder_creates_nothing_and_says_where_it_looked(
    empty: CliRunner, words: str
) -> None:
    code, out, err = empty.run(*words.split(), "--json")
    assert code == 0
    json.loads(out)
    assert str(empty.target.folder / "cadenza.db") in err
    assert err.count("\n") == 1
    assert list(empty.target.folder.iterdir()) == []


@pytest.mark.parametrize("words", NOT_FOUND)
def test_what_is_not_found_in_an_empty_folder_leaves_it_empty(empty: CliRunner, words: str) -> None:
    code, _, err = empty.run(*words.split())
    assert code == 3
    assert str(empty.target.folder / "cadenza.db") in err
    assert list(empty.target.folder.iterdir()) == []


def test_the_first_write_says_which_database_it_made(empty: CliRunner) -> None:
    code, _, err = empty.run("jobs", "create", "--name", "shop", "--id", "shop", "--json")
    path = empty.target.folder / "cadenza.db"
    assert (code, err) == (0, f"cadenza: Created the database {path}.\n")
    assert path.exists()
    assert empty.ok("jobs", "list")


def test_a_key_without_a_server_is_said_to_be_ignored(local: CliRunner) -> None:
    local.target.settings |= {"CADENZA_KEY": "cad_a_secret4711", "CADENZA_PORT": str(free_port())}
    code, _, err = local.run("jobs", "list")
    assert code == 0
    assert "CADENZA_KEY is ignored" in err
    assert str(local.target.folder / "cadenza.db") in err
    assert "secret4711" not in err


def test_a_key_alone_asks_the_server_of_this_machine(
    tmp_path: Path, server: CliTarget, runner_at: CliRunners
) -> None:
    address = server.settings["CADENZA_SERVER"]
    settings = {"CADENZA_PORT": address.rpartition(":")[2], "CADENZA_KEY": server.settings["CADENZA_KEY"]}
    elsewhere = runner_at(CliTarget(tmp_path, settings))
    code, out, err = elsewhere.run("keys", "list", "--json")
    assert (code, err) == (0, "")
    assert "tests" in [key["name"] for key in json.loads(out)["items"]]
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "cadenza.db").touch()
    code, _, err = elsewhere.run("keys", "list")
    assert (code, address in err, str(tmp_path / "cadenza.db") in err) == (0, True, True)
    assert elsewhere.json("keys", "list", "--server", "")["items"] == []
    elsewhere.target.settings["CADENZA_KEY"] = "cad_wrong_key"
    code, sentence = runner_at(CliTarget(tmp_path.parent, elsewhere.target.settings)).refused("jobs", "list")
    assert (code, address in sentence) == (5, True)


def test_the_demo_has_a_database_of_its_own_whose_clock_commands_go_by(
    demo: Program, tmp_path: Path, runner_at: CliRunners
) -> None:
    assert not (tmp_path / "cadenza.db").exists()
    local = beside(demo, tmp_path, runner_at, **DEMO)
    remote = beside(demo, tmp_path, runner_at, CADENZA_KEY=demo.key)
    for cli in (local, remote):
        plan = cli.json("endpoints", "pause", "traffic_monitor", "--until", "10h")
        overview = cli.json("overview")
        left = datetime.fromisoformat(plan["next_run_at"]) - datetime.fromisoformat(overview["now"])
        assert timedelta(hours=5) < left <= timedelta(hours=10), "a minute here is ten hours there"
    remote.monkeypatch.delenv("CADENZA_KEY")
    assert local.json("endpoints", "test", "traffic_monitor")["status"] == "success", "as the demo allows it"


def test_a_login_link_can_be_had_again_while_a_server_runs(
    demo: Program, tmp_path: Path, runner_at: CliRunners
) -> None:
    local = beside(demo, tmp_path, runner_at, **DEMO, CADENZA_PORT="1")
    link = local.json("login", "--scope", "read")
    assert link["url"].startswith(f"{demo.address}/login#")
    assert link["scopes"] == ["read"]
    assert local.ok("login").startswith(f"{demo.address}/login#")
    remote = beside(demo, tmp_path, runner_at, CADENZA_KEY=demo.key)
    assert remote.json("login")["url"].startswith(f"{demo.address}/login#")


def test_the_demo_prints_its_link_and_then_is_quiet(demo: Program) -> None:
    assert f"{demo.address}/login#" in demo.said
    assert demo.end() == 0
    assert not [line for line in demo.lines if '"event": "run"' in line]


def test_where_an_idle_process_would_not_hear_of_it_a_command_says_so() -> None:
    url = "postgresql://127.0.0.1/cadenza"
    assert choose_database(Settings(database_url=url, database_profile="neon")).note is None
    chosen = choose_database(Settings(database_url=url, database_profile="sleeping"))
    assert chosen.note == (
        "This asks the database, and an idle `cadenza up` does not hear of changes there: "
        "set CADENZA_SERVER and CADENZA_KEY."
    )
    on_file = Settings(database_profile="sleeping", database_url="sqlite:///cadenza.db")
    assert choose_database(on_file).note is None
