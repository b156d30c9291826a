"""The one chair from which planners act."""

from collections.abc import Callable, Coroutine
from typing import Any, Protocol

Work = Callable[[], Coroutine[Any, Any, None]]


class Chair(Protocol):
    """Of all processes on one database, one sits in it at a time; it is free when its process is gone."""

    async def hold(self, work: Work) -> None:
        """Wait until it is free, and do work while sitting there; who loses it stops, and waits again."""
        ...
