"""Events that others attach to."""

from collections.abc import Mapping
from typing import Protocol

Measurements = Mapping[str, float]
Metadata = Mapping[str, str | int | float | bool | None]


class Telemetry(Protocol):
    """Takes events; what listens to them never disturbs who emits them."""

    def emit(self, event: str, measurements: Measurements, metadata: Metadata) -> None:
        """Tell everyone attached; never raise, never wait."""
        ...
