"""Which runs a tenant is charged for."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import NamedTuple

from cadenza.domain.run import RunStatus
from cadenza.domain.settle import Settled
from cadenza.domain.tenant import month_of

CHARGED = frozenset({RunStatus.SUCCESS, RunStatus.FAILURE, RunStatus.TIMEOUT, RunStatus.ABANDONED})


class Charge(NamedTuple):
    """How many runs a tenant is charged for in a month."""

    tenant_id: str
    month: str
    runs: int


def charges(settled: Iterable[Settled]) -> list[Charge]:
    """Charge every run that was dispatched to the month in which it ended; by tenant and month, in order.

    What was cancelled or skipped costs nothing, and neither does a claim that was
    abandoned before it started.
    """
    counts: dict[tuple[str, int, int], int] = {}
    for _, run, _ in settled:
        ended = run.finished_at
        if run.started_at is not None and ended is not None and run.status in CHARGED:
            charged = (run.tenant_id, ended.year, ended.month)
            counts[charged] = counts.get(charged, 0) + 1
    return [
        Charge(tenant_id, month_of(datetime(year, month, 1, tzinfo=UTC)), runs)
        for (tenant_id, year, month), runs in sorted(counts.items())
    ]
