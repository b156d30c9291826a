"""The clock on the wall."""

import asyncio
from datetime import UTC, datetime


class SystemClock:
    """The machine's own time."""

    def now(self) -> datetime:
        """The present moment, in UTC."""
        return datetime.now(UTC)

    async def sleep(self, span_ms: float) -> None:
        """Come back when that span has passed."""
        await asyncio.sleep(span_ms / 1_000)
