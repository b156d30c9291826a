"""The database and what lies beside it are for their owner alone."""

import asyncio
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.surfaces.server_process import UP, running

from cadenza.adapters.ids import TimeOrderedIds
from cadenza.domain.access.key import ApiKey
from cadenza.ports.access import StoredKey
from cadenza.roots.command_line import main
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.stores import open_store
from cadenza.testing import FakeLog
from cadenza.testing.clock import NEW_YEAR


@pytest.fixture(params=[0o000, 0o022, 0o777])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def modes(folder: Path, name: str = "cadenza.db") -> dict[str, int]:
    """The permissions of a database and of all that lies beside it."""
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.glob(f"*{name}*")}


async def use(folder: Path, log: FakeLog) -> dict[str, int]:
    """Write something, and look at the files meanwhile."""
    settings = Settings(database_url=f"sqlite:///{folder / 'cadenza.db'}")
    async with open_store(settings, ids=TimeOrderedIds(), log=log) as store:
        key = ApiKey(id="key", tenant_id="north", name="key", created_at=NEW_YEAR)
        await store.keys.add_key(StoredKey(key, b"digest"))
        return modes(folder)


async def test_a_new_database_and_its_companions_are_for_their_owner(tmp_path: Path, umask: int) -> None:
    log = FakeLog()
    found = await use(tmp_path, log)
    assert found == {"cadenza.db": 0o600, "cadenza.db-wal": 0o600, "cadenza.db-shm": 0o600}, oct(umask)
    assert log.lines == []


async def test_a_wider_file_is_left_as_it_is_and_named_in_a_warning(tmp_path: Path) -> None:
    (tmp_path / "cadenza.db").touch(0o640)
    (tmp_path / "cadenza.db").chmod(0o640)
    log = FakeLog()
    assert (await use(tmp_path, log))["cadenza.db"] == 0o640
    assert log.events("warning") == ["other users of this machine may read the database; run chmod 600"]


def test_backups_keys_and_the_record_of_a_server_are_for_their_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = os.umask(0)
    try:
        with running(tmp_path, UP):
            assert main(["backup", "copy-of-cadenza.db"]) == 0
            found = modes(tmp_path)
    finally:
        os.umask(before)
    assert {"cadenza.db", "cadenza.db-server", "copy-of-cadenza.db"} <= found.keys()
    assert set(found.values()) == {0o600}, found


def test_the_doctor_says_that_others_may_read_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    asyncio.run(use(tmp_path, FakeLog()))
    assert main(["doctor"]) == 0
    (tmp_path / "cadenza.db").chmod(0o644)
    capsys.readouterr()
    assert main(["doctor"]) == 1
    assert "Run chmod 600 cadenza.db*." in capsys.readouterr().out
