"""Telemetry and log lines that a test can read back."""

from typing import NamedTuple

from cadenza.ports.telemetry import Measurements, Metadata


class Event(NamedTuple):
    """An event that was emitted."""

    name: str
    measurements: Measurements
    metadata: Metadata


class FakeTelemetry:
    """Keeps every event."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def emit(self, event: str, measurements: Measurements, metadata: Metadata) -> None:
        """Keep it."""
        self.events.append(Event(event, measurements, metadata))


class Line(NamedTuple):
    """A line that was logged."""

    level: str
    event: str
    facts: dict[str, object]


class FakeLog:
    """Keeps every line, debug included."""

    def __init__(self) -> None:
        self.lines: list[Line] = []

    @property
    def verbose(self) -> bool:
        """Always."""
        return True

    def debug(self, event: str, **facts: object) -> None:
        """Keep a detail."""
        self.lines.append(Line("debug", event, facts))

    def info(self, event: str, **facts: object) -> None:
        """Keep a fact."""
        self.lines.append(Line("info", event, facts))

    def warning(self, event: str, **facts: object) -> None:
        """Keep a warning."""
        self.lines.append(Line("warning", event, facts))

    def events(self, level: str | None = None) -> list[str]:
        """The texts of the lines, in order."""
        return [line.event for line in self.lines if level in (None, line.level)]
