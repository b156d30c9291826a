"""Users with open sockets on one process: what each costs in memory, and how soon they hear what fires."""

import argparse
import asyncio
import json
import os
import re
import resource
import sys
import tempfile
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median, quantiles
from typing import Any, NamedTuple, cast

import aiohttp
from benchmarks.servers import cpu_of, resident_mb

from cadenza.roots.wiring.process import run_event_loop

FEW = 100
"""So many sockets the many are compared with."""
AT_ONCE = 50
SPARE_FILES = 500
A_KEY = re.compile(r"cad_[A-Za-z0-9]+_[A-Za-z0-9]+")
SETTINGS = {
    "CADENZA_PORT": "0",
    "CADENZA_LOG_JSON": "1",
    "CADENZA_PLANNER": "false",
    "CADENZA_JITTER_MS": "0",
    "CADENZA_RATE_PER_MINUTE": "10000000",
}
TEXT, PING, PONG = 1, 9, 10


class Up(NamedTuple):
    """`cadenza up` on an SQLite file: its process, where it is, and somebody with its key."""

    pid: int
    port: int
    session: aiohttp.ClientSession

    async def ask(self, method: str, path: str, body: dict[str, Any]) -> Any:
        """What it answers."""
        async with self.session.request(method, path, json=body) as answer:
            assert answer.status < 300, await answer.text()
            return await answer.json()


@asynccontextmanager
async def up() -> AsyncIterator[Up]:
    """It runs until the end, and is gone then."""
    with tempfile.TemporaryDirectory() as folder:
        said = Path(folder) / "said"
        with said.open("w") as out:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "cadenza",
                "up",
                cwd=folder,
                env=os.environ | SETTINGS,
                stdout=out,
                stderr=asyncio.subprocess.PIPE,
            )
        assert process.stderr is not None
        try:
            line = b""
            while b"cadenza is up" not in line:
                line = await process.stderr.readline()
            found = A_KEY.search(said.read_text())
            assert found is not None
            address = json.loads(line)["api"]
            headers = {"Authorization": f"Bearer {found[0]}"}
            async with aiohttp.ClientSession(address, headers=headers) as session:
                yield Up(process.pid, int(address.rpartition(":")[2]), session)
        finally:
            process.kill()
            await process.wait()


