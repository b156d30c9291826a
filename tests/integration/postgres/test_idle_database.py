"""`cadenza up` on a database that falls asleep: no statement at all while nothing happens."""

import asyncio
import json
import os
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import asyncpg
import pytest
from aiohttp import web
from tests.postgres import FAST, Cluster, Databases, wheel_programs
from tests.surfaces.server_process import UP, Caller, Program, running

from cadenza.engine.idle import AHEAD

SOAK = bool(os.environ.get("CADENZA_SOAK"))
IDLE_S = 60.0 if SOAK else 8.0
PROPOSE = "POST /v1/endpoints/hourly/tools/propose_next_time"
SETTLED_S = 2.5
"""Longer than the pause between two polls of any loop that is not idle."""
STATEMENT = re.compile(r"LOG:  (?:statement|execute [^:]*): (.*)")

SESSIONS = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'cadenza'"


class StatementLog:
    """What the server was asked, as it logs it itself."""

    def __init__(self, cluster: Cluster) -> None:
        self._url = cluster.url
        self._path = cluster.folder / "log"

    def statements(self) -> list[str]:
        return STATEMENT.findall(self._path.read_text(errors="replace"))

    async def until_silent(self, within_s: float = 60) -> None:
        """Return when nothing was asked for a while."""
        async with asyncio.timeout(within_s):
            known = -1
            while known != (known := len(self.statements())):  # noqa: ASYNC110 - A file tells nobody.
                await asyncio.sleep(SETTLED_S)

    async def stays_silent(self, seconds: float) -> None:
        """Nothing is asked for so long, once it is silent."""
        assert seconds > 1, "it took too long to become silent"
        before = len(self.statements())
        await asyncio.sleep(seconds)
        assert self.statements()[before:] == []

    async def is_left_alone(self) -> None:
        """Nothing is asked for long, and no connection stays open."""
        await self.until_silent()
        await self.stays_silent(IDLE_S)
        connection = await asyncpg.connect(self._url)
        try:
            assert await connection.fetchval(SESSIONS) == 0
        finally:
            await connection.close()


