"""LISTEN and NOTIFY: one connection that wakes all waiting loops of a store."""

import asyncio
from contextlib import suppress
from typing import Any

import asyncpg

from cadenza.adapters.stores.postgres.errors import translated_errors
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.sql.agents.agent_turns import notified_turn
from cadenza.adapters.stores.sql.agents.turns import notified_user
from cadenza.adapters.stores.sql.database import CHANNEL, KEYS, NOTIFY, tenant_with_due
from cadenza.adapters.stores.wakeup import EventWakeup, TurnWakeups, UserWakeups, Wakeups
from cadenza.domain.agents.users import UserKey
from cadenza.domain.errors import Unavailable
from cadenza.ports.agents import Callback
from cadenza.ports.telemetry import Logger

RETRY_S = 1.0
CHECK_INTERVAL_S = 30.0
CHECK_TIMEOUT_S = 5.0


class WakeupsByNotification:
    """The wake-ups of a store's loops, and what a notification says to them."""

    def __init__(self) -> None:
        self._wakeups = Wakeups()
        self._user_wakeups = UserWakeups()
        self._turn_wakeups = TurnWakeups()
        self.hears = False
        """Whether notifications were seen to arrive on the connection that listens now."""
        self.key_removals = 0
        """How often keys may have been deleted."""

    def listen(self) -> EventWakeup:
        """A new wake-up for one loop; the first one starts listening."""
        wakeup = self._wakeups.listen()
        self.start()
        return wakeup

    def on_new_delivery(self, user: UserKey, callback: Callback) -> Callback:
        """Call back when a delivery for a user is added; call the answer to unsubscribe."""
        self.start()
        return self._user_wakeups.listen(user, callback)

    def on_turn_change(self, topic: str, callback: Callback) -> Callback:
        """Call back when something is notified about a turn or the turns of an agent."""
        self.start()
        return self._turn_wakeups.listen(topic, callback)

    def start(self) -> None:
        """Listen from now on; safe to call again."""

    async def close(self) -> None:
        """Stop listening."""

    def wake_all(self) -> None:
        """Wake all loops: notifications may have been missed."""
        self.key_removals += 1
        self._wakeups.notify()
        self._user_wakeups.notify_all()
        self._turn_wakeups.notify_all()

    def notified(self, payload: object) -> None:
        """Wake those whom a notification is about."""
        if payload == KEYS:
            self.key_removals += 1
        elif not isinstance(payload, str):
            return
        elif (tenant_id := tenant_with_due(payload)) is not None:
            self._wakeups.notify([tenant_id])
        elif (user := notified_user(payload)) is not None:
            self._user_wakeups.notify([user])
        elif (topic := notified_turn(payload)) is not None:
            self._turn_wakeups.notify([topic])


class NotificationListener(WakeupsByNotification):
    """Wakes loops of this process when PostgreSQL notifies it, and reconnects when the connection is lost.

    It regularly notifies itself as a check, and reconnects when that does not arrive any more, or when the
    connection does not answer either, as it may be one to a server that is gone. Behind a pooler in
    transaction mode notifications do not arrive: that is logged once, and workers rely on polling.
    """

    def __init__(self, pool: PostgresPool, log: Logger, name: str) -> None:
        super().__init__()
        self.check_interval_s = CHECK_INTERVAL_S
        self.check_timeout_s = CHECK_TIMEOUT_S
        self._pool = pool
        self._log = log
        self._own_check = f"check {name}"
        self._check_arrived = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._warned = False

    async def close(self) -> None:
        """Stop listening."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    def start(self) -> None:
        """Listen from now on; safe to call again."""
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
            self.wake_all()
            while await self._is_of_use(connection) and not await _within(self.check_interval_s, lost):
                pass
        finally:
            self.hears = False
            connection.terminate()
        raise Unavailable(f"The connection to {self._pool.address} was lost.")

    async def _is_of_use(self, connection: "asyncpg.Connection[asyncpg.Record]") -> bool:
        """Whether notifications arrive on this connection, or never did although it answers."""
        heard = self.hears
        await self._check()
        if heard or self.hears:
            return self.hears
        with translated_errors(self._pool.address):
            await connection.execute("SELECT 1", timeout=self.check_timeout_s)
        return True

    async def _check(self) -> None:
        self._check_arrived.clear()
        await self._pool.ask(NOTIFY, self._own_check)
        self.hears = await _within(self.check_timeout_s, self._check_arrived)
        if self.hears:
            self._warned = False
        else:
            self._warn(f"{self._pool.address} does not pass notifications on.")

    def _notified(self, _connection: Any, _pid: int, _channel: str, payload: object) -> None:
        if payload == self._own_check:
            self._check_arrived.set()
        else:
            self.notified(payload)

    def _warn(self, problem: str) -> None:
        if not self._warned:
            self._warned = True
            self._log.warning("notifications do not arrive; polling instead", problem=problem)


async def _within(span_s: float, event: asyncio.Event) -> bool:
    with suppress(TimeoutError):
        async with asyncio.timeout(span_s):
            await event.wait()
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
        return await _within(within_s, arrived)
    finally:
        connection.terminate()
