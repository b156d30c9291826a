"""Commands beside a running demo, without a key: they find it, say so, and create nothing."""

import json
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from tests.surfaces.cli.cli_fixtures import CliRunner, CliTarget, free_port
from tests.surfaces.cli.conftest import CliRunners
from tests.surfaces.server_process import UP, Program, running

SPEED = 600
DEMO = [*UP, "--demo", "--speed", str(SPEED)]
OF_DEMO = "CADENZA_DATABASE_URL=sqlite:///cadenza-demo.db"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    with running(tmp_path_factory.mktemp("demo"), DEMO, CADENZA_DEMO_PORT="0") as program:
        wait_for_runs(program, "traffic_monitor")
        yield program


def wait_for_runs(program: Program, endpoint: str) -> None:
    """Return when two runs of an endpoint have ended."""
    url, headers = f"/v1/runs?endpoint_id={endpoint}", {"Authorization": f"Bearer {program.key}"}
    for _ in range(300):
        with urlopen(Request(program.address + url, headers=headers), timeout=30) as answer:
            if len([run for run in json.load(answer)["items"] if run["finished_at"]]) > 1:
                return
        time.sleep(0.1)
    raise AssertionError("the demo runs nothing")


@pytest.fixture
def beside(demo: Program, runner_at: CliRunners) -> Iterator[CliRunner]:
    """Commands in the folder of the demo, on a port where nobody listens."""
    runner = runner_at(CliTarget(demo.folder, {"CADENZA_PORT": str(free_port())}))
    yield runner
    (demo.folder / "cadenza.db").unlink(missing_ok=True)


def redeemed(link: str) -> int:
    """The status with which the server of a link takes its code."""
    address, _, code = link.strip().partition("/login#")
    body = json.dumps({"code": code}).encode()
    request = Request(f"{address}/v1/session", body, {"Content-Type": "application/json"})
    try:
        with urlopen(request, timeout=30) as answer:
            return int(answer.status)
    except HTTPError as refusal:
        return refusal.code


def test_the_demo_takes_the_link_of_a_plain_login_once(beside: CliRunner, demo: Program) -> None:
    code, link, err = beside.run("login")
    assert (code, link.startswith(f"{demo.address}/login#")) == (0, True)
    assert (redeemed(link), redeemed(link)) == (201, 422)
    assert err.count("\n") == 1
    assert f"for the demo at {demo.address}, on the database {demo.folder / 'cadenza-demo.db'}" in err
    assert not (demo.folder / "cadenza.db").exists()


@pytest.mark.parametrize("url", ["sqlite:///mine.db", "postgresql://user:hunter2@127.0.0.1:1/none"])
def test_a_login_beside_another_database_finds_the_demo(beside: CliRunner, demo: Program, url: str) -> None:
    port = demo.address.rpartition(":")[2]
    beside.target.settings |= {"CADENZA_DATABASE_URL": url, "CADENZA_PORT": port}
    code, link, err = beside.run("login", "--scope", "read", "--json")
    assert (code, redeemed(json.loads(link)["url"])) == (0, 201)
    assert "for the demo" in err
    assert "hunter2" not in err
    assert not (demo.folder / "mine.db").exists()


def test_with_a_server_beside_the_demo_the_link_is_for_the_server(beside: CliRunner, demo: Program) -> None:
    with running(demo.folder, UP) as server:
        code, link, err = beside.run("login")
        assert (code, link.startswith(server.address), redeemed(link)) == (0, True, 201)
        assert f"for {server.address}; {OF_DEMO} makes one for the demo at {demo.address}" in err
        beside.ok("jobs", "list")
        name, _, url = OF_DEMO.partition("=")
        beside.target.settings[name] = url
        assert redeemed(beside.ok("login")) == 201
        assert server.end() == 0
    beside.monkeypatch.delenv(name)
    del beside.target.settings[name]
    code, link, err = beside.run("login")
    assert (code, link.startswith(demo.address), redeemed(link)) == (0, True, 201)
    code, _, err = beside.run("jobs", "list")
    assert (code, f"{OF_DEMO} asks the demo at {demo.address}" in err) == (0, True)
    assert f"This asks the database {demo.folder / 'cadenza.db'}" in err


