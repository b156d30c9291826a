"""How long a single request can hold the event loop: hostile bodies for every operation.

Also lists of long and of many things, and the first request of each page; on SQLite or PostgreSQL.
"""

import argparse
import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack, suppress
from itertools import chain
from time import perf_counter, thread_time
from typing import Any, NamedTuple

import orjson
from benchmarks.rest import an_application
from benchmarks.servers import a_server, new_database

from cadenza.operations.config.schemas import MOST_ENDPOINTS
from cadenza.operations.operation import AnyOperation, Route
from cadenza.operations.table import OPERATIONS
from cadenza.roots.api import ApiServer, http_api, listening_socket

MANY = 90_000
LONG_THINGS = 200
LONG = 1_000_000
GOAL_MS = 50.0
IDS = {"job_id": "job", "endpoint_id": "endpoint-1", "date": "2030-01-31"}
TIMEOUT_S = 60.0
CLOSED = 0
"""The status if the connection was closed before the whole body was sent, and the answer lost."""


class HostileRequest(NamedTuple):
    """A request that costs much to read or to answer."""

    name: str
    method: str
    path: str
    body: bytes


class Held(NamedTuple):
    """What one request cost: the longest that the loop was held, and the size of the answer."""

    name: str
    cpu_ms: float
    wall_ms: float
    status: int
    answer_bytes: int


class LoopTimer:
    """Measures the longest callback of the event loop, in CPU time of its thread and in wall time."""

    def __init__(self) -> None:
        self.cpu_s = self.wall_s = 0.0
        run = asyncio.Handle._run  # noqa: SLF001 - The loop has no other place to measure its callbacks.

        def timed(handle: asyncio.Handle) -> None:
            wall, cpu = perf_counter(), thread_time()
            run(handle)
            self.cpu_s = max(self.cpu_s, thread_time() - cpu)
            self.wall_s = max(self.wall_s, perf_counter() - wall)

        asyncio.Handle._run = timed  # type: ignore[method-assign, assignment]  # noqa: SLF001 - As above.

    def reset(self) -> None:
        self.cpu_s = self.wall_s = 0.0


def first_requests() -> Iterator[HostileRequest]:
    """Requests that are answered for the first time, when what they need is loaded and built."""
    for path in ("/openapi.json", "/llms.txt", "/docs", "/", "/metrics", "/v1/simulation", "/nothing"):
        yield HostileRequest(f"the first {path}", "GET", path, b"")
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    yield HostileRequest("the first MCP call", "POST", "/mcp", orjson.dumps(call))


def long_things() -> Iterator[HostileRequest]:
    """Requests that store what is as long as it may be, for lists to read."""
    body = [{"a": "b"}] * 4_000
    headers = {f"X-{number}": "x" * 100 for number in range(60)}
    target = {
        "kind": "http",
        "url": "https://example.com/",
        "method": "POST",
        "headers": headers,
        "body": body,
    }
    endpoint = {"name": "long", "target": target, "baseline": {"kind": "every", "interval_ms": 60_000}}
    for number in range(LONG_THINGS):
        job = {"id": f"long-{number}", "name": "long", "metadata": {"list": ["x"] * 3_000}}
        yield HostileRequest("store a job", "POST", "/v1/jobs", orjson.dumps(job))
        words = orjson.dumps(endpoint | {"id": f"a-long-{number:04}"})
        yield HostileRequest("store an endpoint", "POST", "/v1/jobs/job/endpoints", words)
        agent = orjson.dumps({"name": "long", "instructions": "x" * 50_000})
        yield HostileRequest("store an agent", "PUT", f"/v1/agents/long-{number}", agent)


