"""Ports that nobody needs: no quota, no telemetry, no log."""

from collections.abc import Sequence

from cadenza.ports.access import QuotaAnswer, QuotaRequest
from cadenza.ports.telemetry import Measurements, Metadata


class NoQuota:
    """Everything is allowed."""

    async def check(self, requests: Sequence[QuotaRequest]) -> list[QuotaAnswer]:
        """Yes to all."""
        return [QuotaAnswer()] * len(requests)


class NoTelemetry:
    """Nobody listens."""

    def emit(self, event: str, measurements: Measurements, metadata: Metadata) -> None:
        """Let it pass."""


class NoLog:
    """Nobody reads."""

    verbose = False

    def debug(self, event: str, **facts: object) -> None:
        """Let it pass."""

    def info(self, event: str, **facts: object) -> None:
        """Let it pass."""

    def warning(self, event: str, **facts: object) -> None:
        """Let it pass."""
