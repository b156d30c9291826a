"""A server for the tests of the command line, started once."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.surfaces.cli.cli_fixtures import CliRunner, CliTarget, a_server

CliRunners = Callable[[CliTarget], CliRunner]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CliTarget]:
    with a_server(tmp_path_factory.mktemp("server")) as target:
        yield target


@pytest.fixture
def runner_at(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CliRunners:
    return lambda target: CliRunner(target, capsys, monkeypatch)


@pytest.fixture
def local(tmp_path: Path, runner_at: CliRunners) -> CliRunner:
    """A folder with a database in it, as commands tell when they make one."""
    found = runner_at(CliTarget(tmp_path))
    found.ok("migrate")
    return found


@pytest.fixture
def remote(server: CliTarget, runner_at: CliRunners) -> CliRunner:
    return runner_at(server)


@pytest.fixture(params=["local", "remote"])
def cli(request: pytest.FixtureRequest) -> CliRunner:
    found: CliRunner = request.getfixturevalue(request.param)
    return found
