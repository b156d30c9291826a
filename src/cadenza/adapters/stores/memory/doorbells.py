"""Calls for users, to the sockets of one process."""

from collections.abc import Callable, Iterable

from cadenza.domain.agents.users import UserKey

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
