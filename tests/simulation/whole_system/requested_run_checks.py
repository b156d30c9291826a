"""How requested runs count: each request that was taken ends in one run, and none is a verdict.

A slot has one verdict, of a run of its schedule. A rerun is a further run of a slot that has its verdict; a
backfilled slot never came due, and has none. Each request ends in exactly one last run: one that ended by
itself, or one that was cancelled because that was asked for or because its endpoint was deleted. What is in
flight when its endpoint is deleted ends as it ends, and does not come back.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from tests.simulation.whole_system.actions import MODEL, Request

from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.domain.scheduling.plan import RunKind, Source
from cadenza.domain.scheduling.requested_runs.queue import RequestQueue
from cadenza.domain.scheduling.run import Run, RunStatus

ENDED = frozenset({RunStatus.SUCCESS, RunStatus.FAILURE, RunStatus.TIMEOUT})
BECAUSE_ASKED = ("cancelled by ", "its endpoint was deleted")
Place = tuple[EndpointKey, datetime]
"""An endpoint, and a slot that is asked for."""


class RequestedRuns:
    """What was asked for beside the schedules, by the commits that took it."""

    def __init__(self) -> None:
        self.taken: Counter[Place] = Counter()
        self.in_flight_at_deletion: set[Place] = set()
        self.waiting: set[Place] = set()

    def note_change(self, before: Endpoint, after: Endpoint) -> None:
        """An endpoint was changed: requests came, or are gone."""
        key, old, new = after.key, _slots(before.requested), _slots(after.requested)
        self.taken.update((key, slot) for slot in new - old)
        self.waiting -= {(key, slot) for slot in old - new}
        self.waiting |= {(key, slot) for slot in new}
        flying = None if before.requested is None else before.requested.in_flight
        if after.archived and not before.archived and flying is not None:
            self.in_flight_at_deletion.add((key, flying))


def _slots(queue: RequestQueue | None) -> set[datetime]:
    return set() if queue is None else {one.slot for one in queue.waiting}


def is_last(run: Run) -> bool:
    """Has this run of a request ended it?"""
    asked = run.status is RunStatus.CANCELLED and (run.reason or "").startswith(BECAUSE_ASKED)
    return run.status in ENDED or asked


def request_run_violations(
    endpoint: Endpoint, runs: Sequence[Run], requests: RequestedRuns, *, set_back_before: Mapping[str, int]
) -> Iterator[str]:
    """What is wrong with the requested runs of an endpoint; runs come oldest first."""
    by_slot: dict[datetime, list[Run]] = defaultdict(list)
    for run in runs:
        by_slot[run.slot].append(run)
        if run.kind is not RunKind.SCHEDULED and run.verdict:
            yield f"run {run.id} was requested, and is a verdict"
    taken = {slot for key, slot in requests.taken if key == endpoint.key}
    for slot in sorted(taken | by_slot.keys()):
        of_slot = _slot(endpoint, slot, by_slot[slot], requests)
        yield from (f"{slot:%H:%M:%S.%f}: {words}" for words in of_slot)
        yield from _attempts(by_slot[slot], set_back_before)


def _slot(endpoint: Endpoint, slot: datetime, runs: Sequence[Run], requests: RequestedRuns) -> Iterator[str]:
    place = (endpoint.key, slot)
    asked = [run for run in runs if run.kind is not RunKind.SCHEDULED]
    last, waits = sum(map(is_last, asked)), slot in _slots(endpoint.requested) and not endpoint.archived
    taken, lost = requests.taken[place], place in requests.in_flight_at_deletion
    told = [(run.kind.value, run.status and run.status.value, run.attempt, run.reason) for run in asked]
    if not taken - lost <= last + waits <= taken:
        yield f"{taken} requests ended in {last} runs, and {int(waits)} waits: {told}"
    if any(run.kind is RunKind.RERUN for run in runs) and not _may_run_again(runs):
        yield f"it is run again before it has a verdict: {told}"


def _may_run_again(runs: Sequence[Run]) -> bool:
    """Its schedule is through with it, or never had it."""
    scheduled = [run for run in runs if run.kind is RunKind.SCHEDULED]
    return any(run.verdict for run in scheduled) or all(_was_given_back(run) for run in scheduled)


def _was_given_back(run: Run) -> bool:
    return run.started_at is None or run.status in (RunStatus.CANCELLED, RunStatus.ABANDONED)


def _attempts(runs: Sequence[Run], set_back_before: Mapping[str, int]) -> Iterator[str]:
    """What was dispatched for a slot has a number of its own, unless a clock was set back in between."""
    seen: dict[int, Run] = {}
    for run in runs:
        if run.started_at is None or run.status is RunStatus.SKIPPED:
            continue
        other = seen.setdefault(run.attempt, run)
        same_clock = set_back_before.get(run.id) == set_back_before.get(other.id)
        if other is not run and same_clock and run.kind is not RunKind.SCHEDULED:
            yield f"runs {other.id} and {run.id} are both attempt {run.attempt} at {run.slot}"


BY_HINT = frozenset({Source.AI_ONESHOT, Source.AI_INTERVAL})
"""What models may have asked for, and so may cancel."""


def cancel_violations(requests: Sequence[Request], closed: Mapping[str, Run]) -> Iterator[str]:
    """A run that was cancelled is the verdict of its slot, with the words of who cancelled it.

    One that ended by itself before it was reached keeps its outcome. Nothing else becomes of it, and no
    model cancels what a person planned or asked for.
    """
    for request in requests:
        run = closed.get(str(request.arguments.get("run_id")))
        if request.action != "cancel_run" or not request.has_succeeded or run is None:
            continue
        told = f"{request.key}: run {run.id}, which was to be cancelled, ended as {run.status}: {run.reason}"
        if run.status not in ENDED | {RunStatus.SKIPPED} and not is_last(run):
            yield told
        if run.kind is RunKind.SCHEDULED and not run.verdict:
            yield f"{told}, and its slot goes on"
        if request.caller is MODEL and run.source not in BY_HINT:
            yield f"{request.key}: a model cancelled run {run.id} of {run.source}"
