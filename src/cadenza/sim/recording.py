"""What happened in a simulation."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, NamedTuple

from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.domain.scheduling.steer import HintRecord
from cadenza.sim.scenario import Row, Scenario
from cadenza.sim.world import elapsed_s


class RecordedRun(NamedTuple):
    """One run, in the order of the runs."""

    at: datetime
    endpoint: str
    source: Source
    """The governor's answer after the run."""
    next_run_at: datetime | None
    cause: Source | None = None
    """What set the moment it ran for; the published rules do not say."""


class DueSlot(NamedTuple):
    """A moment at which an endpoint came due."""

    endpoint: str
    slot: datetime


class Snapshot(NamedTuple):
    """The world at the end of a minute, as far as it was measured."""

    minute: int
    phase: str
    sample_age: timedelta
    row: Row


class Gap(NamedTuple):
    """The time between two runs of one endpoint, in seconds from the start."""

    start: int
    end: int

    @property
    def length(self) -> int:
        """Its seconds."""
        return self.end - self.start


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreHistory:
    """What the store holds in the end; the published rules keep none but the hints."""

    due: tuple[DueSlot, ...] = ()
    rows: tuple[Run, ...] = ()
    endpoints: Mapping[str, Endpoint] = field(default_factory=dict)
    hints: Mapping[str, tuple[HintRecord, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """Runs and snapshots in their order, and the history behind them."""

    scenario: Scenario[Any]
    ended_at: datetime
    runs: tuple[RecordedRun, ...]
    snapshots: tuple[Snapshot, ...]
    history: StoreHistory = field(default_factory=StoreHistory)

    def count(self, *names: str) -> int:
        """How many runs these endpoints had."""
        return sum(run.endpoint in names for run in self.runs)

    def times(self, name: str) -> list[int]:
        """When an endpoint ran, in seconds from the start."""
        return [elapsed_s(run.at) for run in self.runs if run.endpoint == name]

    def gaps(self, name: str) -> list[Gap]:
        """The times between its runs."""
        return [Gap(before, after) for before, after in pairwise(self.times(name))]

    def counts(self) -> dict[str, int]:
        """Runs by endpoint, in the order of creation."""
        return {endpoint.name: self.count(endpoint.name) for endpoint in self.scenario.endpoints}

    def tiers(self) -> dict[str, int]:
        """Runs by tier."""
        totals: Counter[str] = Counter()
        for endpoint in self.scenario.endpoints:
            totals[endpoint.tier] += self.count(endpoint.name)
        return dict(totals)

    def sources(self) -> dict[str, int]:
        """Runs by the governor's answer after them."""
        return _tally(self.runs, lambda run: run.source)

    def causes(self) -> dict[str, int]:
        """Runs by what set the moment they ran for."""
        return _tally(self.runs, lambda run: run.cause)

    def skipped(self) -> list[Run]:
        """The slots that passed without a run, by their moments."""
        rows = [row for row in self.history.rows if row.status is RunStatus.SKIPPED]
        return sorted(rows, key=lambda row: (row.slot, row.endpoint_id))

    def order(self) -> list[str]:
        """The endpoints' names in the order of their runs."""
        return [run.endpoint for run in self.runs]


def _tally(runs: Iterable[RecordedRun], source: Callable[[RecordedRun], Source | None]) -> dict[str, int]:
    found = Counter(str(given) for run in runs if (given := source(run)) is not None)
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))
