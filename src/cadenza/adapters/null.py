"""Adapters that do nothing: no quota, no telemetry, no log."""

from collections.abc import Sequence

from cadenza.ports.access import QuotaAnswer, QuotaRequest
from cadenza.ports.telemetry import Measurements, Metadata


class NoQuota:
    """A quota that allows everything."""

    async def check(self, requests: Sequence[QuotaRequest]) -> list[QuotaAnswer]:
        """Allow all."""
        return [QuotaAnswer()] * len(requests)


class NoTelemetry:
    """Telemetry without handlers."""

    def emit(self, event: str, measurements: Measurements, metadata: Metadata) -> None:
        """Do nothing."""


class NoLog:
    """A log that is dropped."""

    verbose = False

    def debug(self, event: str, **facts: object) -> None:
        """Do nothing."""

    def info(self, event: str, **facts: object) -> None:
        """Do nothing."""

    def warning(self, event: str, **facts: object) -> None:
        """Do nothing."""

    def error(self, event: str, **facts: object) -> None:
        """Do nothing."""
