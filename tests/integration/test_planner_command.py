"""`cadenza planner` and `cadenza up` as programs: they plan, say how they are, and end cleanly."""

import asyncio
import json
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.domain.planning.planner_settings import Learning, Planning
from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.run import Outcome, RunStatus
from cadenza.engine.planning.feed import FEED_KEY, NOTES_OWNER
from cadenza.ports.store import Store
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.stores import open_store
from cadenza.testing import FakeLog
from cadenza.testing.contracts.harness import Bench

PATIENCE_S = 30
ADDRESS = re.compile(r"address=([\d.:]+)")


@contextmanager
def started(folder: Path, *words: str, **settings: str) -> Iterator[tuple["subprocess.Popen[bytes]", Path]]:
    """A program, and the file that it logs to."""
    log = folder / f"{words[0]}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-m", "cadenza", *words],
            env=os.environ | {f"CADENZA_{name.upper()}": value for name, value in settings.items()},
            cwd=folder,
            stdout=out,
            stderr=out,
        )
    try:
        yield process, log
    finally:
        process.kill()
        process.wait()


def logged(log: Path, words: str) -> str:
    limit = time.monotonic() + PATIENCE_S
    while words not in log.read_text():
        assert time.monotonic() < limit, log.read_text()
        time.sleep(0.02)
    return log.read_text()


def got(address: str) -> str:
    with urllib.request.urlopen(f"http://{address}", timeout=5) as answer:
        return str(answer.read().decode())


async def following(store: Store) -> None:
    """Wait until somebody follows the feed."""
    limit = time.monotonic() + PATIENCE_S
    while not await store.analyses.notes(NOTES_OWNER, [FEED_KEY]):
        assert time.monotonic() < limit, "nobody follows the feed"
        await asyncio.sleep(0.02)


async def patient(store: Store, name: str) -> None:
    """An endpoint runs, and its answer asks for a pause: it is paused soon."""
    await following(store)
    bench = Bench(store)
    bench.clock._now = SystemClock().now()
    endpoint = Endpoint(
        id=name,
        name=name,
        baseline=Every(60_000),
        next_run_at=bench.clock.now(),
        planning=Planning(learning=Learning.OFF, http_hints=True),
    )
    await store.endpoints.add(endpoint)
    claim = await bench.claim_one()
    response: Any = {"status": 429, "headers": {"retry-after": "3600"}}
    await bench.finalize([(claim, Outcome(RunStatus.FAILURE, response=response))])
    limit = time.monotonic() + PATIENCE_S
    while (await store.endpoints.get(EndpointKey("default", name))).paused_until is None:
        assert time.monotonic() < limit, "nobody planned"
        await asyncio.sleep(0.02)


async def test_the_role_plans_on_a_file_and_tells_its_health_and_figures(tmp_path: Path) -> None:
    settings = Settings(database_url=f"sqlite:///{tmp_path / 'cadenza.db'}")
    async with open_store(settings, ids=TimeOrderedIds(), log=FakeLog()) as store:
        with started(tmp_path, "planner", health_port="0") as (process, log):
            said = await asyncio.to_thread(logged, log, "role=planner")
            found = ADDRESS.search(said)
            assert found is not None
            await patient(store, "patient")
            healthy = await asyncio.to_thread(got, f"{found[1]}/healthz")
            ready = await asyncio.to_thread(got, f"{found[1]}/readyz")
            figures = await asyncio.to_thread(got, f"{found[1]}/metrics")
            process.terminate()
            assert await asyncio.to_thread(process.wait, PATIENCE_S) == 0
    assert json.loads(healthy) == json.loads(ready) == {"status": "ok"}
    assert 'cadenza_planner_sittings_total{planner="http",result="done"} 1.0' in figures


async def test_up_has_planners_unless_they_are_switched_off(tmp_path: Path) -> None:
    settings = Settings(database_url=f"sqlite:///{tmp_path / 'cadenza.db'}")
    async with open_store(settings, ids=TimeOrderedIds(), log=FakeLog()) as store:
        with started(tmp_path, "up", port="0") as (process, log):
            said = await asyncio.to_thread(logged, log, "cadenza is up")
            found = re.search(r"api=http://([\d.:]+)", said)
            assert found is not None
            await patient(store, "patient")
            assert "cadenza_planner_lag_seconds" in await asyncio.to_thread(got, f"{found[1]}/metrics")
            process.terminate()
            assert await asyncio.to_thread(process.wait, PATIENCE_S) == 0
        with started(tmp_path, "up", port="0", planner="false") as (_, log):
            said = await asyncio.to_thread(logged, log, "cadenza is up")
            found = re.search(r"api=http://([\d.:]+)", said)
            assert found is not None
            assert "cadenza_planner" not in await asyncio.to_thread(got, f"{found[1]}/metrics")
