"""`cadenza up` killed with a real signal at random moments: nothing is lost, nothing doubles in silence."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from tests.faults.scheduling.history_checks import History, report, violations

from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.ports.catalog import Page

KILLS = 50 if os.environ.get("CADENZA_SOAK") else 3
SPEED = 60
EVERYTHING = Page(limit=100_000)
QUIET_S = 1.5
"""Longer than a lease and a sweep at this speed: afterwards, whatever was lost has been found."""


class Up:
    """`cadenza up --demo` in a folder of its own, and the ids of the runs that its world has seen."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.seen: Counter[str] = Counter()

    def run_for(self, seconds: float, end: signal.Signals) -> int:
        """Start it, wait for its first run and so many seconds more, and end it."""
        settings = {"CADENZA_LOG_JSON": "1", "CADENZA_LEASE_MS": "20000", "CADENZA_GRACE_MS": "5000"}
        settings |= {"CADENZA_DEMO_PORT": "0", "CADENZA_LOG_LEVEL": "debug"}
        process = subprocess.Popen(
            [sys.executable, "-m", "cadenza", "up", "--demo", "--speed", str(SPEED)],
            cwd=self._folder,
            env=os.environ | settings,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        lines = iter(process.stderr.readline, "")
        while not self._note(next(lines)):
            pass
        time.sleep(seconds)
        process.send_signal(end)
        for line in lines:
            self._note(line)
        process.stderr.close()
        return process.wait(timeout=30)

    def _note(self, line: str) -> bool:
        """Keep the id of a run; the last line may have been cut by the kill."""
        told = json.loads(line) if line.endswith("}\n") else {}
        if "minute" not in told:  # Only the world tells the minute of the sale.
            return False
        self.seen[told["run_id"]] += 1
        return True


async def history(folder: Path) -> History:
    store = SqliteStore(SqliteFile(folder / "cadenza-demo.db"), TimeOrderedIds())
    try:
        endpoints = await store.catalog.find("default")
        return {one.id: (one, (await store.runs.runs(one.key, EVERYTHING))[::-1]) for one in endpoints}
    finally:
        await store.close()


@pytest.mark.parametrize("seed", [1])
async def test_up_survives_being_killed(seed: int, tmp_path: Path) -> None:
    chance, up = Random(seed), Up(tmp_path)
    for _ in range(KILLS):
        assert up.run_for(chance.uniform(0.1, 1.0), signal.SIGKILL) == -signal.SIGKILL
    assert up.run_for(QUIET_S, signal.SIGTERM) == 0
    found = await history(tmp_path)
    report(found, kills=KILLS)
    assert list(violations(found, up.seen)) == []
    assert sum(len(runs) for _, runs in found.values()) >= len(up.seen) > KILLS
