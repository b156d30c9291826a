"""What goes on while servers fail over: workers, targets, a person who steers, a leader, and daily lanes."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from aiohttp import web
from tests.faults.scheduling.history_checks import History
from tests.faults.scheduling.worker_pool import LEASE_MS, WorkerPool

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.null import NoLog
from cadenza.adapters.stores.postgres.locks.daily_lanes import PostgresLanes
from cadenza.adapters.stores.postgres.locks.leader_lock import PostgresLeaderLock
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.domain.daily.rules import lane_count
from cadenza.domain.errors import Conflict, Unavailable
from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.run import Run
from cadenza.domain.scheduling.target import CallableTarget, HttpTarget, Target
from cadenza.engine.steering import Steering, call_tool
from cadenza.ports.catalog import Page
from cadenza.testing import an_endpoint

EVERYTHING = Page(limit=100_000)
ENDPOINTS = 20
"""Of each kind, each due once a second."""
WORKERS = 2
MAX_CONCURRENCY = 6
PATIENCE_S = 120
SETTINGS = {"CADENZA_ALLOW_PRIVATE_TARGETS": "true", "CADENZA_POLL_MS": "60000"}
"""Polling so seldom that only notifications can tell a worker with nothing due of a nudge in time."""
SELDOM = "seldom"
"""A function, and an endpoint that calls it once an hour, which only the idle worker runs."""


class Arrival(NamedTuple):
    """A request that a target received."""

    at: float
    run_id: str
    key: str


class Receiver:
    """The target of HTTP endpoints, with its own count of what arrived."""

    def __init__(self) -> None:
        self.arrivals: list[Arrival] = []
        self.url = ""

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        app = web.Application()
        app.router.add_get("/", self._answer)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
        try:
            yield
        finally:
            await runner.cleanup()

    async def first_after(self, moment: float, endpoint_id: str = "") -> Arrival:
        """Wait for a request of a run that was sent after a moment."""
        async with asyncio.timeout(PATIENCE_S):
            while True:
                for arrival in reversed(self.arrivals):
                    if arrival.at > moment and endpoint_id in arrival.key:
                        return min(
                            (one for one in self.arrivals if one.at > moment and endpoint_id in one.key),
                            key=lambda one: one.at,
                        )
                await asyncio.sleep(0.01)

    async def _answer(self, request: web.Request) -> web.Response:
        headers = request.headers
        self.arrivals.append(Arrival(time.monotonic(), headers["Cadenza-Run-Id"], headers["Idempotency-Key"]))
        return web.Response()


class LaneHolder:
    """A daily process's lanes: those that it serves now."""

    def __init__(self) -> None:
        self.lanes: set[int] = set()

    def serve(self, held: Collection[int], leaving: Collection[int] = ()) -> None:
        self.lanes = {*held, *leaving}

    def done_with(self, leaving: Collection[int]) -> Collection[int]:
        return leaving


