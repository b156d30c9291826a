"""Worker processes on one database, and the runs that they dispatched."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from types import MappingProxyType
from typing import Self

from tests.faults.scheduling.history_checks import History
from tests.faults.scheduling.worker_process import NOTE_AND_ALL, SPANS_SUFFIX

from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.domain.scheduling.baseline import Once
from cadenza.domain.scheduling.target import CallableTarget
from cadenza.ports.catalog import Page
from cadenza.testing import an_endpoint

PROGRAM = Path(__file__).with_name("worker_process.py")
LEASE_MS = 2_000
TIMEOUT_S = 180
SETTINGS = {
    "CADENZA_LEASE_MS": str(LEASE_MS),
    "CADENZA_JITTER_MS": "0",
    "CADENZA_GRACE_MS": "5000",
    "CADENZA_CLAIM_LIMIT": "100",
    "CADENZA_WORKER_CONCURRENCY": "100",
}
NO_SETTINGS: Mapping[str, str] = MappingProxyType({})


class WorkerPool:
    """Starts, kills and stops workers; everything is ended when the test is."""

    def __init__(
        self,
        url: str,
        folder: Path,
        *,
        run_ms: tuple[float, float] = (0, 5),
        settings: Mapping[str, str] = NO_SETTINGS,
        runs: Sequence[str] = NOTE_AND_ALL,
    ) -> None:
        """They run one function, whose name comes first in `runs`, and the other kinds of targets there."""
        self.url = url
        self._runs = runs
        self._settings = {**SETTINGS, **settings}
        self._dispatch_log = folder / "notes"
        self._dispatch_log.touch()
        self._run_ms = run_ms
        self.processes: list[subprocess.Popen[bytes]] = []
        self._killed_ns: dict[int, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self.processes:
            process.kill()
            process.wait()

    def start(self) -> subprocess.Popen[bytes]:
        """Start a worker, and return when it is ready."""
        log = self._dispatch_log.with_name(f"worker-{len(self.processes)}.log")
        with log.open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, str(PROGRAM), str(self._dispatch_log), *map(str, self._run_ms), *self._runs],
                env=os.environ | self._settings | {"CADENZA_DATABASE_URL": self.url},
                stderr=out,
            )
        self.processes.append(process)
        limit = time.monotonic() + TIMEOUT_S
        while "ready" not in log.read_text():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < limit, "a worker did not start"
            time.sleep(0.01)
        return process

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        self._killed_ns[process.pid] = time.monotonic_ns()
        process.send_signal(signal.SIGKILL)
        process.wait()

    async def freeze(self, process: subprocess.Popen[bytes]) -> None:
        """Stop a worker in its tracks for longer than its leases protect, and let it go on."""
        process.send_signal(signal.SIGSTOP)
        await asyncio.sleep(1.5 * LEASE_MS / 1_000)
        process.send_signal(signal.SIGCONT)

    def stop(self) -> list[int]:
        """Ask all that still live to stop; their exit codes."""
        living = [process for process in self.processes if process.poll() is None]
        for process in living:
            process.terminate()
        return [process.wait(timeout=30) for process in living]

    def dispatched_runs(self) -> Counter[str]:
        return Counter(self._dispatch_log.read_text().split())

    def most_at_once(self) -> int:
        """How many functions were at work at the same time, at most; a killed process ends all of its own."""
        notes = self._dispatch_log.with_name(f"{self._dispatch_log.name}{SPANS_SUFFIX}").read_text()
        steps: list[tuple[int, int]] = []
        open_runs: dict[str, int] = {}
        for moment, word, pid, run_id in (line.split() for line in notes.splitlines()):
            steps.append((int(moment), 1 if word == "begin" else -1))
            if word == "begin":
                open_runs[run_id] = int(pid)
            else:
                del open_runs[run_id]
        steps += [(self._killed_ns[pid], -1) for pid in open_runs.values()]
        return max(accumulate(step for _, step in sorted(steps)))


async def populate(url: str, count: int, *, after: int = 0) -> None:
    """Endpoints that are due now and run once."""
    store = PostgresStore(PostgresPool(url), TimeOrderedIds())
    now = datetime.now(UTC)
    target = CallableTarget("note")
    for first in range(0, count, 50):
        await asyncio.gather(
            *(
                store.endpoints.add(
                    an_endpoint(f"endpoint-{number:05}", baseline=Once(now), next_run_at=now, target=target)
                )
                for number in range(after + first, after + min(first + 50, count))
            )
        )
    await store.close()


async def finished(url: str) -> History:
    """Wait until every endpoint is finished; what the database holds then."""
    store = PostgresStore(PostgresPool(url), TimeOrderedIds())
    limit = time.monotonic() + TIMEOUT_S
    try:
        while await store.endpoints.next_due() is not None or await _held(store):
            assert time.monotonic() < limit, f"the workers did not finish; paused are {await _paused(store)}"
            await asyncio.sleep(0.1)
        endpoints = await store.catalog.find("default", page=Page(100_000))
        return {one.id: (one, (await store.runs.runs(one.key))[::-1]) for one in endpoints}
    finally:
        await store.close()


async def _held(store: PostgresStore) -> bool:
    return any(endpoint.lease for endpoint in await store.catalog.find("default", page=Page(100_000)))


async def _paused(store: PostgresStore) -> list[str]:
    found = await store.catalog.find("default", page=Page(100_000))
    return [endpoint.id for endpoint in found if endpoint.pause_reason]
