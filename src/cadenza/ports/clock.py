"""Time."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """The only source of the present."""

    def now(self) -> datetime:
        """The present moment, in UTC."""
        ...

    async def sleep(self, span_ms: float) -> None:
        """Come back when that span has passed."""
        ...
