"""A world that moves through phases, and the samples that runs take of it."""

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, NamedTuple, TypeVar

from cadenza.testing.clock import NEW_YEAR

START = NEW_YEAR
MINUTES = 40
MINUTE_S = 60
END_S = MINUTES * MINUTE_S
"""The last second that is simulated."""

Sample = TypeVar("Sample")


class Phase(NamedTuple, Generic[Sample]):
    """A stretch of minutes with the same values; it lasts until the next phase begins."""

    name: str
    first_minute: int
    sample: Sample

    @property
    def start_s(self) -> int:
        """Seconds from the start of the simulation."""
        return self.first_minute * MINUTE_S


@dataclass(frozen=True, slots=True)
class World(Generic[Sample]):
    """The phases, in their order."""

    phases: tuple[Phase[Sample], ...]

    def phase(self, minute: int) -> Phase[Sample]:
        """The phase of a minute; the last one goes on for ever."""
        return [phase for phase in self.phases if phase.first_minute <= minute][-1]

    def sample(self, now: datetime) -> Sample:
        """What a run measures at a moment."""
        return self.phase(elapsed_s(now) // MINUTE_S).sample

    def span_s(self, first: str, last: str | None = None) -> tuple[int, int]:
        """When a phase begins and when it, or a later one, ends, in seconds from the start."""
        names = [phase.name for phase in self.phases]
        following = names.index(last or first) + 1
        end_s = self.phases[following].start_s if following < len(names) else END_S
        return self.phases[names.index(first)].start_s, end_s


class Measured(NamedTuple, Generic[Sample]):
    """A sample and when it was taken."""

    at: datetime
    sample: Sample


class MeasuredSeries(Generic[Sample]):
    """What was measured: by each endpoint, and by all together."""

    def __init__(self) -> None:
        self.shared: list[Measured[Sample]] = []
        self._own: dict[str, list[Measured[Sample]]] = defaultdict(list)

    def add(self, name: str, measured: Measured[Sample]) -> None:
        """Keep a sample under its endpoint and in the shared series."""
        self._own[name].append(measured)
        self.shared.append(measured)

    def own(self, name: str) -> list[Measured[Sample]]:
        """What one endpoint measured, oldest first."""
        return self._own[name]


def elapsed_s(moment: datetime) -> int:
    """Whole seconds from the start of the simulation."""
    return (moment - START) // timedelta(seconds=1)
