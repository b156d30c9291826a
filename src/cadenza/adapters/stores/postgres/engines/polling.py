"""Wake-ups without notifications: those of this process at once, those of others by polling."""

import asyncio

from cadenza.adapters.stores.postgres.listen_notify import WakeupsByNotification
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.sql.given_rows import columns_of
from cadenza.domain.agents.users import UserKey
from cadenza.domain.errors import Unavailable

POLL_S = 1.0
OWED = """
SELECT p.tenant_id, p.user_id, max(p.seq) FROM unnest($1::text[], $2::text[]) AS k (tenant_id, user_id)
JOIN pending_messages p ON p.tenant_id = k.tenant_id AND p.user_id = k.user_id
WHERE NOT p.delivered GROUP BY p.tenant_id, p.user_id
"""


class PollingListener(WakeupsByNotification):
    """Wakes the loops of this process for its own commits, and all of them now and then.

    Users whose sockets wait are called when more is owed to them than before; whoever waits for a turn
    of an agent is called now and then, and looks for itself.
    """

    def __init__(self, pool: PostgresPool, poll_s: float = POLL_S) -> None:
        super().__init__()
        self._pool = pool
        self._poll_s = poll_s
        self._task: asyncio.Task[None] | None = None
        self._owed: dict[UserKey, int] = {}
        """Up to which message each user was called."""

    def start(self) -> None:
        """Poll from now on; safe to call again."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._poll())

    async def close(self) -> None:
        """Poll no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(self._poll_s)
            self.key_removals += 1
            self._wakeups.notify()
            self._turn_wakeups.notify_all()
            if users := self._user_wakeups.users:
                await self._call(users)

    async def _call(self, users: list[UserKey]) -> None:
        """Call users to whom more is owed; while the database does not answer, nobody."""
        try:
            rows = await self._pool.read(OWED, *columns_of(users))
        except Unavailable:
            return
        owed = {UserKey(row[0], row[1]): row[2] for row in rows}
        self._user_wakeups.notify([user for user, seq in owed.items() if seq > self._owed.get(user, 0)])
        self._owed = owed
