"""Backup and restore beside a real `cadenza up` at work, and beside a real death."""

import asyncio
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from tests.integration.backup_checks import complaints, endpoints_in, keep, runs_in

from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.target import HttpTarget
from cadenza.roots.backup import backup, restore
from cadenza.testing.builders import an_endpoint
from cadenza.testing.contracts.harness import LEASE_MS, MINUTE, Bench
from cadenza.testing.fakes import FakeIds

LIVE, COPY = Path("cadenza.db"), Path("copy.db")
BUSY, SLOW = 120, 4
NOBODY_LISTENS = "http://127.0.0.1:1/"
PATIENCE_S = 60
SETTINGS = {
    "CADENZA_PORT": "0",
    "CADENZA_LOG_JSON": "1",
    "CADENZA_JITTER_MS": "0",
    "CADENZA_LEASE_MS": "2000",
    "CADENZA_ALLOW_PRIVATE_TARGETS": "1",
}


class Slow(BaseHTTPRequestHandler):
    """Answers so late that there is always a run in flight."""

    def do_GET(self) -> None:
        time.sleep(1)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Slow) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CADENZA_DATABASE_URL", f"sqlite:///{LIVE}")
    return tmp_path


def busy_and_slow_endpoints(address: str) -> list[Endpoint]:
    """Many that fail at once and often, and some that take their time."""
    refused, target = HttpTarget(NOBODY_LISTENS), HttpTarget(address)
    busy = [an_endpoint(f"busy-{number:03}", baseline=Every(250), target=refused) for number in range(BUSY)]
    slow = [an_endpoint(f"slow-{number}", baseline=Every(500), target=target) for number in range(SLOW)]
    return busy + slow


@contextmanager
def up(log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """`cadenza up`, which is ended in good order."""
    with log.open("wb") as lines:
        command = [sys.executable, "-m", "cadenza", "up"]
        process = subprocess.Popen(command, env=os.environ | SETTINGS, stdout=lines, stderr=lines)
        try:
            yield process
            assert process.poll() is None, "it has died"
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=PATIENCE_S) == 0
        finally:
            process.kill()
            process.wait()


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)


def ran_after(moment: float, prefix: str) -> int:
    """How many endpoints have started a run since a moment."""
    with closing(sqlite3.connect(LIVE)) as file:
        counted = file.execute(
            "SELECT count(DISTINCT endpoint_id) FROM runs WHERE started_at > ? AND endpoint_id LIKE ?",
            (int(moment * 1_000_000), f"{prefix}%"),
        )
        return int(counted.fetchone()[0])


def test_backup_and_restore_beside_a_worker_under_load(home: Path, address: str) -> None:
    asyncio.run(keep(LIVE, *busy_and_slow_endpoints(address)))
    with up(home / "log"):
        until(lambda: runs_in(LIVE) > 3 * BUSY)
        before = runs_in(LIVE)
        answer = backup(COPY)
        copied = time.time()
        assert (answer.endpoints, complaints(COPY)) == (BUSY + SLOW, [])
        assert before <= runs_in(COPY) <= runs_in(LIVE)

        asyncio.run(keep(LIVE, an_endpoint("too-late", target=HttpTarget(NOBODY_LISTENS))))
        until(lambda: ran_after(time.time() - 2, "too-late") == 1)
        until(lambda: ran_after(copied, "slow") == SLOW)  # What is in flight now is not in the copy.
        lost = runs_in(LIVE)
        restored = restore(COPY)
        moment = time.time()
        assert restored.kept is not None
        assert "too-late" not in endpoints_in(LIVE)
        assert "too-late" in endpoints_in(Path(restored.kept))
        assert (complaints(LIVE), complaints(Path(restored.kept))) == ([], [])
        assert runs_in(Path(restored.kept)) >= lost

        until(lambda: ran_after(moment, "busy") == BUSY)
        until(lambda: ran_after(moment, "slow") == SLOW)
    assert complaints(LIVE) == []
    events = [json.loads(line) for line in (home / "log").read_text().splitlines() if line.startswith("{")]
    assert [one for one in events if one["level"] == "error"] == []
    assert any("lease" in one["event"] for one in events), "runs that were in flight have lost their leases"


