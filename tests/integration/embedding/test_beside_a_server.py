"""A program with functions and `cadenza up` on one database: each runs what it has."""

import asyncio
from collections import Counter
from pathlib import Path

import pytest
from tests.integration.test_planner_command import logged, started
from tests.postgres import database_url, newest_databases

from cadenza import Cadenza
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.domain.scheduling.run import RunStatus
from cadenza.ports.catalog import Page
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.stores import open_store
from cadenza.testing import FakeLog

__all__ = ["database_url", "newest_databases"]

LONGEST_S = 60


@pytest.fixture(params=["sqlite", "postgres"])
def shared_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'cadenza.db'}"
    return str(request.getfixturevalue("database_url"))


async def test_a_server_leaves_the_functions_of_a_program_alone(
    shared_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CADENZA_JITTER_MS", "0")
    monkeypatch.chdir(tmp_path)
    app, seen = Cadenza(shared_url), Counter[str]()

    @app.every("50ms", start_now=True)
    async def count_visitors() -> None:
        seen["count_visitors"] += 1

    @app.every("50ms", start_now=True)
    def count_orders() -> None:
        seen["count_orders"] += 1

    with started(tmp_path, "up", port="0", database_url=shared_url, planner="false") as (_, log):
        await asyncio.to_thread(logged, log, "cadenza is up")
        async with app, asyncio.timeout(LONGEST_S):
            while min(seen["count_visitors"], seen["count_orders"]) < 12:  # noqa: ASYNC110 - the functions count
                await asyncio.sleep(0.02)
    async with open_store(Settings(database_url=shared_url), ids=TimeOrderedIds(), log=FakeLog()) as store:
        for name, count in seen.items():
            runs = await store.runs.runs(EndpointKey("default", name), Page(1_000))
            assert [run.error for run in runs if run.error] == []
            assert Counter(run.status for run in runs)[RunStatus.SUCCESS] == count


async def test_a_function_is_retired_after_its_last_program_and_comes_back_with_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url, seen = f"sqlite:///{tmp_path / 'cadenza.db'}", list[str]()
    monkeypatch.setenv("CADENZA_JITTER_MS", "0")
    monkeypatch.setenv("CADENZA_RETIRE_FUNCTIONS_MS", "1000")
    monkeypatch.chdir(tmp_path)

    async def run_twice() -> None:
        app, before = Cadenza(url), len(seen)

        @app.every("50ms", start_now=True)
        async def check() -> None:
            seen.append("ran")

        async with app, asyncio.timeout(LONGEST_S):
            while len(seen) < before + 2:  # noqa: ASYNC110 - the function counts
                await asyncio.sleep(0.02)

    await run_twice()
    with started(tmp_path, "up", port="0", database_url=url, planner="false") as (_, log):
        await asyncio.to_thread(logged, log, "endpoints are retired: no program declares their function")
        await run_twice()


async def test_the_traceback_of_a_function_is_kept_in_the_database(
    shared_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CADENZA_JITTER_MS", "0")
    monkeypatch.chdir(tmp_path)
    await migrate(shared_url)
    app, failed = Cadenza(shared_url), asyncio.Event()

    @app.every("1h", start_now=True)
    def break_down() -> None:
        raise ValueError("no luck")

    class Failures:
        def emit(self, *_: object) -> None:
            failed.set()

    app.telemetry.attach("failures", Failures(), {"endpoint.failed"})
    async with app, asyncio.timeout(LONGEST_S):
        await failed.wait()
    async with open_store(Settings(database_url=shared_url), ids=TimeOrderedIds(), log=FakeLog()) as store:
        (listed,) = await store.runs.runs(EndpointKey("default", "break_down"))
        run = await store.runs.run("default", listed.id)
    assert (listed.error, listed.traceback) == ("ValueError: no luck", None)
    assert "in break_down" in str(run.traceback)
