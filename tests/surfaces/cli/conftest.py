"""A server for the tests of the command line, started once."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.surfaces.cli.cli_fixtures import Desk, Office, a_server

Desks = Callable[[Office], Desk]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Office]:
    with a_server(tmp_path_factory.mktemp("server")) as office:
        yield office


@pytest.fixture
def desk_at(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Desks:
    return lambda office: Desk(office, capsys, monkeypatch)


@pytest.fixture
def here(tmp_path: Path, desk_at: Desks) -> Desk:
    return desk_at(Office(tmp_path))


@pytest.fixture
def there(server: Office, desk_at: Desks) -> Desk:
    return desk_at(server)


@pytest.fixture(params=["here", "there"])
def desk(request: pytest.FixtureRequest) -> Desk:
    found: Desk = request.getfixturevalue(request.param)
    return found
