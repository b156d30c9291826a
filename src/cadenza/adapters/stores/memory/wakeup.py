"""A bell for the loops of one process."""

import asyncio
from weakref import WeakSet


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


class Belfry:
    """All the bells that somebody still listens to."""

    def __init__(self) -> None:
        self._bells: WeakSet[MemoryBell] = WeakSet()

    def listen(self) -> MemoryBell:
        """A bell more."""
        bell = MemoryBell()
        self._bells.add(bell)
        return bell

    def ring(self) -> None:
        """Ring them all."""
        for bell in self._bells:
            bell.ring()
