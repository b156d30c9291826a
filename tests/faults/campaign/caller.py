"""Sends requests to whichever API process answers, and sends again what was not answered."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from random import Random
from typing import Any

import aiohttp
from tests.surfaces.api_in_process import Answered
from tests.surfaces.server_process import Caller

ANSWER_S = 5.0
"""After this time a request is sent again; its process may be stopped."""
AGAIN_S = 0.1
TIMEOUT_S = 180.0
LATER = (409, 429)
"""Too much at a time, or a conversation whose turn went to another message: both say to send it again."""
REFUSED = 300
SERVER_FAULT = 500


class PersistentCaller:
    """A person's program: what breaks, times out or fails in the server is sent again under its key."""

    def __init__(self, callers: Sequence[Caller], chance: Random) -> None:
        self._callers = callers
        self._chance = chance
        self.repeated = 0
        """Requests that were sent again."""

    async def ask(self, request: str, body: Any = None, *, key: str) -> Answered:
        """The answer, whatever it says, unless it is a fault of the server."""
        async with asyncio.timeout(TIMEOUT_S):
            while True:
                answer = await self._once(request, body, key)
                if answer is not None and answer.status not in LATER and answer.status < SERVER_FAULT:
                    return answer
                self.repeated += 1
                await asyncio.sleep(AGAIN_S)

    async def _once(self, request: str, body: Any, key: str) -> Answered | None:
        try:
            async with asyncio.timeout(ANSWER_S):
                return await self._chance.choice(self._callers).ask(request, body, idempotency_key=key)
        except (aiohttp.ClientError, OSError):
            return None


@asynccontextmanager
async def open_callers(addresses: Sequence[str], key: str) -> AsyncIterator[list[Caller]]:
    """A caller for each address."""
    headers = {"Authorization": f"Bearer {key}"}
    async with AsyncExitStack() as stack:
        sessions = [aiohttp.ClientSession(address, headers=headers) for address in addresses]
        yield [Caller(await stack.enter_async_context(session)) for session in sessions]
