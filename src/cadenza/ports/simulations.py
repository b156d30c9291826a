"""Scenarios that can be played, and what came of them."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

Value = int | str | bool | None


class SimulatedPhase(NamedTuple):
    """A stretch of the world, in seconds from the start."""

    name: str
    begin_s: int
    end_s: int


class SimulatedLane(NamedTuple):
    """An endpoint of a scenario; seconds."""

    name: str
    tier: str
    baseline_s: int
    min_s: int
    max_s: int | None


class SimulatedRun(NamedTuple):
    """A run, and what set its moment."""

    second: int
    lane: str
    cause: str


class SimulatedSteering(NamedTuple):
    """A hint, a pause or a resume."""

    second: int
    lane: str
    kind: str
    interval_s: int | None
    at_s: int | None
    """The moment that a one-shot asks for."""
    until_s: int | None
    """When it ends; None if that is beyond the simulation."""


class SimulatedCheck(NamedTuple):
    """Something that must hold, and whether it does."""

    name: str
    passed: bool
    detail: str


class SimulatedCourse(NamedTuple):
    """What happened under one set of rules."""

    mode: str
    runs: tuple[SimulatedRun, ...]
    steering: tuple[SimulatedSteering, ...]
    minutes: tuple[Mapping[str, Value], ...]
    """What was known of the world at the end of each."""
    checks: tuple[SimulatedCheck, ...]


class Simulated(NamedTuple):
    """A scenario, played by the product's rules and by the published ones."""

    scenario: str
    minutes: int
    phases: tuple[SimulatedPhase, ...]
    lanes: tuple[SimulatedLane, ...]
    units: Mapping[str, str]
    """The values of a minute, each with its unit."""
    corrected: SimulatedCourse
    as_published: SimulatedCourse


class Simulations(Protocol):
    """Plays scenarios."""

    @property
    def names(self) -> tuple[str, ...]:
        """The scenarios there are."""
        ...

    async def played(self, name: str) -> Simulated:
        """A scenario of `names`, played both ways; the loop goes on meanwhile."""
        ...
