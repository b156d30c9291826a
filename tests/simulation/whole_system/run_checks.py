"""What must be true of endpoints and runs when faults are over and everything has come to rest."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from cadenza.domain.scheduling.baseline import Once
from cadenza.domain.scheduling.due import opens_at
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.plan import RunKind
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.domain.validation import milliseconds

OVERDUE_MS = 15_000
AGAIN = frozenset({RunStatus.FAILURE, RunStatus.TIMEOUT, RunStatus.ABANDONED, RunStatus.CANCELLED})
"""How an attempt may have ended that was not the last of its slot."""


class SeenRuns(NamedTuple):
    """What was seen of runs while they went on."""

    dispatched: Counter[str]
    closed: Mapping[str, Run]
    set_back_before: Mapping[str, int]
    """How often a clock had been set back when each was claimed."""


def run_violations(
    endpoint: Endpoint, runs: Sequence[Run], *, seen: SeenRuns, now: datetime
) -> Iterator[str]:
    """Everything that is wrong with one endpoint; runs come oldest first."""
    name = endpoint.id
    yield from (f"{name}: {words}" for words in _unended(endpoint, runs, now))
    by_slot: dict[datetime, list[Run]] = defaultdict(list)
    for run in runs:
        if run.kind is RunKind.SCHEDULED:
            by_slot[run.slot].append(run)
        if seen.dispatched[run.id] > 1:
            yield f"{name}: run {run.id} was dispatched {seen.dispatched[run.id]} times"
        if run.id in seen.closed and _plain(seen.closed[run.id]) != _plain(run):
            yield f"{name}: run {run.id} was changed after it was closed: {seen.closed[run.id]} is now {run}"
    for slot, of_moment in by_slot.items():
        for attempts in _slots_of(endpoint, of_moment, seen.set_back_before):
            words_of = _slot(endpoint, slot, attempts, seen.dispatched)
            yield from (f"{name} at {slot:%H:%M:%S.%f}: {words}" for words in words_of)


def _plain(run: Run) -> Run:
    return run._replace(response=None, traceback=None)


def _slots_of(endpoint: Endpoint, runs: Sequence[Run], set_back_before: Mapping[str, int]) -> list[list[Run]]:
    """The slots at one moment: a clock that is set back shows it again; what runs once has one slot."""
    order = {run_id: number for number, run_id in enumerate(set_back_before)}
    slots: list[list[Run]] = [[]]
    for run in sorted(runs, key=lambda run: order.get(run.id, len(order))):
        slot = slots[-1]
        is_over = any(one.verdict for one in slot) and not isinstance(endpoint.baseline, Once)
        if is_over and set_back_before.get(run.id, 0) > set_back_before.get(slot[0].id, 0):
            slots.append(slot := [])
        slot.append(run)
    return slots


def _unended(endpoint: Endpoint, runs: Sequence[Run], now: datetime) -> Iterator[str]:
    for run in runs:
        if run.status is None and (endpoint.lease is None or endpoint.lease.run_id != run.id):
            yield f"run {run.id} is open, and nobody has its lease"
    if endpoint.lease is not None and now > endpoint.lease.until:
        yield f"its lease ran out at {endpoint.lease.until}, and nobody swept it"
    due = opens_at(endpoint)
    if endpoint.lease is None and due is not None and now - due > milliseconds(OVERDUE_MS):
        yield f"it is due since {due}, and nobody runs it"


def _never_due(run: Run) -> bool:
    """Whether a claim was given back, or lost ahead of its moment; its slot may have been moved since."""
    lost_ahead = run.started_at is None and run.finished_at is not None and run.finished_at < run.slot
    return run.status is RunStatus.CANCELLED or (run.status is RunStatus.ABANDONED and lost_ahead)


def _slot(
    endpoint: Endpoint, slot: datetime, attempts: Sequence[Run], dispatched: Counter[str]
) -> Iterator[str]:
    verdicts = sum(run.verdict for run in attempts)
    is_open = (
        any(run.status is None for run in attempts)
        or (endpoint.open_slot is not None and endpoint.open_slot.slot == slot)
        or endpoint.next_run_at == slot
    )
    given_back = all(_never_due(run) and not dispatched[run.id] for run in attempts)
    told = [(run.status.value if run.status else "open", run.attempt, run.verdict) for run in attempts]
    if verdicts != 1 and not (verdicts == 0 and (is_open or given_back)):
        yield f"it has {verdicts} verdicts: {told}"
    ran = sorted((run for run in attempts if dispatched[run.id]), key=lambda run: run.attempt)
    for run in ran[:-1]:
        if run.status not in AGAIN:
            yield f"it ran again after {run.status}: {told}"
    if any(run.status is RunStatus.SUCCESS and not run.verdict for run in attempts):
        yield f"a success is not its verdict: {told}"
