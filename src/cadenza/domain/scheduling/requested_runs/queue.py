"""What an endpoint was asked for: slots to run beside its schedule, and a run to cancel."""

from datetime import datetime
from typing import NamedTuple

from cadenza.domain.scheduling.plan import RunKind, Source, kind_of

MOST_WAITING = 1_000
"""How many requested runs of one endpoint may wait; they are a part of its row."""


class RunRequest(NamedTuple):
    """A slot to run beside the schedule, who asked for it, and why."""

    slot: datetime
    attempt: int
    """The number of the attempt at the slot that this run will be."""
    source: Source
    """`rerun` or `backfill`."""
    origin: str
    reason: str | None = None

    @property
    def kind(self) -> RunKind:
        """Whether a slot is run again or backfilled."""
        return kind_of(self.source)


class RequestQueue(NamedTuple):
    """The requested runs of an endpoint, in the order in which they run; never empty."""

    waiting: tuple[RunRequest, ...]
    """The one in flight is among them until it has ended."""
    since: datetime
    """Since when the first waits: it was asked for then, or the requested run before it ended."""
    in_flight: datetime | None = None
    """The slot of the one that holds the endpoint's lease."""

    def of_slot(self, slot: datetime) -> RunRequest | None:
        """The request of a slot; there is at most one."""
        return next((one for one in self.waiting if one.slot == slot), None)

    def without(self, slot: datetime) -> tuple[RunRequest, ...]:
        """All others."""
        return tuple(one for one in self.waiting if one.slot != slot)


class CancelRequest(NamedTuple):
    """A run in flight that is to be cancelled, who wants that, and why."""

    run_id: str
    origin: str
    asked_at: datetime
    reason: str | None = None
