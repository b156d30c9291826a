"""Which runs a tenant is charged for."""

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import NamedTuple

from cadenza.domain.access.tenant import month_of
from cadenza.domain.scheduling.run import RunStatus
from cadenza.domain.scheduling.settle import Settled

CHARGED = (RunStatus.SUCCESS, RunStatus.FAILURE, RunStatus.TIMEOUT, RunStatus.ABANDONED)
"""No set: to find a member in one takes as long as all the rest."""


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
    counts = Counter(
        (run.tenant_id, ended.year, ended.month)
        for run in (one.run for one in settled)
        if run.started_at is not None and (ended := run.finished_at) is not None and run.status in CHARGED
    )
    return [
        Charge(tenant_id, month_of(datetime(year, month, 1, tzinfo=UTC)), runs)
        for (tenant_id, year, month), runs in sorted(counts.items())
    ]
