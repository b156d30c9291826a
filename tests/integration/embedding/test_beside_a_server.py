"""A program with functions and `cadenza up` on one database: each runs what it has."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

import pytest
from tests.integration.http.loopback_server import a_server, says
from tests.integration.test_planner_command import logged, started
from tests.postgres import database_url, newest_databases

from cadenza import Cadenza, Cron, Endpoint, Every, HttpTarget
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.domain.agents.users import Agent, User
from cadenza.domain.scheduling.baseline import Baseline
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.domain.scheduling.target import PromptTarget, Target
from cadenza.ports.catalog import Page
from cadenza.ports.store import Store
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.stores import open_store
from cadenza.testing import FakeLog

__all__ = ["database_url", "newest_databases"]

LONGEST_S = 60
DAILY = Cron("0 9 * * *")


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


def due_now(name: str, target: Target, baseline: Baseline) -> Endpoint:
    return Endpoint(
        id=name,
        name=name,
        target=target,
        baseline=baseline,
        next_run_at=datetime.now(UTC) - timedelta(hours=1),
    )


async def ended(store: Store, name: str, count: int = 1) -> list[Run]:
    """The runs of an endpoint that have ended, once there are so many."""
    async with asyncio.timeout(LONGEST_S):
        while True:
            runs = await store.runs.runs(EndpointKey("default", name), Page(1_000))
            if len(finished := [run for run in runs if run.finished_at]) >= count:
                return finished
            await asyncio.sleep(0.02)


@pytest.fixture
async def store(shared_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Store]:
    monkeypatch.setenv("CADENZA_JITTER_MS", "0")
    monkeypatch.chdir(tmp_path)
    await migrate(shared_url)
    async with open_store(Settings(database_url=shared_url), ids=TimeOrderedIds(), log=FakeLog()) as store:
        await store.users.put_user(User(id="ada"))
        await store.agents.put_agent(Agent(id="helper", name="Helper"))
        yield store


async def test_a_program_leaves_the_http_endpoints_of_a_server_alone(
    shared_url: str, tmp_path: Path, store: Store
) -> None:
    app, seen = Cadenza(shared_url), list[int]()
    app.every("50ms", name="count", start_now=True)(lambda: seen.append(1))
    settings = {"database_url": shared_url, "planner": "false", "allow_private_targets": "true"}
    async with a_server(says(b"{}")) as page, app:
        await store.endpoints.add(due_now("page", HttpTarget(page.url()), Every(50)))
        with started(tmp_path, "up", port="0", **settings):
            runs = await ended(store, "page", 12)
            assert len(seen) > 1
    assert [run.error for run in runs if run.error] == []


async def test_a_program_with_functions_alone_runs_neither_http_nor_prompts(
    shared_url: str, store: Store
) -> None:
    app = Cadenza(shared_url)
    app.every("50ms", name="count", start_now=True)(lambda: None)
    await store.endpoints.add(due_now("page", HttpTarget("http://127.0.0.1:1/"), Every(50)))
    await store.endpoints.add(due_now("ask", PromptTarget("helper", "ada", "Go."), DAILY))
    async with app:
        await ended(store, "count", 3)
    for name in ("page", "ask"):
        assert await store.runs.runs(EndpointKey("default", name)) == []


async def test_a_program_that_declares_nothing_runs_nothing(shared_url: str, store: Store) -> None:
    await store.endpoints.add(due_now("page", HttpTarget("http://127.0.0.1:1/"), Every(50)))
    async with Cadenza(shared_url) as app:
        app.every("1h", name="late", start_now=True)(lambda: None)
        await ended(store, "late")
    assert await store.runs.runs(EndpointKey("default", "page")) == []


async def test_a_program_that_adds_an_http_endpoint_and_nothing_else_runs_it(
    shared_url: str, store: Store
) -> None:
    app = Cadenza(shared_url, allow_private_targets=True)
    async with a_server(says(b"{}")) as page:
        endpoint = Endpoint(id="page", name="page", target=HttpTarget(page.url()), baseline=Every(50))
        app.add(endpoint, start_now=True)
        async with app:
            runs = await ended(store, "page", 2)
            app.add(replace(endpoint, id="late"), start_now=True)
            runs += await ended(store, "late")
    assert {run.status for run in runs} == {RunStatus.SUCCESS}


async def test_a_program_that_is_a_worker_runs_what_others_have_declared(
    shared_url: str, store: Store
) -> None:
    await store.endpoints.add(due_now("ask", PromptTarget("helper", "ada", "Go."), DAILY))
    async with a_server(says(b"{}")) as page:
        await store.endpoints.add(due_now("page", HttpTarget(page.url()), Every(50)))
        async with Cadenza(shared_url, worker=True, allow_private_targets=True):
            runs = [*await ended(store, "page"), *await ended(store, "ask")]
    assert {run.status for run in runs} == {RunStatus.SUCCESS}


@pytest.mark.usefixtures("store")
async def test_a_server_without_a_daily_target_makes_way_for_a_program_that_has_one(
    shared_url: str, tmp_path: Path
) -> None:
    app, served = Cadenza(shared_url, tick_ms=1_000), asyncio.Event()
    due = (datetime.now(UTC) + timedelta(minutes=30)).time().replace(second=0, microsecond=0)

    @app.daily
    async def serve(user_id: str, service_date: date) -> None:
        served.set()

    with started(tmp_path, "up", port="0", database_url=shared_url, planner="false") as (_, log):
        await asyncio.to_thread(logged, log, "cadenza is up")
        async with app, asyncio.timeout(LONGEST_S):
            await app.enroll("ada", due)
            await served.wait()
