"""What must be true of a database after workers were killed."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime

from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.run import Run, RunStatus

History = dict[str, tuple[Endpoint, list[Run]]]


def violations(found: History, seen: Counter[str]) -> Iterator[str]:
    rows = {run.id: run for _, runs in found.values() for run in runs}
    yield from (f"run {run_id} was dispatched and has no row" for run_id in seen if run_id not in rows)
    yield from (f"run {run_id} was dispatched {times} times" for run_id, times in seen.items() if times > 1)
    for name, (endpoint, runs) in found.items():
        if endpoint.lease is not None:
            yield f"{name}: it is still leased"
        by_slot: dict[datetime, list[Run]] = defaultdict(list)
        for run in runs:
            by_slot[run.slot].append(run)
        for slot, attempts in by_slot.items():
            yield from _slot(f"{name} at {slot}", attempts, seen)


def _slot(name: str, attempts: list[Run], seen: Counter[str]) -> Iterator[str]:
    given_back = all(run.status is RunStatus.CANCELLED for run in attempts)
    if sum(run.verdict for run in attempts) != 1 and not given_back:
        yield f"{name}: {[(run.status, run.verdict) for run in attempts]}"
    for run in [run for run in attempts if seen[run.id]][:-1]:
        marked = run.status in (RunStatus.ABANDONED, RunStatus.CANCELLED) and run.started_at is not None
        if not marked:
            yield f"{name}: ran again after {run.status}"
