"""How days of users are forgotten: a few at a time, so that nobody waits long."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from datetime import date
from functools import partial

AT_ONCE = 2_000
"""So many in one commit."""


class DayForgetting(ABC):
    """Forgets gaps and then, tenant by tenant, verdicts; each database has its own statements for it."""

    async def forget_days(self, before: date) -> int:
        old = before.isoformat()
        gone = await _all(partial(self._forget_gaps, old))
        tenant_id = await self._tenant_after("")
        while tenant_id is not None:
            gone += await _all(partial(self._forget_verdicts, tenant_id, old))
            tenant_id = await self._tenant_after(tenant_id)
        return gone

    @abstractmethod
    async def _forget_gaps(self, before: str, limit: int) -> int:
        """Forget some that ended before a date; how many."""

    @abstractmethod
    async def _forget_verdicts(self, tenant_id: str, before: str, limit: int) -> int:
        """Forget some of a tenant's days before a date; how many."""

    @abstractmethod
    async def _tenant_after(self, tenant_id: str) -> str | None:
        """The next tenant that has verdicts."""


async def _all(forget: Callable[[int], Awaitable[int]]) -> int:
    gone = 0
    while (now := await forget(AT_ONCE)) == AT_ONCE:
        gone += now
    return gone + now
