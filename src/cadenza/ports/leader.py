"""A lock that lets one of several processes do some work, such as planning."""

from collections.abc import Callable, Coroutine
from typing import Any, Protocol

Work = Callable[[], Coroutine[Any, Any, None]]


class LeaderLock(Protocol):
    """Held by one process at a time, of all on one database; it is released when its process ends."""

    async def hold(self, work: Work) -> None:
        """Wait for the lock, and do the work while holding it; if it is lost, stop and wait again."""
        ...
