"""A function that ends its process is told from those that ran beside it, by real processes that die."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from tests.faults.scheduling.crashing_program import HEALTHY
from tests.postgres import Cluster, cluster, databases, newest_databases

from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.null import NoLog
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.ports.catalog import Page
from cadenza.roots.settings import read_settings
from cadenza.roots.wiring.stores import open_store

__all__ = ["cluster", "databases", "newest_databases"]

PROGRAM = Path(__file__).with_name("crashing_program.py")
SETTINGS = {"CADENZA_LEASE_MS": "1000", "CADENZA_POLL_MS": "100", "CADENZA_GRACE_MS": "1000"}
EXITED = 3
MOST_S = 120
KILLS = 40 if os.environ.get("CADENZA_SOAK") else 4
DEATHS = 20
"""More than it ever takes: few at a time, then alone."""


CASES = [("sqlite", ["exits"]), ("postgresql", ["exits", "exits_later"])]
if os.environ.get("CADENZA_SOAK"):
    CASES += [("sqlite", ["exits", "exits_later"]), ("postgresql", ["exits"])]


@pytest.fixture
def url(database: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if database == "sqlite":
        return f"sqlite:///{tmp_path / 'program.db'}"
    found: Cluster = request.getfixturevalue("cluster")
    return found.url


async def stored(url: str) -> dict[str, Endpoint]:
    settings = read_settings(database_url=url)
    async with open_store(settings, ids=TimeOrderedIds(), log=NoLog()) as store:
        return {one.id: one for one in await store.catalog.find("default", page=Page(limit=10_000))}


class Programs:
    """Processes of the program, which are started again whenever they die."""

    def __init__(self, url: str, count: int, *culprits: str) -> None:
        self._start: Callable[[], subprocess.Popen[bytes]] = lambda: subprocess.Popen(
            [sys.executable, str(PROGRAM), url, *culprits],
            env=os.environ | SETTINGS,
            stderr=subprocess.DEVNULL,
        )
        self._processes = [self._start() for _ in range(count)]
        self.deaths = 0

    def kill(self, chance: Random) -> None:
        process = chance.choice(self._processes)
        process.kill()
        process.wait()

    def look(self, *codes: int) -> None:
        for place, process in enumerate(self._processes):
            if process.poll() is not None:
                assert process.returncode in codes
                self.deaths += 1
                self._processes[place] = self._start()

    def stop(self) -> None:
        for process in self._processes:
            process.kill()
            process.wait()


async def paused(url: str, programs: Programs, *culprits: str) -> dict[str, Endpoint]:
    """The endpoints when all culprits are paused."""
    limit = time.monotonic() + MOST_S
    while time.monotonic() < limit and programs.deaths < DEATHS:
        programs.look(EXITED)
        found = await stored(url)
        if all(name in found and found[name].pause_reason for name in culprits):
            return found
        await asyncio.sleep(0.1)
    raise AssertionError(f"after {programs.deaths} deaths: {await stored(url)}")


async def settled(url: str) -> dict[str, Endpoint]:
    """The endpoints when all have run and none is suspected."""
    limit = time.monotonic() + MOST_S
    while True:
        found = await stored(url)
        quiet = not any(one.abandoned_count or one.last_run_at is None for one in found.values())
        if quiet and len(found) >= HEALTHY:
            return found
        assert time.monotonic() < limit, "there are still suspects, or some have never run"
        await asyncio.sleep(0.2)


@pytest.mark.parametrize(("database", "culprits"), CASES)
async def test_the_culprit_is_paused_and_nobody_beside_it(url: str, culprits: list[str]) -> None:
    await migrate(url)
    programs = Programs(url, len(culprits), *culprits)
    try:
        found = await paused(url, programs, *culprits)
        assert {name for name, one in found.items() if one.pause_reason} == set(culprits)
        assert len(found) == HEALTHY + len(culprits)
        await asyncio.sleep(3)
        after = await stored(url)
    finally:
        programs.stop()
    healthy = [name for name in found if name not in culprits]
    assert not any(after[name].abandoned_count for name in healthy)
    assert all(after[name].last_run_at != found[name].last_run_at for name in healthy)


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
async def test_random_kills_pause_nobody(url: str) -> None:
    await migrate(url)
    chance, programs = Random(1), Programs(url, 2)
    try:
        await settled(url)
        for _ in range(KILLS):
            await asyncio.sleep(chance.uniform(0.5, 3))
            programs.kill(chance)
            programs.look(-signal.SIGKILL)
        found = await settled(url)
    finally:
        programs.stop()
    assert [name for name, one in found.items() if one.pause_reason] == []
    assert len(found) == HEALTHY
