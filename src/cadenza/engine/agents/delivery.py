"""Hands over what is owed to users, to as many sockets as they have."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from cadenza.domain.agents.delivery import while_away
from cadenza.domain.agents.users import UserKey
from cadenza.domain.errors import NotFound
from cadenza.engine.agents.delivery_stream import Visit
from cadenza.engine.async_helpers import survived
from cadenza.ports.agents import DeliveryStore
from cadenza.ports.clock import Clock
from cadenza.ports.telemetry import Logger

AT_ONCE = 1_000
"""So many users are looked after with one question."""
EVERY_MS = 5_000


class Postman:
    """Wakes sockets when something is owed to their users.

    The store calls when it can. A call may be lost, or come from a process that
    cannot be heard, so the postman also looks after all users with a socket, with
    a few questions every some seconds, however many they are.
    """

    def __init__(
        self, *, store: DeliveryStore, clock: Clock, log: Logger, every_ms: float = EVERY_MS
    ) -> None:
        self._store = store
        self._clock = clock
        self._log = log
        self._every_ms = every_ms
        self._visits: set[Visit] = set()

    @asynccontextmanager
    async def visit(self, user: UserKey, *, last_seq: int = 0) -> AsyncIterator[Visit]:
        """Let a socket in that has everything up to a number; NotFound if there is no such user.

        What it says to have is delivered, and everything after that is sent, also what
        another socket has by now. One that says nothing is sent what is owed. A number
        that no message has is from another life, and says nothing.
        """
        visit = Visit(user, store=self._store, clock=self._clock, log=self._log)
        hang_up = self._store.on_owed(user, visit.ring)
        try:
            await self._welcome(visit, last_seq)
            self._visits.add(visit)
            yield visit
        finally:
            self._visits.discard(visit)
            hang_up()

    async def run(self) -> None:
        """Look after users with a socket until cancelled."""
        while True:
            await self._clock.sleep(self._every_ms)
            await survived(self.look(), self._log)

    async def look(self) -> None:
        """Wake the sockets whose users are owed more than they were sent, or are gone."""
        visits = list(self._visits)
        users = list({visit.user for visit in visits})
        found: dict[UserKey, int] = {}
        for start in range(0, len(users), AT_ONCE):
            found |= await self._store.last_seqs(users[start : start + AT_ONCE])
        for visit in visits:
            visit.look(found.get(visit.user))

    async def _welcome(self, visit: Visit, last_seq: int) -> None:
        user = visit.user
        found = await self._store.last_seqs([user])
        if user not in found:
            raise NotFound(f"There is no user {user.id}.")
        known = last_seq if 0 < last_seq <= found[user] else 0
        if known:
            await self._store.acknowledge(user, known)
        count = await self._store.owed_firings(user, self._clock.now())
        visit.welcome(known=known, last_seq=found[user], count=count, notice=while_away(count))