@pytest.mark.parametrize("words", ["login", "login --json", "login --tenant acme"])
def test_a_login_without_a_server_is_refused_and_creates_nothing(
    tmp_path: Path, runner_at: CliRunners, words: str
) -> None:
    runner = runner_at(CliTarget(tmp_path, {"CADENZA_PORT": str(free_port())}))
    code, sentence = runner.refused(*words.split())
    assert code == 6
    assert str(tmp_path / "cadenza.db") in sentence
    assert str(tmp_path / "cadenza-demo.db") in sentence
    assert "`cadenza up`" in sentence
    assert list(tmp_path.iterdir()) == []


def test_a_login_without_a_server_leaves_a_database_as_it_is(local: CliRunner) -> None:
    before = (local.target.folder / "cadenza.db").read_bytes()
    assert local.refused("login")[0] == 6
    assert (local.target.folder / "cadenza.db").read_bytes() == before


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("jobs list", "flash-sale"),
        ("endpoints list", "traffic_monitor"),
        ("explain traffic_monitor", "traffic_monitor"),
        ("runs list", "success"),
        ("sim replay --endpoint traffic_monitor --policy baseline", "baseline"),
    ],
)
def test_commands_without_a_key_ask_the_demo_where_there_is_no_other_database(
    beside: CliRunner, demo: Program, words: str, shown: str
) -> None:
    code, out, err = beside.run(*words.split())
    assert (code, shown in out) == (0, True), out + err
    assert err == (
        f"cadenza: Database {demo.folder / 'cadenza.db'} not found: this asks the demo at {demo.address}, "
        f"on the database {demo.folder / 'cadenza-demo.db'}.\n"
    )
    assert not (demo.folder / "cadenza.db").exists()


def test_a_change_goes_to_the_demo_by_its_clock(beside: CliRunner, demo: Program) -> None:
    code, out, _ = beside.run("endpoints", "pause", "traffic_monitor", "--until", "10h", "--json")
    overview = json.loads(beside.run("overview", "--json")[1])
    left = datetime.fromisoformat(json.loads(out)["next_run_at"]) - datetime.fromisoformat(overview["now"])
    assert code == 0
    assert timedelta(hours=5) < left <= timedelta(hours=10), "a minute here is ten hours there"
    assert beside.run("endpoints", "resume", "traffic_monitor")[0] == 0
    assert not (demo.folder / "cadenza.db").exists()


def test_an_ignored_key_is_told_with_the_demo_that_is_asked(beside: CliRunner, demo: Program) -> None:
    code, out, err = beside.run("jobs", "list", "--key", "cad_a_secret4711")
    assert (code, "flash-sale" in out, err.count("\n")) == (0, True, 1)
    assert "--key is ignored" in err
    assert f"this asks the demo at {demo.address}" in err


def test_a_database_that_is_named_is_not_exchanged_for_the_demos(beside: CliRunner, demo: Program) -> None:
    beside.target.settings["CADENZA_DATABASE_URL"] = "sqlite:///mine.db"
    code, out, err = beside.run("jobs", "list")
    assert (code, "flash-sale" in out) == (0, False)
    assert str(demo.folder / "mine.db") in err
    assert f"{OF_DEMO} asks the demo's" in err
    assert not (demo.folder / "mine.db").exists()


def test_the_file_of_a_demo_that_stopped_is_named(tmp_path: Path, runner_at: CliRunners) -> None:
    (tmp_path / "cadenza-demo.db").touch()
    runner = runner_at(CliTarget(tmp_path))
    for words in ("endpoints list", "explain home", "sim replay --endpoint home --policy baseline"):
        _, _, err = runner.run(*words.split())
        assert f"Database {tmp_path / 'cadenza.db'} not found" in err
        assert f"{OF_DEMO} asks the demo's" in err
    assert [path.name for path in tmp_path.iterdir()] == ["cadenza-demo.db"]
