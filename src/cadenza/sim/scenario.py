"""A scenario: a world, the endpoints that watch it, and the policies that steer them."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Generic, NamedTuple

from cadenza.sim.steered_endpoint import SteeredEndpoint
from cadenza.sim.world import Sample, World

DORMANT_UNTIL = datetime(2099, 1, 1, tzinfo=UTC)

SteeringPolicy = Callable[[SteeredEndpoint[Sample]], Awaitable[None]]
Value = int | str | bool | None
Row = dict[str, Value]
Observe = Callable[[Mapping[str, SteeredEndpoint[Sample]]], Awaitable[Row]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedEndpoint:
    """An endpoint as a scenario's table describes it; seconds."""

    name: str
    tier: str
    baseline_s: int
    min_s: int
    max_s: int | None = None
    dormant: bool = False
    """Whether it starts out paused; the others are due at once."""
    measures: bool = True
    """Whether its runs take a sample."""
    pauses_itself: bool = False
    """Whether its own run asks for a pause when it is done."""


class SnapshotColumn(NamedTuple):
    """A column of the snapshots, and the unit its values are shown with."""

    name: str
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario(Generic[Sample]):
    """Everything that a simulation needs."""

    name: str
    world: World[Sample]
    endpoints: tuple[SimulatedEndpoint, ...]
    """In the order of their creation, which breaks ties."""
    policies: Mapping[str, SteeringPolicy[Sample]]
    """By the endpoint they steer, in the order in which they plan."""
    on_run: Mapping[str, SteeringPolicy[Sample]] = field(default_factory=dict)
    """What an endpoint's own runs ask for, after they have measured; the prototype ignores it."""
    columns: tuple[SnapshotColumn, ...]
    observe: Observe[Sample]
    """What a snapshot shows beside its minute."""
    run_ms: int
    """How long a run says that it took."""
