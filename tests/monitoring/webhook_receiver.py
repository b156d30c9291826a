"""Whoever receives alerts: on a loopback socket, and it believes nothing that is not signed."""

import asyncio
import hmac
import json
from base64 import b64decode, b64encode
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from aiohttp import web

KEY = "whsec_" + b64encode(b"0123456789abcdef0123456789abcdef").decode()


class Received(NamedTuple):
    """A message that arrived."""

    id: str
    body: Any
    signed: bool


class Receiver:
    """Takes messages; answers so many of them with an error first."""

    def __init__(self, *, failures: int = 0) -> None:
        self.messages: list[Received] = []
        self.refused: list[Received] = []
        self._failures = failures
        self.address = ""
        self._news = asyncio.Event()

    @asynccontextmanager
    async def open(self) -> AsyncIterator["Receiver"]:
        app = web.Application()
        app.router.add_post("/alerts", self._take)
        runner = web.AppRunner(app)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        self.address = f"http://127.0.0.1:{runner.addresses[0][1]}/alerts"
        yield self
        await runner.cleanup()

    async def until(self, come: Callable[[list[Received]], bool], seconds: float = 90) -> list[Received]:
        """Wait until the right messages have come."""
        async with asyncio.timeout(seconds):
            while not come(self.messages):
                self._news.clear()
                await self._news.wait()
        return self.messages

    async def _take(self, request: web.Request) -> web.Response:
        body = await request.read()
        headers = request.headers
        message = Received(
            headers.get("webhook-id", ""), json.loads(body), signed=self._is_signed(request, body)
        )
        if self._failures:
            self._failures -= 1
            self.refused.append(message)
            raise web.HTTPServiceUnavailable
        self.messages.append(message)
        self._news.set()
        return web.Response(status=204)

    def _is_signed(self, request: web.Request, body: bytes) -> bool:
        """Verify as the Standard Webhooks specification says, with nothing of ours."""
        key = b64decode(KEY.removeprefix("whsec_"))
        parts = [request.headers.get(name, "").encode() for name in ("webhook-id", "webhook-timestamp")]
        made = b64encode(hmac.digest(key, b".".join([*parts, body]), "sha256")).decode()
        told = request.headers.get("webhook-signature", "").split(" ")
        return any(hmac.compare_digest(f"v1,{made}", one) for one in told)