def hostile_values() -> dict[str, Any]:
    """Values that cost much to read or to refuse."""
    return {
        "list": [0] * (LONG // 3),
        "objects": [{}] * (LONG // 4),
        "object": {f"f{number}": 1 for number in range(MANY)},
        "text": "a," * (LONG // 2),
        "parens": "(" * (LONG // 2),
        "deep": deep_list(240),
        "deep lists": [deep_list(60)] * (LONG // 130),
    }


def deep_list(depth: int) -> Any:
    """A list in a list, and so on."""
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


def hostile_requests() -> Iterator[HostileRequest]:
    """Each hostile value as each field of each operation, and large requests that are valid."""
    values = hostile_values()
    yield from valid_requests()
    yield from mcp_requests(values)
    yield from login_requests(values)
    for operation in OPERATIONS:
        if operation.route is None or not operation.route.has_body:
            continue
        yield of_operation(operation, operation.route, "unknown fields", values["object"])
        fields = operation.schema.get("properties", {})
        for field in fields.keys() - set(path_fields(operation.route)):
            for kind, value in values.items():
                yield of_operation(operation, operation.route, f"{field}: {kind}", {field: value})


def of_operation(operation: AnyOperation, route: Route, what: str, body: Any) -> HostileRequest:
    return HostileRequest(f"{operation.name} {what}", route.method, filled(route), orjson.dumps(body))


def filled(route: Route) -> str:
    """The path of a route with ids that exist."""
    path = route.path
    for field in path_fields(route):
        path = path.replace("{" + field + "}", IDS.get(field, "some-id"))
    return path


def path_fields(route: Route) -> list[str]:
    return [part.split("}")[0] for part in route.path.split("{")[1:]]


def valid_requests() -> Iterator[HostileRequest]:
    endpoints = [
        {"id": f"endpoint-{number}", "target": "https://example.com/health", "baseline": "every 1m"}
        for number in range(MOST_ENDPOINTS)
    ]
    jobs = [{"id": "job", "name": "job", "endpoints": endpoints}]
    for dry in (True, False):
        body = orjson.dumps({"version": 1, "jobs": jobs, "dry_run": dry})
        yield HostileRequest(f"apply_config large, dry run {dry}", "POST", "/v1/apply", body)
    for operation in OPERATIONS:
        if operation.route is not None and operation.route.method == "GET":
            limit = operation.schema["properties"].get("limit", {}).get("maximum")
            query = "" if limit is None else f"?limit={limit}"
            path = filled(operation.route)
            yield HostileRequest(f"{operation.name} of much", "GET", path + query, b"")
    users = [{"user_id": f"user-{number}", "due_time": "09:00"} for number in range(1_000)]
    body = orjson.dumps({"users": users})
    yield HostileRequest("put_daily_users large", "POST", "/v1/daily/users", body)


def mcp_requests(values: dict[str, Any]) -> Iterator[HostileRequest]:
    for kind, value in values.items():
        call = {"name": "create_job", "arguments": {"name": "x", "labels": value}}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        yield HostileRequest(f"MCP call, labels: {kind}", "POST", "/mcp", orjson.dumps(body))
        yield HostileRequest(f"MCP body: {kind}", "POST", "/mcp", orjson.dumps(value))
    call = {"name": "create_job", "arguments": values["object"]}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    yield HostileRequest("MCP call, unknown fields", "POST", "/mcp", orjson.dumps(body))


def login_requests(values: dict[str, Any]) -> Iterator[HostileRequest]:
    """Requests for which no key is needed."""
    for kind, value in values.items():
        yield HostileRequest(f"log in: {kind}", "POST", "/v1/session", orjson.dumps({"key": value}))


def send(port: int, key: str, request: HostileRequest) -> tuple[int, int]:
    """Send a request from a thread; the status and size of its answer."""
    head = (
        f"{request.method} {request.path} HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {key}\r\n"
        "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
        f"Connection: close\r\nContent-Length: {len(request.body)}\r\n\r\n"
    )
    answer = bytearray()
    with socket.create_connection(("127.0.0.1", port), TIMEOUT_S) as line, suppress(ConnectionError):
        line.sendall(head.encode() + request.body)
        while part := line.recv(1 << 16):
            answer += part
    return int(answer.split(b" ", 2)[1]) if answer else CLOSED, len(answer)


async def measure(pattern: str, rounds: int, url: str | None) -> list[Held]:
    """Each request alone, the quietest of several rounds; what is asked for the first time, once."""
    timer = LoopTimer()
    async with AsyncExitStack() as stack:
        settings, application, key = await stack.enter_async_context(an_application(url))
        listening = stack.enter_context(listening_socket("127.0.0.1", 0))
        port: int = listening.getsockname()[1]
        server = ApiServer(settings, http_api(settings, application))
        serving = asyncio.create_task(server.serve([listening]))
        await hold(timer, port, key, HostileRequest("start", "GET", "/healthz", b""))
        found = [await hold(timer, port, key, request) for request in first_requests()]
        found = [held for held in found if pattern in held.name]
        for request in chain(valid_requests(), long_things()):
            await hold(timer, port, key, request)
        for request in hostile_requests():
            if pattern not in request.name:
                continue
            rest = [await hold(timer, port, key, request) for _ in range(rounds + 1)][1:]
            found.append(min(rest, key=lambda held: held.wall_ms))
        server.stop()
        await serving
    return found


async def hold(timer: LoopTimer, port: int, key: str, request: HostileRequest) -> Held:
    timer.reset()
    status, size = await asyncio.to_thread(send, port, key, request)
    return Held(request.name, timer.cpu_s * 1e3, timer.wall_s * 1e3, status, size)


def main() -> None:
    """Print the requests that held the loop longest, for people or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--only", default="", help="requests whose name contains this")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--most", type=int, default=15, help="how many to list")
    parser.add_argument("--postgres", action="store_true", help="on PostgreSQL instead of SQLite")
    options = parser.parse_args()
    with ExitStack() as stack:
        url: str | None = None
        if options.postgres:
            url = asyncio.run(new_database(stack.enter_context(a_server()), "hostile"))
        found = asyncio.run(measure(options.only, options.rounds, url))
    found.sort(key=lambda held: -held.cpu_ms)
    above = [held for held in found if held.cpu_ms > GOAL_MS]
    if options.json:
        worst = [held._asdict() for held in found[: options.most]]
        print(json.dumps({"requests": len(found), "above": len(above), "goal_ms": GOAL_MS, "worst": worst}))
        return
    print(f"{len(found)} hostile requests; {len(above)} held the loop for more than {GOAL_MS:g} ms of CPU")
    for held in found[: options.most]:
        size = f"{held.answer_bytes:,} bytes"
        print(f"{held.cpu_ms:9.1f} ms CPU {held.wall_ms:9.1f} ms  {held.status} {size:>16}  {held.name}")


if __name__ == "__main__":
    main()
