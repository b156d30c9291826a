"""`cadenza up` on a disk that is full for a while: it reads on, says so, and loses nothing."""

import asyncio
import os
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.faults.scheduling.history_checks import History, report, violations
from tests.faults.scheduling.small_disks import (
    KINDS,
    FullTablespace,
    LimitedFile,
    MountedFile,
    RefusingServer,
    SmallDisk,
    mounted,
)
from tests.postgres import Cluster, cluster
from tests.surfaces.server_process import UP, Caller, Program, running

from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.null import NoLog
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.ports.catalog import Page
from cadenza.roots.settings import read_settings
from cadenza.roots.wiring.stores import open_store

__all__ = ["cluster"]

FILLS = 5 if os.environ.get("CADENZA_SOAK") else 1
ENDPOINTS = 5
NUMBERS = count()
READS = ("GET /v1/endpoints", "GET /v1/jobs", "GET /v1/endpoints/e0", "GET /v1/endpoints/e0/runs")
MOST_LINES = 20
TIMEOUT_S = 30
SETTINGS = {"CADENZA_ALLOW_TARGETS": "127.0.0.1", "CADENZA_LEASE_MS": "3000", "CADENZA_JITTER_MS": "0"}


@pytest.fixture(params=KINDS)
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[SmallDisk]:
    with ExitStack() as stack:
        if request.param == "limited file":
            yield LimitedFile(tmp_path)
        elif request.param == "mounted file":
            yield MountedFile(stack.enter_context(mounted()))
        else:
            server: Cluster = request.getfixturevalue("cluster")
            if request.param == "refusing server":
                yield RefusingServer(server)
            else:
                yield FullTablespace(server, stack.enter_context(mounted()))


@asynccontextmanager
async def a_target() -> AsyncIterator[tuple[str, Counter[str]]]:
    """The address of a server, and the runs that called it."""
    seen: Counter[str] = Counter()

    async def answer(request: web.Request) -> web.Response:
        seen[request.headers["Cadenza-Run-Id"]] += 1
        return web.Response()

    app = web.Application()
    app.router.add_get("/", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/", seen
    finally:
        await runner.cleanup()


async def create_endpoints(caller: Caller, target: str) -> None:
    await caller.ask("POST /v1/jobs", {"id": "job", "name": "job"})
    for number in range(ENDPOINTS):
        body = {
            "id": f"e{number}",
            "name": "endpoint",
            "target": {"kind": "http", "url": target},
            "baseline": {"kind": "every", "interval_ms": 500},
            "start_now": True,
        }
        made = await caller.ask("POST /v1/jobs/job/endpoints", body)
        assert made.status == 201, made.body


async def until(caller: Caller, status: int, request: str, body: Any = None) -> Any:
    """The answer with this status, which comes at last."""
    async with asyncio.timeout(TIMEOUT_S):
        while (answer := await caller.ask(request, body)).status != status:
            await asyncio.sleep(0.02)
            if body is not None:
                body = body | {"id": f"job-{next(NUMBERS)}"}
    return answer.json()


async def until_run_again(seen: Counter[str]) -> None:
    """Wait for so many more runs that each endpoint must have had some."""
    wanted = len(seen) + 4 * ENDPOINTS
    async with asyncio.timeout(TIMEOUT_S):
        while len(seen) < wanted:  # noqa: ASYNC110 - A counter tells nobody.
            await asyncio.sleep(0.05)


async def history(url: str) -> History:
    async with open_store(read_settings(database_url=url), ids=TimeOrderedIds(), log=NoLog()) as store:
        found = await store.catalog.find("default")
        return {one.id: (one, (await store.runs.runs(one.key, Page(100_000)))[::-1]) for one in found}


async def check_while_full(up: Program, disk: SmallDisk, reader_key: str) -> None:
    """Changes are refused with the reason, which readiness repeats; everything else answers."""
    async with up.caller() as caller, up.caller(reader_key) as reader:
        # A log that was written before has room in it, also on a full disk.
        large = {"id": "j", "name": "job", "metadata": {"text": "x" * 16_000}}
        refused = await until(caller, 503, "POST /v1/jobs", large)
        assert refused["detail"].endswith(disk.says)
        assert await until(caller, 503, "GET /readyz") == {"status": refused["detail"]}
        assert (await caller.ask("GET /healthz")).status == 200
        for by in (reader, caller):
            assert [(await by.ask(read)).status for read in READS] == [200] * len(READS)
        assert (await caller.ask("GET /readyz")).status == 503, "it stays so"


async def test_a_full_disk_stops_no_reader_is_said_and_loses_nothing(disk: SmallDisk, tmp_path: Path) -> None:
    await migrate(disk.url)
    async with a_target() as (target, seen):
        with running(tmp_path, UP, CADENZA_DATABASE_URL=disk.url, **SETTINGS) as up:
            async with up.caller() as caller:
                made = await caller.ask("POST /v1/keys", {"name": "reader", "scopes": ["read"]})
                await create_endpoints(caller, target)
                await until_run_again(seen)
                for _ in range(FILLS):
                    await asyncio.to_thread(disk.fill, up.pid)
                    await check_while_full(up, disk, made.json()["key"])
                    await asyncio.to_thread(disk.free, up.pid)
                    await until(caller, 200, "GET /readyz")
                    await until(caller, 201, "POST /v1/jobs", {"id": "later", "name": "job"})
                    await until_run_again(seen)
            assert up.end() == 0
            assert len(up.lines) < FILLS * MOST_LINES, up.lines
            found = await history(disk.url)
    report(found, fills=FILLS)
    assert list(violations(found, seen)) == []
    assert len(found) == ENDPOINTS
    assert [one.pause_reason for one, _ in found.values()] == [None] * ENDPOINTS
