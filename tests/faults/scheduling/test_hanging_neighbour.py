"""A tenant whose runs never end takes no time from its neighbours, in a process as it is started."""

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.surfaces.server_process import UP, Caller, Program, running

LIMITS = ["--endpoints", "200", "--min-interval", "1s"]
HANGING, PLACES, SHARE = 60, 40, 32
MINUTES = 120_000
DAY = 86_400_000


@asynccontextmanager
async def target() -> AsyncIterator[str]:
    """A server on loopback that answers `/now` at once, and `/never` never."""

    connected: set[asyncio.StreamWriter] = set()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connected.add(writer)
        head = await reader.readuntil(b"\r\n\r\n")
        if b"/now" in head.split(b"\r\n")[0]:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            await writer.drain()
        else:
            await reader.read()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for writer in connected:
            writer.close()


async def a_tenant(program: Program, tenant_id: str) -> str:
    """The key of a new tenant with limits."""

    def command(*words: str) -> Any:
        cadenza = [sys.executable, "-m", "cadenza", *words, "--json"]
        done = subprocess.run(cadenza, cwd=program.folder, capture_output=True, check=True)
        return json.loads(done.stdout)

    await asyncio.to_thread(command, "tenants", "set-limits", tenant_id, *LIMITS)
    created = await asyncio.to_thread(
        command, "keys", "create", "--name", "test", "--scope", "write", "--tenant", tenant_id
    )
    return str(created["key"])


async def add(caller: Caller, name: str, url: str, timeout_ms: int, *, start_now: bool) -> int:
    """Create an endpoint that runs every second; the answer's status."""
    body = {
        "id": name,
        "name": name,
        "target": {"kind": "http", "url": url},
        "baseline": {"kind": "every", "interval_ms": 1_000},
        "policy": {"timeout_ms": timeout_ms},
        "start_now": start_now,
    }
    return (await caller.ask("POST /v1/jobs/job/endpoints", body)).status


async def successes(caller: Caller) -> int:
    """How many of the neighbour's runs have ended, all of them well."""
    items = (await caller.ask("GET /v1/endpoints/quick/runs")).json()["items"]
    statuses = [run["status"] for run in items if run["status"] is not None]
    assert set(statuses) <= {"success"}
    return len(statuses)


async def in_flight(caller: Caller) -> int:
    """How many runs of the caller's tenant go on."""
    return int((await caller.ask("GET /v1/overview")).json()["in_flight"])


async def until(read: Callable[[], Awaitable[int]], holds: Callable[[int], bool]) -> None:
    """Read until it holds."""
    async with asyncio.timeout(60):
        while not holds(await read()):  # noqa: ASYNC110 - it is read from another process
            await asyncio.sleep(0.1)


async def test_a_neighbour_of_a_tenant_that_hangs_in_every_place_runs_every_second(tmp_path: Path) -> None:
    async with target() as address:
        settings = {"CADENZA_ALLOW_TARGETS": address, "CADENZA_WORKER_CONCURRENCY": str(PLACES)}
        with running(tmp_path, UP, CADENZA_JITTER_MS="0", CADENZA_GRACE_MS="0", **settings) as program:
            keys = [await a_tenant(program, tenant_id) for tenant_id in ("hanging", "neighbour")]
            async with program.caller(keys[0]) as hanging, program.caller(keys[1]) as neighbour:
                for caller in (hanging, neighbour):
                    await caller.ask("POST /v1/jobs", {"id": "job", "name": "job"})
                never = f"http://{address}/never"
                assert await add(hanging, "too-long", never, DAY, start_now=True) == 422
                for number in range(HANGING):
                    assert await add(hanging, f"slow-{number}", never, MINUTES, start_now=True) == 201
                await until(lambda: in_flight(hanging), lambda count: count >= SHARE)
                assert await add(neighbour, "quick", f"http://{address}/now", 1_000, start_now=True) == 201
                await until(lambda: successes(neighbour), lambda count: count >= 3)
                assert await in_flight(hanging) == SHARE