class Target:
    """A target on loopback, and when it was called for which path."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, datetime]] = []
        self._called = asyncio.Event()
        self.url = ""

    async def answer(self, request: web.Request) -> web.Response:
        self.calls.append((request.path, datetime.now(UTC)))
        self._called.set()
        return web.json_response({})

    async def call_within(self, seconds: float) -> tuple[str, datetime]:
        """The next call that has not been asked for."""
        async with asyncio.timeout(seconds):
            while not self.calls:
                self._called.clear()
                await self._called.wait()
        return self.calls.pop(0)


@pytest.fixture
async def target() -> AsyncIterator[Target]:
    target, app = Target(), web.Application()
    app.router.add_route("*", "/{path:.*}", target.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    target.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield target
    await runner.cleanup()


@pytest.fixture(scope="module")
def logging_cluster() -> Iterator[Cluster]:
    """A server that logs every statement."""
    cluster = Cluster(wheel_programs(), options=f"{FAST} -c log_statement=all")
    yield cluster
    cluster.remove()


@pytest.fixture
def settings(logging_cluster: Cluster, target: Target) -> dict[str, str]:
    return {
        "CADENZA_DATABASE_URL": Databases(logging_cluster.url).new(),
        "CADENZA_DATABASE_PROFILE": "sleeping",
        "CADENZA_ALLOW_PRIVATE_TARGETS": "true",
        "CADENZA_JITTER_MS": "0",
        "CADENZA_DAILY_TARGET": f"{target.url}/daily",
        "CADENZA_TICK_MS": "1000",
    }


async def ask(caller: Caller, request: str, body: Any = None) -> None:
    answer = await caller.ask(request, body)
    assert answer.status < 300, answer.body


async def add_hourly_endpoint(caller: Caller, url: str) -> None:
    await ask(caller, "POST /v1/jobs", {"id": "job", "name": "job"})
    target = {"kind": "http", "url": url, "method": "GET"}
    baseline = {"kind": "every", "interval_ms": 3_600_000}
    endpoint = {"id": "hourly", "name": "hourly", "target": target, "baseline": baseline}
    await ask(caller, "POST /v1/jobs/job/endpoints", endpoint)
    then = {"tool": "propose_interval", "intervalMs": 7_200_000, "ttlMinutes": 600}
    await ask(
        caller, "POST /v1/rules", {"name": "rule", "job_id": "job", "when": "response.ok", "then": then}
    )


async def planned_by_rule(caller: Caller) -> bool:
    """Whether the planners have seen a run that succeeded."""
    hint = (await caller.ask("GET /v1/endpoints/hourly")).json()["interval_hint"]
    return hint is not None and hint["interval_ms"] == 7_200_000


@asynccontextmanager
async def silent_socket(up: Program) -> AsyncIterator[None]:
    """A user who is connected and says nothing."""
    async with up.caller() as caller, aiohttp.ClientSession() as session:
        await ask(caller, "PUT /v1/users/ada", {})
        async with session.ws_connect(f"{up.address}/v1/ws") as socket:
            await socket.send_json({"type": "hello", "token": up.key, "user_id": "ada"})
            assert (await socket.receive_json())["type"] != "error"
            reading = asyncio.create_task(socket.receive())  # So it answers pings.
            yield
            assert not reading.done(), "it was sent something, or cut off"
            reading.cancel()


def seconds_until(moment: datetime) -> float:
    return (moment - datetime.now(UTC)).total_seconds()


async def test_an_idle_process_asks_nothing_and_misses_nothing(
    settings: dict[str, str], logging_cluster: Cluster, target: Target, tmp_path: Path
) -> None:
    log = StatementLog(logging_cluster)
    with running(tmp_path, UP, **settings) as up:
        async with up.caller() as caller:
            await add_hourly_endpoint(caller, f"{target.url}/hourly")
            await log.is_left_alone()
            assert (await caller.ask("GET /healthz")).status == 200

            asked_at = datetime.now(UTC)
            await ask(caller, PROPOSE, {"nextRunAtIso": "now"})
            _, called_at = await target.call_within(10)
            assert called_at - asked_at < timedelta(seconds=1)
            async with asyncio.timeout(10):
                while not await planned_by_rule(caller):  # noqa: ASYNC110 - Another process plans.
                    await asyncio.sleep(0.1)

            due = datetime.now(UTC) + timedelta(seconds=IDLE_S + 25)
            await ask(caller, PROPOSE, {"nextRunAtIso": due.isoformat()})
            await log.until_silent()
            await log.stays_silent(seconds_until(due - AHEAD) - 1)
            _, called_at = await target.call_within(30)
            assert timedelta(0) <= called_at - due < timedelta(seconds=1)

            async with silent_socket(up):
                await log.is_left_alone()
        assert up.end() == 0
    assert [line for line in up.lines if json.loads(line)["level"] in ("warning", "error")] == []


async def test_a_daily_user_is_served_when_the_window_opens(
    settings: dict[str, str], logging_cluster: Cluster, target: Target, tmp_path: Path
) -> None:
    log = StatementLog(logging_cluster)
    with running(tmp_path, UP, **settings) as up:
        async with up.caller() as caller:
            opens = (datetime.now(UTC) + timedelta(seconds=80)).replace(second=0, microsecond=0)
            due = opens + timedelta(hours=1)
            await ask(caller, "PUT /v1/daily/users/ada", {"due_time": f"{due:%H:%M}"})
            await log.until_silent()
            await log.stays_silent(seconds_until(opens - AHEAD) - 1)
            path, called_at = await target.call_within(30)
            assert path == "/daily"
            assert timedelta(0) <= called_at - opens < timedelta(seconds=3)
            await log.until_silent()
        assert up.end() == 0
