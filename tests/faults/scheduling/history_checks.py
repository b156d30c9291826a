"""What must be true of a database after workers were killed."""

import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from datetime import datetime

from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.plan import RunKind
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
            if run.kind is RunKind.SCHEDULED:
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


Asked = Counter[tuple[str, datetime]]
"""How often a slot of an endpoint was asked for, as was acknowledged."""
ENDED = frozenset({RunStatus.SUCCESS, RunStatus.FAILURE, RunStatus.TIMEOUT})
BECAUSE_ASKED = ("cancelled by ", "its endpoint was deleted")


def request_violations(found: History, asked: Asked) -> Iterator[str]:
    """Requested runs are no verdicts, and each request ends in one last run, unless its endpoint is deleted.

    A rerun is of a slot that the schedule is through with, so that slot has its verdict.
    """
    for name, (endpoint, runs) in found.items():
        requested: dict[datetime, list[Run]] = defaultdict(list)
        scheduled: dict[datetime, list[Run]] = defaultdict(list)
        for run in runs:
            (scheduled if run.kind is RunKind.SCHEDULED else requested)[run.slot].append(run)
        for slot in sorted(requested.keys() | {slot for one, slot in asked if one == name}):
            last, times = sum(map(is_last, requested[slot])), asked[name, slot]
            told = [(run.kind.value, run.status, run.attempt, run.reason) for run in requested[slot]]
            if last > times or (last < times and not endpoint.archived):
                yield f"{name} at {slot}: {times} requests ended in {last} runs: {told}"
            if any(run.verdict for run in requested[slot]):
                yield f"{name} at {slot}: a requested run is a verdict: {told}"
            if scheduled[slot] and not any(run.verdict for run in scheduled[slot]) and not endpoint.archived:
                yield f"{name} at {slot}: it was asked for again, and has no verdict"
            attempts = [run.attempt for run in runs if run.slot == slot and run.started_at is not None]
            if len(attempts) > len(set(attempts)):
                yield f"{name} at {slot}: attempts have the same number: {sorted(attempts)}"


def is_last(run: Run) -> bool:
    """Has this run of a request ended it?"""
    because_asked = run.status is RunStatus.CANCELLED and (run.reason or "").startswith(BECAUSE_ASKED)
    return run.status in ENDED or because_asked


def cancel_violations(found: History, cancelled: Collection[str]) -> Iterator[str]:
    """A run that was cancelled ended so, with the words of who did it, or by itself before; it is over."""
    rows = {run.id: run for _, runs in found.values() for run in runs}
    for run_id in cancelled:
        run = rows[run_id]
        if not is_last(run):
            yield f"run {run_id} was cancelled, and ended as {run.status}: {run.reason}"
        if run.kind is RunKind.SCHEDULED and not run.verdict:
            yield f"run {run_id} was cancelled, and its slot goes on"
