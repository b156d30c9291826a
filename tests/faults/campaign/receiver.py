"""A target on loopback that counts what arrives, by run and by idempotency key."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from zlib import crc32

from aiohttp import web

SLOW_S = 0.2
FLAKY_PERCENT = 40


class Receiver:
    """Answers `/ok`, `/slow`, `/fail`, `/flaky` as their names say, and `/daily` for daily users."""

    def __init__(self) -> None:
        self.address = ""
        self.runs: Counter[str] = Counter()
        """Requests by run id."""
        self.keys: Counter[str] = Counter()
        """Requests by idempotency key."""
        self.days: Counter[str] = Counter()
        """Requests of the daily runner by idempotency key."""

    def url(self, path: str) -> str:
        return f"{self.address}/{path}"

    async def answer(self, request: web.Request) -> web.Response:
        """Count a request of an endpoint."""
        run_id, behaviour = request.headers["Cadenza-Run-Id"], request.match_info["behaviour"]
        self.runs[run_id] += 1
        self.keys[request.headers["Idempotency-Key"]] += 1
        if behaviour == "slow":
            await asyncio.sleep(SLOW_S)
        unlucky = behaviour == "flaky" and crc32(run_id.encode()) % 100 < FLAKY_PERCENT
        return web.Response(status=500 if unlucky or behaviour == "fail" else 200)

    async def answer_daily(self, request: web.Request) -> web.Response:
        """Count a request of the daily runner."""
        self.days[request.headers["Idempotency-Key"]] += 1
        await asyncio.sleep(SLOW_S)
        return web.Response()


@asynccontextmanager
async def serve_receiver() -> AsyncIterator[Receiver]:
    """A receiver that listens until the end of the block."""
    receiver, app = Receiver(), web.Application()
    app.router.add_post("/daily", receiver.answer_daily)
    app.router.add_get("/{behaviour}", receiver.answer)
    runner = web.AppRunner(app, shutdown_timeout=1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    receiver.address = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield receiver
    finally:
        await runner.cleanup()