class RawSocketClient(asyncio.Protocol):
    """One user's socket, by hand: a client library would cost as much as the server that is measured."""

    def __init__(self, token: str, heard: Callable[[dict[str, Any]], None]) -> None:
        self._token = token
        self._heard = heard
        self._data = b""
        self._open = False
        self.welcome: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(
            b"GET /v1/ws HTTP/1.1\r\nHost: here\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        )

    def data_received(self, data: bytes) -> None:
        self._data += data
        if not self._open:
            head, found, self._data = self._data.partition(b"\r\n\r\n")
            if not found:
                self._data = head
                return
            assert head.startswith(b"HTTP/1.1 101"), head
            self._open = True
            self._send(TEXT, json.dumps({"type": "hello", "token": self._token}).encode())
        while self._frame():
            pass

    def connection_lost(self, _: Exception | None) -> None:
        if not self.welcome.done():
            self.welcome.set_exception(ConnectionError("the server hung up"))

    def close(self) -> None:
        """Hang up."""
        self._transport.abort()

    def _frame(self) -> bool:
        """Take one frame; False if there is none yet. None here is longer than 64 KiB."""
        if len(self._data) < 2:
            return False
        head, size = 2, self._data[1]
        if size == 126:
            head, size = 4, int.from_bytes(self._data[2:4])
        if len(self._data) < head + size:
            return False
        kind, words = self._data[0] & 15, self._data[head : head + size]
        self._data = self._data[head + size :]
        if kind == PING:
            self._send(PONG, words)
        elif kind == TEXT:
            self._take(json.loads(words))
        return True

    def _take(self, frame: dict[str, Any]) -> None:
        if frame["type"] == "welcome":
            self.welcome.set_result(None)
        else:
            self._heard(frame)

    def _send(self, kind: int, words: bytes) -> None:
        """A frame with a mask of zeros, which changes nothing."""
        size = bytes([128 | len(words)]) if len(words) < 126 else b"\xfe" + len(words).to_bytes(2)
        self._transport.write(bytes([128 | kind]) + size + bytes(4) + words)


async def gather_bounded(works: Iterable[Coroutine[Any, Any, Any]]) -> list[Any]:
    """Await all of these, at most `AT_ONCE` at a time."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(work: Coroutine[Any, Any, Any]) -> Any:
        async with gate:
            return await work

    return await asyncio.gather(*map(one, works))


async def a_user(server: Up, name: str) -> str:
    """A token of a new user."""
    await server.ask("PUT", f"/v1/users/{name}", {})
    made = await server.ask("POST", f"/v1/users/{name}/token", {"ttl_seconds": 86_400})
    return str(made["token"])


class SocketClients:
    """Users with open sockets, and when each received which schedule."""

    def __init__(self, server: Up) -> None:
        self._server = server
        self._clients: list[RawSocketClient] = []
        self._at: dict[str, datetime] = {}

    async def connect(self, tokens: Iterable[str]) -> None:
        """Open a socket for each of these."""
        await gather_bounded(map(self._connect, tokens))

    def leave(self) -> None:
        """Close all sockets."""
        for client in self._clients:
            client.close()
        self._clients.clear()

    async def fire(self, names: list[str], *, per_minute: int, seconds: int) -> dict[str, float]:
        """Let schedules fire at a steady rate; how long after their moments users heard of them."""
        count = per_minute * seconds // 60
        begin = datetime.now(UTC) + timedelta(seconds=5 + count / 50)
        dues = [begin + timedelta(seconds=60 * number / per_minute) for number in range(count)]
        planned = (self._plan(names[n * 7919 % len(names)], due) for n, due in enumerate(dues))
        ids = dict(zip(await gather_bounded(planned), dues, strict=True))
        late = datetime.now(UTC) > begin
        await asyncio.sleep(max(0.0, (begin - datetime.now(UTC)).total_seconds()))
        cpu = cpu_of(self._server.pid)
        await asyncio.sleep(seconds)
        cpu = cpu_of(self._server.pid) - cpu
        async with asyncio.timeout(60):
            while not ids.keys() <= self._at.keys():  # noqa: ASYNC110 - Thousands of sockets tell.
                await asyncio.sleep(0.1)
        took = [(self._at[one] - due) / timedelta(milliseconds=1) for one, due in ids.items()]
        return {
            "fired": count,
            "late_start": late,
            "p50_ms": round(median(took), 1),
            "p99_ms": round(quantiles(took, n=100)[98], 1),
            "max_ms": round(max(took), 1),
            "cpu_share": round(cpu / seconds, 3),
        }

    async def _connect(self, token: str) -> None:
        loop, port = asyncio.get_running_loop(), self._server.port
        _, client = await loop.create_connection(
            lambda: RawSocketClient(token, self._heard), "127.0.0.1", port
        )
        self._clients.append(client)
        await client.welcome

    def _heard(self, frame: dict[str, Any]) -> None:
        self._at.setdefault(str(frame.get("schedule_id")), datetime.now(UTC))

    async def _plan(self, name: str, due: datetime) -> str:
        wish = {
            "user_id": name,
            "agent_id": "helper",
            "name": "look up",
            "prompt": f"look up at {due:%X}",
            "schedule_type": "one-shot",
            "run_at": due.isoformat(),
        }
        return str((await self._server.ask("POST", "/v1/schedules", wish))["id"])


async def measure(*, users: int, per_minute: int, seconds: int) -> dict[str, Any]:
    """First with few sockets, then with all."""
    names = [f"user-{number}" for number in range(users)]
    async with up() as server:
        await server.ask("PUT", "/v1/agents/helper", {"name": "Helper"})
        tokens = await gather_bounded(a_user(server, name) for name in names)
        few, many = SocketClients(server), SocketClients(server)
        await few.connect(tokens[:FEW])
        alone = await few.fire(names[:FEW], per_minute=per_minute, seconds=seconds)
        few.leave()
        await asyncio.sleep(1)
        before = resident_mb(server.pid)
        await many.connect(tokens)
        connected = resident_mb(server.pid)
        together = await many.fire(names, per_minute=per_minute, seconds=seconds)
        after = resident_mb(server.pid)
        many.leave()
    return {
        "users": users,
        "per_minute": per_minute,
        "rss_before_mb": round(before, 1),
        "rss_connected_mb": round(connected, 1),
        "rss_after_mb": round(after, 1),
        "kb_per_connection": round((connected - before) * 1_024 / users, 2),
        **{f"few_{name}": value for name, value in alone.items()},
        **together,
        "p99_ratio": round(together["p99_ms"] / alone["p99_ms"], 2),
    }


def main() -> None:
    """Print the figures, for people or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--users", type=int, default=5_000)
    parser.add_argument("--per-minute", type=int, default=1_000)
    parser.add_argument("--seconds", type=int, default=60)
    options = parser.parse_args()
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, options.users + SPARE_FILES), most))
    wanted = {"users": options.users, "per_minute": options.per_minute, "seconds": options.seconds}
    results = run_event_loop(measure(**wanted))
    if options.json:
        print(json.dumps(results))
    else:
        print("\n".join(f"{name:>18} {value:>12,}" for name, value in results.items()))


if __name__ == "__main__":
    main()
