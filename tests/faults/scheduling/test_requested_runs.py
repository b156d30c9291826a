"""People act on runs while workers are killed: each slot keeps one verdict, each request ends in one run."""

import asyncio
import os
import time
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

from tests.faults.scheduling.history_checks import (
    Asked,
    History,
    cancel_violations,
    report,
    request_violations,
    violations,
)
from tests.faults.scheduling.worker_pool import TIMEOUT_S, WorkerPool
from tests.operation_fixtures import EVERYTHING, ApplicationFixture
from tests.postgres import Cluster, cluster, databases, newest_databases

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.domain.access.key import Caller
from cadenza.domain.errors import Conflict
from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.endpoint import Endpoint, Job, evolve
from cadenza.domain.scheduling.plan import RunKind
from cadenza.domain.scheduling.policy import Policy
from cadenza.domain.scheduling.run import RunStatus
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.domain.scheduling.target import CallableTarget
from cadenza.domain.validation import iso
from cadenza.ports.catalog import Page
from cadenza.testing import an_endpoint

__all__ = ["cluster", "databases", "newest_databases"]

SOAK = bool(os.environ.get("CADENZA_SOAK"))
KILLS = 50 if SOAK else 4
ENDPOINTS = 24
ALL = Page(100_000)
EACH_S = 1.2
"""How long a worker lives; it starts, and runs for a while."""


class People:
    """Ask for runs and cancel runs, and remember what was acknowledged."""

    def __init__(self, store: SqliteStore | PostgresStore, chance: Random) -> None:
        self._store = store
        self._chance = chance
        given = ApplicationFixture().application
        given.dependencies = replace(
            given.dependencies, store=store, clock=SystemClock(), ids=TimeOrderedIds()
        )
        self._application = given
        self._caller = Caller("default", EVERYTHING, "key:person")
        self.asked: Asked = Counter()
        self.cancelled: set[str] = set()
        self.answers: Counter[str] = Counter()

    async def act(self) -> None:
        """Do one thing."""
        action = self._chance.choice(
            (self._rerun, self._cancel, self._cancel_waiting, self._redrive, self._backfill)
        )
        try:
            await action()
        except Conflict:  # It ended, or was cancelled, meanwhile.
            self.answers["conflict"] += 1

    async def _ask(self, operation: str, **arguments: Any) -> dict[str, Any]:
        view = await self._application.ask(operation, arguments, self._caller)
        self.answers[operation] += 1
        return view.model_dump()

    async def _rerun(self) -> None:
        found = await self._store.runs.find_runs("default", page=Page(50))
        over = [run for run in found.runs if run.verdict and not self.asked[run.endpoint_id, run.slot]]
        if over:
            run = self._chance.choice(over)
            await self._ask("rerun", run_id=run.id)
            self.asked[run.endpoint_id, run.slot] += 1

    async def _cancel(self) -> None:
        begun = [one["id"] for one in await self._open() if one["claimed_at"] is not None]
        if begun:
            run_id = self._chance.choice(begun)
            await self._ask("cancel_run", run_id=run_id, reason="a test")
            self.cancelled.add(run_id)

    async def _cancel_waiting(self) -> None:
        waiting = [one["id"] for one in await self._open() if one["claimed_at"] is None]
        if waiting:
            await self._ask("cancel_run", run_id=self._chance.choice(waiting), reason="a test")

    async def _redrive(self) -> None:
        since = iso(datetime.now(UTC) - timedelta(minutes=5))
        self._note(await self._ask("redrive_runs", job_id="default", since=since, limit=4))

    async def _backfill(self) -> None:
        endpoint_id = name(self._chance.randrange(ENDPOINTS))
        since = iso(datetime.now(UTC) - timedelta(days=1, seconds=self._chance.randrange(1_000)))
        until = iso(datetime.fromisoformat(since) + timedelta(seconds=30))
        given = {"endpoint_id": endpoint_id, "since": since, "until": until, "limit": 3}
        answer = await self._ask("backfill", **given)
        self._note({"items": [one | {"endpoint_id": endpoint_id} for one in answer["items"]]})

    async def _open(self) -> list[dict[str, Any]]:
        page = await self._ask("list_open_runs", limit=200)
        return list(page["items"])

    def _note(self, answer: dict[str, Any]) -> None:
        self.asked.update((one["endpoint_id"], one["slot"]) for one in answer["items"])


