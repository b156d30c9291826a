"""Operations that ask for runs beside the schedule: run a slot again, backfill what was missed."""

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from typing import Annotated, NamedTuple

from cadenza.domain.access.key import Scope
from cadenza.domain.errors import Conflict, InvalidRequest
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.requested_runs.asking import (
    is_over,
    missed_slots,
    next_attempt,
    take_requests,
)
from cadenza.domain.scheduling.requested_runs.queue import MOST_WAITING, RequestQueue, RunRequest
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.engine.async_helpers import beside_event_loop
from cadenza.operations.context import RequestContext
from cadenza.operations.fields import Flag, Limit, Moment, Text, Whole
from cadenza.operations.operation import Command, View, operation
from cadenza.operations.scheduling.acting_on_runs.open_runs import EPOCH, WAITING, waiting_id
from cadenza.operations.scheduling.endpoint_parts.commands import OneEndpoint
from cadenza.operations.scheduling.endpoints import require_live
from cadenza.operations.scheduling.runs import OneRun
from cadenza.ports.catalog import Page
from cadenza.ports.scheduling import RunFilter

PAGE = 500
MOST_PAGES = 40
"""So many pages of runs one call looks through; what lies beyond is left to the next call."""
MOST_SLOTS = 100_000
"""So many slots one backfill counts."""
SERVING = frozenset(RunStatus) - {RunStatus.SKIPPED}
NONE = RequestQueue((), datetime.max.replace(tzinfo=UTC))


class Rerun(OneRun):
    """The run whose slot is run again, and why."""

    reason: Text | None = None


class RequestedRun(View):
    """A requested run that waits for the next free moment of its endpoint."""

    id: str
    """What `cancel_run` takes while it waits; its run has an id of its own."""
    endpoint_id: str
    slot: datetime
    status: str
    """`waiting`."""


class QueuedRuns(View):
    """What was queued."""

    matched: int
    """How many slots are meant."""
    queued: int
    """How many of them wait now, or would after a dry run."""
    complete: bool
    """False when some were left out: repeat the call later, and it goes on with them."""


class Backfill(OneEndpoint):
    """Slots of the baseline in a range of time that no run was for."""

    since: Moment
    """From this moment on; an interval is counted from here."""
    until: Moment | None = None
    """Before this moment; now, if left out."""
    limit: Limit = 100
    """How many slots, at most; the oldest first."""
    concurrency: Annotated[int, Whole(1, MOST_WAITING)] = 1
    """How many at a time. An endpoint never runs twice at a time, so this is 1."""
    dry_run: Flag = False
    reason: Text | None = None


class BackfilledSlot(View):
    """A slot that is backfilled."""

    slot: datetime


class BackfilledSlots(QueuedRuns):
    """The slots that are backfilled."""

    items: list[BackfilledSlot]


class Asked(NamedTuple):
    """The requests that an endpoint took, and whether all that were wanted wait now."""

    new: Sequence[RunRequest]
    all_wait: bool


@operation("POST /v1/runs/{run_id}/rerun", Scope.STEER)
async def rerun(context: RequestContext, command: Rerun) -> RequestedRun:
    """Run the slot of a closed run again, in the next free moment of its endpoint.

    It is the next attempt at the slot, with the same idempotency key, and is marked `rerun`. The slot
    keeps its verdict. A slot that waits already does not wait twice.
    """
    run = await context.store.runs.run(context.tenant_id, command.run_id)
    if run.status is None:
        raise Conflict(f"Run {run.id} has not ended: rerun it when it has, or cancel it first.")
    key = context.key(run.endpoint_id)
    waits = (require_live(await context.store.endpoints.get(key)).requested or NONE).of_slot(run.slot)
    if waits is None:
        wanted = partial(
            _rerun, run=run, runs=await context.store.runs.runs_of_slot(run), command=command, context=context
        )
        await context.store.endpoints.amend_with_open_run(key, wanted)
    return RequestedRun(
        id=waiting_id(run.endpoint_id, run.slot), endpoint_id=run.endpoint_id, slot=run.slot, status=WAITING
    )


def _rerun(
    endpoint: Endpoint,
    open_run: Run | None,
    *,
    run: Run,
    runs: Sequence[Run],
    command: Rerun,
    context: RequestContext,
) -> ChangedEndpoint:
    if not is_over(require_live(endpoint), run, runs, open_run):
        raise Conflict(f"The slot of run {run.id} has no verdict yet: it is due, or will be retried.")
    asked = RunRequest(run.slot, next_attempt(runs), Source.RERUN, context.caller.origin, command.reason)
    changed = take_requests(endpoint, [asked], now=context.dependencies.clock.now())
    if changed.endpoint.requested is None or changed.endpoint.requested.of_slot(run.slot) is None:
        raise Conflict(f"{endpoint.id} has {MOST_WAITING:,} requested runs that wait: let them run first.")
    return changed


