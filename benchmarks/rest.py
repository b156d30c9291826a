"""REST reads per second from one process on SQLite, beside an empty route of the same framework."""

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import count
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import NamedTuple, cast

from benchmarks.servers import cpu_of
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route, Router
from starlette.types import ASGIApp

from cadenza.adapters.clock import SystemClock
from cadenza.adapters.dispatch.callables import CallableDispatcher
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.null import NoLog
from cadenza.domain.access.key import Caller, Scope
from cadenza.operations.application import Application
from cadenza.roots.api import ApiServer, http_api, listening_socket
from cadenza.roots.settings import Settings
from cadenza.roots.up import create_first_key
from cadenza.roots.wiring.application import open_application
from cadenza.roots.wiring.process import run_event_loop, tune_garbage_collection
from cadenza.roots.wiring.stores import open_store

STORED = 1_000
GOAL, GOAL_PER_S = 0.5, 1_000
PATHS = {"empty": "/empty", "one": "/v1/endpoints/endpoint-00500", "page": "/v1/endpoints?limit=20"}


async def empty(_: Request) -> JSONResponse:
    """What the framework costs when there is nothing to do."""
    return JSONResponse({"status": "ok"})


@asynccontextmanager
async def an_application(url: str | None = None) -> AsyncIterator[tuple[Settings, Application, str]]:
    """An application on a new database, a SQLite file unless a URL is given, and the key to it.

    It has no limit on requests.
    """
    tune_garbage_collection()
    log = NoLog()
    async with AsyncExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        url = url or f"sqlite:///{Path(folder) / 'cadenza.db'}"
        settings = Settings(database_url=url, rate_per_minute=10_000_000)
        store = await stack.enter_async_context(open_store(settings, ids=TimeOrderedIds(), log=log))
        opening = open_application(
            settings, store=store, clock=SystemClock(), log=log, callables=CallableDispatcher()
        )
        application = await stack.enter_async_context(opening)
        key = await create_first_key(application)
        assert key is not None, "the database is new"
        yield settings, application, key


async def serve(commits: int) -> None:
    """Be the server, in a process of its own: both applications, each on a port.

    Beside them, something is committed so many times a second.
    """
    async with AsyncExitStack() as stack:
        settings, application, key = await stack.enter_async_context(an_application())
        owner = Caller("default", frozenset({Scope.ADMIN}), "benchmark")
        await application.ask("create_job", {"id": "job", "name": "job"}, owner)
        for number in range(STORED):
            await application.ask("create_endpoint", an_endpoint(f"endpoint-{number:05}"), owner)
        apps: list[ASGIApp] = [Router([Route("/empty", empty)]), http_api(settings, application)]
        sockets = [stack.enter_context(listening_socket("127.0.0.1", 0)) for _ in apps]
        print(json.dumps({"ports": [one.getsockname()[1] for one in sockets], "key": key}), flush=True)
        servers = [ApiServer(settings, app).serve([one]) for app, one in zip(apps, sockets, strict=True)]
        await asyncio.gather(*servers, change(application, owner, commits))


async def change(application: Application, owner: Caller, commits: int) -> None:
    """Change an endpoint that nobody reads, so many times a second."""
    for number in count() if commits else ():
        changed = {"endpoint_id": "endpoint-00001", "description": f"{number}"}
        await application.ask("update_endpoint", changed, owner)
        await asyncio.sleep(1 / commits)


def an_endpoint(name: str) -> dict[str, object]:
    """An endpoint as people have them."""
    return {
        "job_id": "job",
        "id": name,
        "name": name,
        "labels": {"team": "web"},
        "target": {"kind": "http", "url": "https://example.com/health", "headers": {"Accept": "text/plain"}},
        "baseline": {"kind": "every", "interval_ms": 60_000},
        "guard": {"min_interval_ms": 20_000, "max_interval_ms": 300_000},
    }


class MeasuredServer(NamedTuple):
    """Where the server is, which process it is, and the key to it."""

    pid: int
    ports: dict[str, int]
    key: str