class FailoverLoad:
    """Starts everything on one URL, and remembers what was confirmed."""

    def __init__(self, url: str, folder: Path) -> None:
        self.receiver = Receiver()
        self.workers = WorkerPool(url, folder, run_ms=(5, 50), settings=SETTINGS)
        idle_folder = folder / "idle"
        idle_folder.mkdir()
        self.idle_worker = WorkerPool(url, idle_folder, settings=SETTINGS, runs=[SELDOM])
        self.store = PostgresStore(PostgresPool(url), TimeOrderedIds())
        self.confirmed: list[str] = []
        """Endpoints that a person added and was told so."""
        self.leaders = self.most_leaders = self.terms = 0
        self.holders = [LaneHolder(), LaneHolder()]
        self.doubled_lanes: set[int] = set()
        self._url = url

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self.receiver.serving(), asyncio.TaskGroup() as group:
            await self._populate()
            self._person = group.create_task(self._steer())
            tasks = [self._person]
            pools = [PostgresPool(self._url) for _ in range(4)]
            locks = [PostgresLeaderLock(pool, NoLog()) for pool in pools[:2]]
            lanes = [PostgresLanes(pool, NoLog(), max_concurrency=MAX_CONCURRENCY) for pool in pools[2:]]
            tasks += [group.create_task(lock.hold(self._lead)) for lock in locks]
            holders = zip(lanes, self.holders, strict=True)
            tasks += [group.create_task(each.hold(holder)) for each, holder in holders]
            tasks.append(group.create_task(self._watch_lanes()))
            with self.workers, self.idle_worker:
                await asyncio.to_thread(self.idle_worker.start)
                for _ in range(WORKERS):
                    await asyncio.to_thread(self.workers.start)
                await self.receiver.first_after(0)
                try:
                    yield
                finally:
                    for task in tasks:
                        task.cancel()
            await self.store.close()

    async def nudged(self) -> float:
        """Seconds from a nudge to the run of an endpoint that is due in an hour, by busy workers."""
        began = time.monotonic()
        await self._nudge(self._later("sleeper"))
        return (await self.receiver.first_after(began, "sleeper")).at - began

    async def idle_worker_nudged(self) -> float:
        """The same by a worker that has nothing else to do, and wakes up by itself once a minute."""
        began, before = time.monotonic(), self.idle_worker.dispatched_runs().total()
        await self._nudge(self._seldom())
        async with asyncio.timeout(PATIENCE_S):
            while self.idle_worker.dispatched_runs().total() == before:  # noqa: ASYNC110 - It tells nobody.
                await asyncio.sleep(0.01)
        return time.monotonic() - began

    async def _nudge(self, endpoint: Endpoint) -> None:
        steering = Steering(store=self.store.endpoints, clock=SystemClock(), cron=CronsimCron())
        tools = steering.tools(endpoint.key, origin="test")
        await call_tool(tools, "propose_next_time", {"nextRunInMs": 0})

    async def lanes_are_complete(self) -> None:
        """Wait until both processes together hold every lane once."""
        every = list(range(lane_count(MAX_CONCURRENCY)))
        async with asyncio.timeout(PATIENCE_S):
            while sorted([*self.holders[0].lanes, *self.holders[1].lanes]) != every:  # noqa: ASYNC110 - They tell nobody.
                await asyncio.sleep(0.05)

    async def leader_is_there(self) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while self.leaders != 1:  # noqa: ASYNC110 - It tells nobody.
                await asyncio.sleep(0.05)

    def dispatched(self) -> Counter[str]:
        """How often each run was seen by functions and by the target."""
        by_functions = self.workers.dispatched_runs() + self.idle_worker.dispatched_runs()
        return by_functions + Counter(one.run_id for one in self.receiver.arrivals)

    async def ended(self) -> History:
        """Let what was lost be found and run again, stop people and workers, and read what there is."""
        await asyncio.sleep(3 * LEASE_MS / 1_000)
        self._person.cancel()
        codes = await asyncio.to_thread(lambda: [*self.workers.stop(), *self.idle_worker.stop()])
        assert codes == [0] * (WORKERS + 1)
        return {one.id: (one, await self._runs(one)) for one in await self._endpoints()}

    async def _endpoints(self) -> list[Endpoint]:
        return await self.store.catalog.find("default", page=EVERYTHING)

    async def _runs(self, endpoint: Endpoint) -> list[Run]:
        """The runs of one that was due at all."""
        if endpoint.id.startswith("added"):
            return []
        return (await self.store.runs.runs(endpoint.key, EVERYTHING))[::-1]

    async def _populate(self) -> None:
        for number in range(ENDPOINTS):
            for name, target in (("page", HttpTarget(self.receiver.url)), ("note", CallableTarget("note"))):
                now = datetime.now(UTC)
                endpoint = an_endpoint(
                    f"{name}-{number:02}", target=target, baseline=Every(1_000), next_run_at=now
                )
                await self.store.endpoints.add(endpoint)
        await self.store.endpoints.add(self._later("sleeper"))
        await self.store.endpoints.add(self._seldom())

    def _seldom(self) -> Endpoint:
        return self._later(SELDOM, CallableTarget(SELDOM))

    def _later(self, name: str, target: Target | None = None) -> Endpoint:
        at = datetime.now(UTC) + timedelta(hours=1)
        target = target or HttpTarget(self.receiver.url)
        return an_endpoint(name, target=target, baseline=Every(3_600_000), next_run_at=at)

    async def _steer(self) -> None:
        number = 0
        while True:
            number += 1
            name = f"added-{number:05}"
            with suppress(Unavailable, Conflict):
                await self.store.endpoints.add(self._later(name))
                self.confirmed.append(name)
            await asyncio.sleep(0.05)

    async def _lead(self) -> None:
        self.leaders += 1
        self.terms += 1
        self.most_leaders = max(self.most_leaders, self.leaders)
        try:
            await asyncio.Event().wait()
        finally:
            self.leaders -= 1

    async def _watch_lanes(self) -> None:
        while True:
            self.doubled_lanes |= self.holders[0].lanes & self.holders[1].lanes
            await asyncio.sleep(0.005)
