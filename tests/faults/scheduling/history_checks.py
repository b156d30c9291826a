"""What must be true of a database after workers were killed."""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime

from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.run import Run, RunStatus

History = dict[str, tuple[Endpoint, list[Run]]]
RETRIED = (RunStatus.FAILURE, RunStatus.TIMEOUT)


def report(found: History, **faults: int) -> None:
    """Print what happened to how much."""
    runs = [run for _, of_endpoint in found.values() for run in of_endpoint]
    figures = faults | {
        "slots": len({(run.endpoint_id, run.slot) for run in runs}),
        "runs": len(runs),
        "lost and run again": sum(run.status is RunStatus.ABANDONED for run in runs),
        "paused": sum(endpoint.pause_reason is not None for endpoint, _ in found.values()),
    }
    sys.stdout.write(", ".join(f"{count} {name}" for name, count in figures.items()) + "\n")


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
            yield from _slot(f"{name} at {slot}", endpoint, attempts, seen=seen)


def _slot(name: str, endpoint: Endpoint, attempts: list[Run], *, seen: Counter[str]) -> Iterator[str]:
    """One verdict, unless nothing was begun or the endpoint was deleted; no second dispatch in silence."""
    given_back = all(run.status is RunStatus.CANCELLED for run in attempts)
    verdicts = sum(run.verdict for run in attempts)
    if verdicts > 1 or (verdicts == 0 and not given_back and not endpoint.archived):
        yield f"{name}: {[(run.status, run.verdict) for run in attempts]}"
    for run in [run for run in attempts if seen[run.id]][:-1]:
        marked = run.status in (RunStatus.ABANDONED, RunStatus.CANCELLED) and run.started_at is not None
        retried = run.status in RETRIED and not run.verdict and endpoint.policy.max_attempts > 1
        if not marked and not retried:
            yield f"{name}: ran again after {run.status}"
