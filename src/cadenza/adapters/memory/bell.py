"""A bell for the loops of one process."""

import asyncio


class MemoryBell:
    """Remembers that it rang until somebody has heard it."""

    def __init__(self) -> None:
        self._rang = asyncio.Event()

    def ring(self) -> None:
        """Wake whoever waits."""
        self._rang.set()

    async def heard(self) -> None:
        """Come back when it has rung since the last call."""
        await self._rang.wait()
        self._rang.clear()
