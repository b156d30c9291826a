"""Users with sockets: they come back whenever a socket breaks, and note what comes twice or out of order."""

import asyncio
from collections.abc import Collection
from contextlib import suppress
from random import Random
from typing import Any

from tests.faults.agents.test_process_kills import Client
from tests.surfaces.websocket.socket_client import MESSAGES
from websockets.exceptions import WebSocketException

TIMEOUT_S = 120.0
AGAIN_S = 0.1


class Listener(Client):
    """A user's program that goes from one API process to another."""

    def __init__(self, user: str, token: str) -> None:
        super().__init__(user, token)
        self._newest = 0
        self.sockets = 0
        self.violations: list[str] = []

    async def listen_to_any(self, addresses: list[str], chance: Random) -> None:
        """Listen until cancelled. A process that has no database yet may greet with an error."""
        while True:
            with suppress(WebSocketException, OSError, AssertionError):
                await self.listen(chance.choice(addresses), chance)
            await asyncio.sleep(AGAIN_S)

    async def listen(self, address: str, chance: Random, *, until: int | None = None) -> None:
        self._newest = 0
        self.sockets += 1
        await super().listen(address, chance, until=until)

    async def catch_up(self, address: str, last_seq: int, answered: Collection[int]) -> None:
        """Take what is still owed, and find out that nothing else is; answers over REST are not owed."""
        self.seen |= {seq: {"seq": seq} for seq in answered if seq not in self.seen}
        try:
            async with asyncio.timeout(TIMEOUT_S):
                while len(self.seen) < last_seq:
                    await self.listen(address, Random(1), until=last_seq)
                if self.seen:
                    await self.has_everything(address)
        except (TimeoutError, AssertionError) as problem:
            missing = sorted(set(range(1, last_seq + 1)) - self.seen.keys())
            self.violations.append(f"{self.user} lacks the messages {missing} of {last_seq} {problem}")

    def _take(self, frame: dict[str, Any], chance: Random) -> None:
        if frame["type"] not in MESSAGES:
            return
        if frame["seq"] <= self._newest:
            self.violations.append(f"{self.user} was sent {frame['seq']} after {self._newest}")
        self._newest = frame["seq"]
        if self.seen.setdefault(frame["seq"], frame) != frame:
            self.violations.append(f"{self.user} has two messages with the number {frame['seq']}")