@asynccontextmanager
async def a_server(commits: int = 0) -> AsyncIterator[MeasuredServer]:
    command = (sys.executable, "-m", "benchmarks.rest", "--serve", "--commits", str(commits))
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert process.stdout is not None
    started = json.loads(await process.stdout.readline())
    bare, ours = started["ports"]
    try:
        yield MeasuredServer(process.pid, {"empty": bare, "one": ours, "page": ours}, started["key"])
    finally:
        process.kill()
        await process.wait()


class KeepAliveClient(asyncio.Protocol):
    """One connection that asks the same over and over, as quickly as it is answered.

    A client library would cost as much as the server that it measures.
    """

    def __init__(self, request: bytes, requests: int) -> None:
        self._request = request
        self._left = requests
        self._heard = b""
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # That of uvloop says so to nobody.
        self._transport.write(self._request)

    def data_received(self, data: bytes) -> None:
        self._heard += data
        head, found, body = self._heard.partition(b"\r\n\r\n")
        if not found:
            return
        length = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
        if len(body) < length:
            return
        assert head.startswith(b"HTTP/1.1 200"), head
        self._heard = b""
        self._left -= 1
        if self._left:
            self._transport.write(self._request)
        else:
            self.done.set_result(None)
            self._transport.close()


async def lap(server: MeasuredServer, name: str, *, connections: int, requests: int) -> tuple[float, float]:
    """Requests per second, and the server's CPU seconds for one."""
    loop = asyncio.get_running_loop()
    lines = [f"GET {PATHS[name]} HTTP/1.1", "Host: here", f"Authorization: Bearer {server.key}", "", ""]
    request = "\r\n".join(lines).encode()
    each = requests // connections
    began, cpu = perf_counter(), cpu_of(server.pid)
    made = [
        await loop.create_connection(lambda: KeepAliveClient(request, each), "127.0.0.1", server.ports[name])
        for _ in range(connections)
    ]
    await asyncio.gather(*(line.done for _, line in made))
    answered = each * connections
    return answered / (perf_counter() - began), (cpu_of(server.pid) - cpu) / answered


async def measure(*, connections: int, requests: int, laps: int, commits: int) -> dict[str, float]:
    """Laps take turns, so that a noisy moment of the machine meets all; the median ratio counts."""
    rates: dict[str, list[float]] = {name: [] for name in PATHS}
    cpu: dict[str, list[float]] = {name: [] for name in PATHS}
    async with a_server(commits) as server:
        for number in range(laps + 1):
            for name in PATHS:
                rate, spent = await lap(server, name, connections=connections, requests=requests)
                if number:  # The first warms up.
                    rates[name].append(rate)
                    cpu[name].append(spent)
    return {
        "connections": connections,
        "commits_per_s": commits,
        **{f"{name}_per_s": round(max(rates[name])) for name in PATHS},
        **{f"{name}_cpu_us": round(median(cpu[name]) * 1e6, 1) for name in PATHS},
        **{f"{name}_ratio": ratio(rates["empty"], rates[name]) for name in ("one", "page")},
        **{f"{name}_cpu_ratio": ratio(cpu[name], cpu["empty"]) for name in ("one", "page")},
        "load": round(os.getloadavg()[0], 1),
        "goal_ratio": GOAL,
        "goal_per_s": GOAL_PER_S,
    }


def ratio(base: list[float], other: list[float]) -> float:
    """The median over the laps: nearer to 1 is better, for rates and, turned round, for costs."""
    return round(median(two / one for one, two in zip(base, other, strict=True)), 3)


def main() -> None:
    """Print the figures, for people or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--count", type=int, default=4_000, help="requests in a lap")
    parser.add_argument("--laps", type=int, default=7)
    parser.add_argument("--commits", type=int, default=0, help="commits a second beside the reads")
    options = parser.parse_args()
    if options.serve:
        run_event_loop(serve(options.commits))
        return
    sizes = {"connections": options.connections, "requests": options.count, "laps": options.laps}
    results = run_event_loop(measure(**sizes, commits=options.commits))
    if options.json:
        print(json.dumps(results))
    else:
        print("\n".join(f"{name:>18} {value:>12,}" for name, value in results.items()))


if __name__ == "__main__":
    main()
