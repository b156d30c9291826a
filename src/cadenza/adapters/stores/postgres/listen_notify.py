"""LISTEN and NOTIFY: one connection that wakes all waiting loops of a store."""

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

RETRY_S = 1.0
CHECK_INTERVAL_S = 30.0
CHECK_TIMEOUT_S = 5.0


class NotificationListener:
    """Wakes loops of this process when PostgreSQL notifies it, and reconnects when the connection is lost.

    It regularly notifies itself as a check. Behind a pooler in transaction mode notifications do not
    arrive: that is logged once, and workers rely on polling.
    """

    def __init__(self, pool: PostgresPool, log: Logger, name: str) -> None:
        self.check_interval_s = CHECK_INTERVAL_S
        self.check_timeout_s = CHECK_TIMEOUT_S
        self._pool = pool
        self._log = log
        self._own_check = f"check {name}"
        self._wakeups = Wakeups()
        self._user_wakeups = UserWakeups()
        self._check_arrived = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._warned = False

    def listen(self) -> EventWakeup:
        """A new wake-up for one loop; the first one starts listening."""
        wakeup = self._wakeups.listen()
        self._start()
        return wakeup

    def on_new_delivery(self, user: UserKey, callback: Callback) -> Callback:
        """Call back when a delivery for a user is added; call the answer to unsubscribe."""
        self._start()
        return self._user_wakeups.listen(user, callback)

    async def close(self) -> None:
        """Stop listening."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    def _start(self) -> None:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._listen())

    async def _listen(self) -> None:
        while True:
            try:
                await self._listen_once()
            except Unavailable as problem:
                self._warn(problem.message)
            await asyncio.sleep(RETRY_S)

    async def _listen_once(self) -> None:
        connection = await self._pool.connect()
        lost = asyncio.Event()
        try:
            with translated_errors(self._pool.address):
                connection.add_termination_listener(lambda _: lost.set())
                await connection.add_listener(CHANNEL, self._notified)
            # Notifications may have been missed while the connection was down.
            self._wakeups.notify()
            self._user_wakeups.notify_all()
            while not await _within(self.check_interval_s, lost):
                await self._check()
        finally:
            connection.terminate()
        raise Unavailable(f"The connection to {self._pool.address} was lost.")

    async def _check(self) -> None:
        self._check_arrived.clear()
        await self._pool.ask(NOTIFY, self._own_check)
        if await _within(self.check_timeout_s, self._check_arrived):
            self._warned = False
        else:
            self._warn(f"{self._pool.address} does not pass notifications on.")

    def _notified(self, _connection: Any, _pid: int, _channel: str, payload: object) -> None:
        if payload == self._own_check:
            self._check_arrived.set()
        elif payload == WORKERS:
            self._wakeups.notify()
        elif isinstance(payload, str) and (user := notified_user(payload)) is not None:
            self._user_wakeups.notify([user])

    def _warn(self, problem: str) -> None:
        if not self._warned:
            self._warned = True
            self._log.warning("notifications do not arrive; nudges are found by polling", problem=problem)


async def _within(span_s: float, event: asyncio.Event) -> bool:
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), span_s)
    return event.is_set()


ARRIVAL_TIMEOUT_S = 2.0


async def notifications_arrive(
    pool: PostgresPool, payload: str, *, within_s: float = ARRIVAL_TIMEOUT_S
) -> bool:
    """Does a notification with this unique payload get from one connection to another?

    Behind a pooler in transaction mode it does not.
    """
    arrived = asyncio.Event()

    def received(*call: Any) -> None:
        if payload in call:
            arrived.set()

    connection = await pool.connect()
    try:
        with translated_errors(pool.address):
            await connection.add_listener(CHANNEL, received)
        await pool.ask(NOTIFY, payload)
        with suppress(TimeoutError):
            await asyncio.wait_for(arrived.wait(), within_s)
    finally:
        connection.terminate()
    return arrived.is_set()