def name(number: int) -> str:
    return f"endpoint-{number:02}"


async def populate(store: SqliteStore | PostgresStore) -> None:
    """Endpoints of which some runs exceed their timeout."""
    now = datetime.now(UTC)
    await store.catalog.add_job(Job(id="default", name="default"))
    for number in range(ENDPOINTS):
        endpoint = an_endpoint(
            name(number),
            baseline=Every(700),
            next_run_at=now,
            target=CallableTarget("note"),
            policy=Policy(timeout_ms=250, max_attempts=1 + number % 2, retry_delay_ms=50),
        )
        await store.endpoints.add(endpoint)


def seldom(endpoint: Endpoint) -> ChangedEndpoint:
    """The endpoint, which hardly ever runs from now on."""
    return ChangedEndpoint(evolve(endpoint, baseline=Every(864_000_000)))


async def at_rest(store: SqliteStore | PostgresStore) -> History:
    """Wait until nothing is open; what the database holds then."""
    limit, soon = time.monotonic() + TIMEOUT_S, timedelta(hours=1)
    while True:
        endpoints = await store.catalog.find("default", page=ALL)
        busy = [
            one.id
            for one in endpoints
            if one.lease
            or one.requested
            or one.open_slot
            or (one.next_run_at or LATEST) < datetime.now(UTC) + soon
        ]
        if not busy:
            return {one.id: (one, (await store.runs.runs(one.key, ALL))[::-1]) for one in endpoints}
        assert time.monotonic() < limit, f"these do not come to rest: {busy}"
        await asyncio.sleep(0.1)


LATEST = datetime.max.replace(tzinfo=UTC)


async def acted_on_runs_under_kills(store: SqliteStore | PostgresStore, url: str, folder: Path) -> None:
    people = People(store, Random(1))
    await populate(store)
    with WorkerPool(url, folder, run_ms=(20, 320)) as pool:
        for _ in range(KILLS):
            victim, until = await asyncio.to_thread(pool.start), time.monotonic() + EACH_S
            while time.monotonic() < until:
                await people.act()
                await asyncio.sleep(0.02)
            pool.kill(victim)
            await people.act()
        await asyncio.to_thread(pool.start)
        for number in range(ENDPOINTS):
            await store.endpoints.amend(an_endpoint(name(number)).key, seldom)
        history = await at_rest(store)
        assert pool.stop() == [0]
        dispatched_runs = pool.dispatched_runs()
    report(history, kills=KILLS, **people.answers)
    assert list(violations(history, dispatched_runs)) == []
    assert list(request_violations(history, people.asked)) == []
    assert list(cancel_violations(history, people.cancelled)) == []
    runs = [run for _, of_endpoint in history.values() for run in of_endpoint]
    assert {run.kind for run in runs if run.status is RunStatus.SUCCESS} == set(RunKind)
    assert any(run.id in people.cancelled and run.status is RunStatus.CANCELLED for run in runs)


async def test_what_people_do_to_runs_survives_killed_workers_on_sqlite(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'cadenza.db'}"
    await migrate(url)
    store = SqliteStore(SqliteFile(tmp_path / "cadenza.db"), TimeOrderedIds())
    try:
        await acted_on_runs_under_kills(store, url, tmp_path)
    finally:
        await store.close()


async def test_what_people_do_to_runs_survives_killed_workers_on_postgresql(
    cluster: Cluster, tmp_path: Path
) -> None:
    await migrate(cluster.url)
    store = PostgresStore(PostgresPool(cluster.url), TimeOrderedIds())
    try:
        await acted_on_runs_under_kills(store, cluster.url, tmp_path)
    finally:
        await store.close()
