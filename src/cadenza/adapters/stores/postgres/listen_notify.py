"""One connection that listens for notifications of the database, and reconnects by itself."""

import asyncio
from contextlib import suppress
from typing import Any

from cadenza.adapters.stores.postgres.errors import translated_errors
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.sql.agents.turns import notified_user
from cadenza.adapters.stores.sql.database import CHANNEL, NOTIFY, WORKERS
from cadenza.adapters.stores.wakeup import EventWakeup, UserWakeups, Wakeups
from cadenza.domain.agents.users import UserKey
from cadenza.domain.errors import Unavailable
from cadenza.ports.agents import Callback
from cadenza.ports.telemetry import Logger

AGAIN_S = 1.0
CHECKED_EVERY_S = 30.0
ANSWERED_S = 5.0


class Listener:
    """Notifies the wake-ups of this process when the database sends a notification.

    It sends one to itself now and then. Behind a connection pooler that shares sessions
    this does not arrive: it logs so once, and workers rely on polling.
    """

    def __init__(self, pool: PostgresPool, log: Logger, name: str) -> None:
        self.checked_every_s = CHECKED_EVERY_S
        self.answered_s = ANSWERED_S
        self._pool = pool
        self._log = log
        self._own_call = f"check {name}"
        self._wakeups = Wakeups()
        self._user_wakeups = UserWakeups()
        self._answered = asyncio.Event()
        self._listening: asyncio.Task[None] | None = None
        self._warned = False

    def listen(self) -> EventWakeup:
        """A new wake-up; the first one starts the listening."""
        wakeup = self._wakeups.listen()
        self._begin()
        return wakeup

    def on_new_delivery(self, user: UserKey, callback: Callback) -> Callback:
        """Call when something is owed to a user; the answer ends it."""
        self._begin()
        return self._user_wakeups.listen(user, callback)

    async def close(self) -> None:
        """Listen no more."""
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
            self._listening = None

    def _begin(self) -> None:
        if self._listening is None:
            self._listening = asyncio.get_running_loop().create_task(self._listen())

    async def _listen(self) -> None:
        while True:
            try:
                await self._listen_once()
            except Unavailable as problem:
                self._warn(problem.message)
            await asyncio.sleep(AGAIN_S)

    async def _listen_once(self) -> None:
        connection = await self._pool.connect()
        lost = asyncio.Event()
        try:
            with translated_errors(self._pool.address):
                connection.add_termination_listener(lambda _: lost.set())
                await connection.add_listener(CHANNEL, self._heard)
            # Notifications may have been sent while there was no connection.
            self._wakeups.notify()
            self._user_wakeups.notify_all()
            while not await _within(self.checked_every_s, lost):
                await self._check()
        finally:
            connection.terminate()
        raise Unavailable(f"The connection to {self._pool.address} was lost.")

    async def _check(self) -> None:
        self._answered.clear()
        await self._pool.ask(NOTIFY, self._own_call)
        if await _within(self.answered_s, self._answered):
            self._warned = False
        else:
            self._warn(f"{self._pool.address} does not pass notifications on.")

    def _heard(self, _connection: Any, _pid: int, _channel: str, payload: object) -> None:
        if payload == self._own_call:
            self._answered.set()
        elif payload == WORKERS:
            self._wakeups.notify()
        elif isinstance(payload, str) and (user := notified_user(payload)) is not None:
            self._user_wakeups.notify([user])

    def _warn(self, problem: str) -> None:
        if not self._warned:
            self._warned = True
            self._log.warning("nudges are found by looking now and then", problem=problem)


async def _within(span_s: float, event: asyncio.Event) -> bool:
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), span_s)
    return event.is_set()


HEARD_S = 2.0


async def is_heard(pool: PostgresPool, call: str, *, within_s: float = HEARD_S) -> bool:
    """Does a call that nobody else makes get from one connection to another?

    Behind a pooler that hands sessions around, it does not.
    """
    heard = asyncio.Event()
    connection = await pool.connect()
    try:
        with translated_errors(pool.address):
            await connection.add_listener(CHANNEL, lambda *said: heard.set() if call in said else None)
        await pool.ask(NOTIFY, call)
        with suppress(TimeoutError):
            await asyncio.wait_for(heard.wait(), within_s)
    finally:
        connection.terminate()
    return heard.is_set()