def commit_until(stopped: Event, written: list[str]) -> None:
    """Keep tenants one after the other, and note each that was committed.

    The pause lets others have the lock: SQLite is not fair, and who asks for it in turns could wait for long.
    """
    with closing(sqlite3.connect(LIVE, timeout=30, isolation_level=None)) as file:
        while not stopped.wait(0.005):
            name = f"tenant-{len(written):06}"
            file.execute("INSERT INTO tenants (id, name) VALUES (?, '')", (name,))
            written.append(name)


def tenants_in(path: Path) -> set[str]:
    with closing(sqlite3.connect(path)) as file:
        return {id_ for (id_,) in file.execute("SELECT id FROM tenants")}


def test_no_commit_falls_between_what_is_kept_and_what_is_restored(home: Path) -> None:
    asyncio.run(keep(LIVE, *(an_endpoint(f"endpoint-{number:04}") for number in range(500))))
    backup(COPY)
    stopped, written = Event(), list[str]()
    writer = Thread(target=commit_until, args=(stopped, written))
    writer.start()
    until(lambda: len(written) > 20)
    restored = restore(COPY)
    there = len(written)
    until(lambda: len(written) > there + 20)
    stopped.set()
    writer.join()
    assert restored.kept is not None
    before, after = tenants_in(Path(restored.kept)), tenants_in(LIVE)
    assert before | after == set(written)
    assert before & after == set()
    assert min(len(before), len(after)) > 0


async def test_a_worker_does_not_take_a_restored_endpoint_for_what_it_remembers(home: Path) -> None:
    await migrate(f"sqlite:///{LIVE}")
    store = SqliteStore(SqliteFile(LIVE), FakeIds())
    bench = Bench(store)
    await bench.add()
    claim = await bench.claim_one()
    await asyncio.to_thread(backup, COPY)
    await bench.end(claim)
    await asyncio.to_thread(restore, COPY)
    await bench.clock.sleep(LEASE_MS + MINUTE)
    await bench.sweep()
    again = await bench.claim_one()
    assert (again.slot, again.attempt, again.endpoint.failure_count) == (claim.slot, 2, 1)
    await store.close()


DYING = """
import os, signal, sys
from cadenza.adapters.stores.sqlite import restore as restoring

steps = int(sys.argv[1])
step = restoring._CopyOld.__call__

def mortal(self, *told):
    global steps
    step(self, *told)
    steps -= 1
    if steps == 0:
        os.kill(os.getpid(), signal.SIGKILL)

restoring._CopyOld.__call__ = mortal
from cadenza.roots.backup import restore
restore("copy.db")
"""


@pytest.mark.parametrize(("steps", "survives"), [(1, "old"), (4, "old"), (6, "old"), (99, "new")])
def test_whoever_dies_while_restoring_leaves_a_sound_file(home: Path, steps: int, survives: str) -> None:
    asyncio.run(
        keep(LIVE, *(an_endpoint(f"new-{number:04}", description="x" * 500) for number in range(400)))
    )
    backup(COPY)
    LIVE.unlink()
    asyncio.run(
        keep(LIVE, *(an_endpoint(f"old-{number:04}", description="y" * 500) for number in range(300)))
    )
    with closing(sqlite3.connect(LIVE)) as witness:
        assert witness.execute("SELECT count(*) FROM endpoints").fetchone() == (300,)
        ended = subprocess.run([sys.executable, "-c", DYING, str(steps)], check=False, timeout=PATIENCE_S)
        assert ended.returncode == (0 if survives == "new" else -signal.SIGKILL)
        assert witness.execute("SELECT count(*) FROM endpoints").fetchone() == (
            300 if survives == "old" else 400,
        )
    assert complaints(LIVE) == []
    assert {name[:3] for name in endpoints_in(LIVE)} == {survives}
    (kept,) = home.glob("*before-restore*")
    assert {name[:3] for name in endpoints_in(kept)} == {"old"}
    assert restore(COPY).endpoints == 400
