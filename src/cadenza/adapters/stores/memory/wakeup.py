"""A bell for the loops of one process."""

import asyncio
from collections.abc import Callable, Iterable
from weakref import WeakSet

from cadenza.domain.agents.users import UserKey


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


Ring = Callable[[], None]


class Doorbells:
    """Whoever listens for a user is called when something new is owed to that user."""

    def __init__(self) -> None:
        self._rings: dict[UserKey, list[Ring]] = {}

    def listen(self, user: UserKey, ring: Ring) -> Ring:
        """Call for a user from now on; the answer ends it."""
        self._rings.setdefault(user, []).append(ring)

        def hang_up() -> None:
            rings = self._rings.get(user, [])
            if ring in rings:
                rings.remove(ring)
            if not rings:
                self._rings.pop(user, None)

        return hang_up

    def ring(self, users: Iterable[UserKey]) -> None:
        """Call for these users."""
        for user in users:
            for ring in list(self._rings.get(user, ())):
                ring()

    def ring_all(self) -> None:
        """Call for everybody: somebody may have called while nobody listened."""
        self.ring(list(self._rings))
