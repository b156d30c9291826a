"""HTTP dispatches per second against loopback, beside a bare aiohttp loop at the same concurrency."""

import argparse
import asyncio
import importlib
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from statistics import median
from time import perf_counter, process_time

import aiohttp

from cadenza import Endpoint
from cadenza.adapters.access.secrets import EnvironmentSecrets
from cadenza.adapters.clock import SystemClock
from cadenza.adapters.dispatch.http.connections import HttpSettings
from cadenza.adapters.dispatch.http.dispatcher import HttpDispatcher
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import Claim, RunStatus
from cadenza.domain.scheduling.target import HttpTarget

BODY = b'{"visitors": 1234, "queue": {"depth": 5, "oldest_ms": 120}, "state": "ok"}'
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (
    len(BODY),
    BODY,
)
GOAL = 0.5

Lap = Callable[[], Awaitable[None]]


class Answering(asyncio.Protocol):
    """Answers every request at once."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._transport.write(ANSWER * data.count(b"\r\n\r\n"))


async def serve() -> None:
    """Be the server, in a process of its own, and say on which port."""
    server = await asyncio.get_running_loop().create_server(Answering, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@asynccontextmanager
async def a_server() -> AsyncIterator[str]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, __file__, "--serve", stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    port = int(await process.stdout.readline())
    yield f"http://127.0.0.1:{port}/"
    process.kill()
    await process.wait()


def a_claim(url: str) -> Claim:
    """A claim to an endpoint as people have them: a header, no secrets, the answer captured."""
    now = SystemClock().now()
    target = HttpTarget(url, headers={"Accept": "application/json"})
    return Claim(
        run_id="run",
        token="token",
        endpoint=Endpoint(id="endpoint", name="endpoint", target=target),
        slot=now,
        due_at=now,
        attempt=1,
        source=Source.FIRST,
        claimed_at=now,
        lease_until=now,
    )


async def requests_per_second(one: Lap, *, concurrency: int, each: int) -> float:
    """Requests per second, with so many at a time."""

    async def worker() -> None:
        for _ in range(each):
            await one()

    began = perf_counter()
    await asyncio.gather(*(worker() for _ in range(concurrency)))
    return concurrency * each / (perf_counter() - began)


async def measure(**sizes: int) -> dict[str, float]:
    """Laps take turns, so that a noisy moment of the machine meets both; the median ratio counts."""
    async with (
        a_server() as url,
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session,
        HttpDispatcher(
            secrets=EnvironmentSecrets(),
            clock=SystemClock(),
            settings=HttpSettings(allow=("127.0.0.1",)),
        ) as dispatcher,
    ):
        claim = a_claim(url)

        async def bare() -> None:
            async with session.get(url) as response:
                await response.read()

        async def dispatched() -> None:
            outcome = await dispatcher.execute(claim)
            assert outcome.status is RunStatus.SUCCESS, outcome

        return await compared({"bare": bare, "dispatched": dispatched}, **sizes)


async def compared(pair: dict[str, Lap], *, concurrency: int, count: int, laps: int) -> dict[str, float]:
    """Figures for the bare loop and ours, from laps in turn."""
    each = max(1, count // concurrency)
    rates: dict[str, list[float]] = {name: [] for name in pair}
    cpu = dict.fromkeys(pair, 0.0)
    for lap in range(laps + 1):
        for name, one in pair.items():
            began = process_time()
            rate = await requests_per_second(one, concurrency=concurrency, each=each)
            if lap:  # The first opens the connections.
                rates[name].append(rate)
                cpu[name] += process_time() - began
    ratios = [ours / theirs for ours, theirs in zip(rates["dispatched"], rates["bare"], strict=True)]
    exchanges = laps * each * concurrency
    return {
        "concurrency": concurrency,
        **{f"{name}_per_s": round(max(rates[name])) for name in pair},
        **{f"{name}_cpu_us": round(cpu[name] / exchanges * 1e6, 1) for name in pair},
        "ratio": round(median(ratios), 3),
        "goal_ratio": GOAL,
    }


def main() -> None:
    """Print the figures, for people or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--uvloop", action="store_true", help="run both on uvloop, which must be installed")
    parser.add_argument("--concurrency", type=int, default=100)
    parser.add_argument("--count", type=int, default=4_000, help="exchanges in a lap")
    parser.add_argument("--laps", type=int, default=7)
    options = parser.parse_args()
    factory = importlib.import_module("uvloop").new_event_loop if options.uvloop else None
    with asyncio.Runner(loop_factory=factory) as runner:
        if options.serve:
            runner.run(serve())
            return
        sizes = {"concurrency": options.concurrency, "count": options.count, "laps": options.laps}
        results = runner.run(measure(**sizes))
    if options.json:
        print(json.dumps(results))
    else:
        print("\n".join(f"{name:>18} {value:>12,}" for name, value in results.items()))


if __name__ == "__main__":
    main()