@operation("POST /v1/endpoints/{endpoint_id}/backfill", Scope.STEER)
async def backfill(context: RequestContext, command: Backfill) -> BackfilledSlots:
    """Run the slots of a cron or interval baseline in a past range of time that no run was for.

    They run one after the other in free moments of the endpoint, marked `backfill`, beside its schedule.
    Skipped slots are backfilled too. With `dry_run` nothing is changed.
    """
    now = context.dependencies.clock.now()
    until = min(command.until or now, now)
    if command.concurrency != 1:
        raise InvalidRequest("An endpoint never runs twice at a time: leave concurrency at 1.", "concurrency")
    if not EPOCH <= command.since < until:
        raise InvalidRequest("since must lie before `until`, in the past, and not before 1970.", "since")
    wanted = RunFilter(endpoint_id=command.endpoint_id, statuses=SERVING, since=command.since)
    # First what waits, then the runs: so each slot is seen here or there.
    endpoint = require_live(await context.store.endpoints.get(context.key(command.endpoint_id)))
    runs = await all_runs(context, wanted)
    served, until = {run.slot for run in runs}, min((until, *_slots_ahead(endpoint)))
    missed = missed_slots(endpoint, command.since, until, served, context.dependencies.cron)
    waiting = {one.slot for one in (endpoint.requested or NONE).waiting}
    # Cron lines take their time: a hundred thousand slots of one, most of a second.
    found: list[datetime] = await beside_event_loop(list, islice(missed, MOST_SLOTS))
    slots = [slot for slot in found if slot not in waiting]
    by = (Source.BACKFILL, context.caller.origin, command.reason)
    requests = [RunRequest(slot, 1, *by) for slot in slots[: command.limit]]
    asked = await ask(context, endpoint.id, requests, dry_run=command.dry_run)
    note_request(context, command, len(asked.new), dry_run=command.dry_run)
    return BackfilledSlots(
        matched=len(slots),
        queued=len(asked.new),
        complete=asked.all_wait and len(slots) <= command.limit,
        items=[BackfilledSlot(slot=one.slot) for one in asked.new],
    )


async def all_runs(context: RequestContext, wanted: RunFilter) -> list[Run]:
    """All closed runs that are wanted, newest first; InvalidRequest if they are too many for one call."""
    runs, after = list[Run](), None
    for _ in range(MOST_PAGES):
        page = Page(PAGE, after)
        found, after = await context.store.runs.find_runs(context.tenant_id, wanted=wanted, page=page)
        runs += found
        if after is None:
            return runs
    raise InvalidRequest("There are too many runs in this range: choose a later since.", "since")


async def ask(
    context: RequestContext, endpoint_id: str, wanted: Sequence[RunRequest], *, dry_run: bool
) -> Asked:
    """Let requested runs of an endpoint wait, or see which would."""
    key, now = context.key(endpoint_id), context.dependencies.clock.now()
    answers = list[Asked]()

    def change(endpoint: Endpoint) -> ChangedEndpoint:
        changed = take_requests(require_live(endpoint), wanted, now=now)
        before, after = endpoint.requested or NONE, changed.endpoint.requested or NONE
        slots = {one.slot for one in after.waiting}
        answers[:] = [Asked(after.waiting[len(before.waiting) :], all(one.slot in slots for one in wanted))]
        return changed

    if dry_run:
        change(await context.store.endpoints.get(key))
    else:
        await context.store.endpoints.amend(key, change)
    return answers[0]


def _slots_ahead(endpoint: Endpoint) -> set[datetime]:
    """The slots that the schedule itself still has to run; from the first on, none is missed yet."""
    slots = {endpoint.next_run_at, None if endpoint.open_slot is None else endpoint.open_slot.slot}
    return {slot for slot in slots if slot is not None}


def note_request(context: RequestContext, command: Command, queued: int, *, dry_run: bool) -> None:
    """Note for the audit what was asked for; a dry run changes nothing."""
    if dry_run:
        context.trail.is_complete = True
        return
    said = command.model_dump(mode="json", exclude={"reason", "dry_run"}, exclude_unset=True)
    context.trail.note("endpoint", said.get("endpoint_id"), after=said | {"queued": queued})


REQUESTED_RUNS = (rerun, backfill)
