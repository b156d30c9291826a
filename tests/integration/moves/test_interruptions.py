"""A move that dies anywhere goes on where it was, or is taken back, and the source never works meanwhile."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.integration.moves.conftest import KEY
from tests.integration.moves.filled_databases import content, run_async

from cadenza.adapters.access.secret_keys import ConfiguredKeys
from cadenza.adapters.clock import SystemClock
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.stores.moves.postgres_end import PostgresEnd
from cadenza.adapters.stores.moves.sqlite_end import SqliteEnd
from cadenza.adapters.stores.moves.travelling_secrets import TravellingSecrets
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.engine.moves import copying
from cadenza.engine.moves.installation import InstallationMove
from cadenza.roots.command_line import main

SOAK = bool(os.environ.get("CADENZA_SOAK"))
KILLS, STEP = (40, 1) if SOAK else (3, 23)


class ProcessDied(BaseException):
    """Stands for a process that ends here: nothing after it happens, whatever is caught."""


class DyingEnd:
    """One end of a move in a process that dies with its n-th call: before it is carried out, or after it."""

    calls = 0

    def __init__(self, end: Any, dies_at: Callable[[], bool]) -> None:
        self._end = end
        self._dies_at = dies_at
        self.name = end.name

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._end, name)
        if name == "transaction":
            return found

        async def call(*arguments: Any) -> Any:
            if self._dies_at():
                raise ProcessDied
            answer = await found(*arguments)
            if self._dies_at():
                raise ProcessDied
            return answer

        return call


async def move_until(death: int, keys: str, server: str) -> int:
    """Move until the process has come to so many places at which it can die; at how many it came by."""
    passed = 0

    def dies() -> bool:
        nonlocal passed
        passed += 1
        return passed == death

    secrets = TravellingSecrets(ConfiguredKeys(KEY, keys))
    pool = PostgresPool(server)
    ends = SqliteEnd(Path("cadenza.db"), secrets), PostgresEnd(pool, secrets)
    here, there = (DyingEnd(end, dies) for end in ends)
    try:
        await InstallationMove(
            here, there, ids=TimeOrderedIds(), clock=SystemClock(), report=lambda _: None
        ).run()
    except ProcessDied:
        pass
    finally:
        for end in ends:
            await end.close()
    return passed


def is_in_service(url: str) -> bool:
    with pytest.MonkeyPatch.context() as settings:
        settings.setenv("CADENZA_DATABASE_URL", url)
        return main(["jobs", "list"]) == 0


def test_a_move_goes_on_from_wherever_it_died(
    filled: str, server: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same move dies again and again, each time at the next place, until it gets through."""
    monkeypatch.setattr(copying, "BATCH", 3)
    keys = (folder / "cadenza.db.key").read_text().strip()
    before = run_async(content(filled, filled_like(server), f"{keys},{KEY}"))
    death = 1
    while run_async(move_until(death, keys, server)) >= death:
        death += STEP
    assert death > 300
    assert not is_in_service(filled)
    assert run_async(content(server, server, f"{keys},{KEY}")) == before
    assert main(["move", "--from", filled, "--to", server]) == 0


def filled_like(server: str) -> str:
    """The server, with tables in it."""
    run_async(migrate(server))
    return server


@pytest.mark.parametrize("death", [140, 200, 300])
def test_a_move_that_died_can_be_taken_back(
    filled: str, server: str, folder: Path, death: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "BATCH", 3)
    keys = (folder / "cadenza.db.key").read_text().strip()
    before = run_async(content(filled, filled_like(server), f"{keys},{KEY}"))
    assert run_async(move_until(death, keys, server)) == death
    assert not is_in_service(filled)
    assert not is_in_service(server)
    assert main(["move", "--from", filled, "--to", server, "--cancel"]) == 0
    assert is_in_service(filled)
    assert run_async(content(filled, server, f"{keys},{KEY}")) == before
    assert {table: rows for table, rows in run_async(content(server, server, KEY)).items() if rows} == {}
    assert main(["move", "--from", filled, "--to", server]) == 0
    assert run_async(content(server, server, f"{keys},{KEY}")) == before


def test_a_move_that_ended_is_not_taken_back(
    filled: str, server: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["move", "--from", filled, "--to", server]) == 0
    capsys.readouterr()
    assert main(["move", "--from", filled, "--to", server, "--cancel"]) == 4
    assert "is complete and cannot be cancelled" in capsys.readouterr().err


def test_a_killed_process_is_followed_by_one_that_goes_on(filled: str, server: str, folder: Path) -> None:
    keys = (folder / "cadenza.db.key").read_text().strip()
    before = run_async(content(filled, filled_like(server), f"{keys},{KEY}"))
    command = [sys.executable, "-m", "cadenza", "move", "--from", filled, "--to", server]
    for kill in range(KILLS):
        process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL)
        assert process.stderr is not None
        for _ in range(1 + kill * 7 % 19):  # Its lines say how far it is.
            if not process.stderr.readline():
                break
        time.sleep(kill % 3 * 0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stderr.close()
    assert subprocess.run(command, check=False, capture_output=True).returncode == 0
    assert run_async(content(server, server, f"{keys},{KEY}")) == before
