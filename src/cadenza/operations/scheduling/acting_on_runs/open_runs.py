"""Operations that list what runs or waits, and cancel it."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
from itertools import islice
from typing import Annotated, NamedTuple, Self

from pydantic import StringConstraints

from cadenza.domain.access.key import Scope
from cadenza.domain.errors import Conflict
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.governor import CronClock
from cadenza.domain.scheduling.plan import RunKind, Source
from cadenza.domain.scheduling.requested_runs.cancelling import cancel_open_run, cancel_waiting
from cadenza.domain.scheduling.requested_runs.queue import CancelRequest, RunRequest
from cadenza.domain.scheduling.requested_runs.waiting import request_opens_at
from cadenza.domain.scheduling.run import Run
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.domain.text_patterns import A_RUN_ID
from cadenza.operations.context import RequestContext
from cadenza.operations.fields import Id, Listed, Paged, Text, no_cursor
from cadenza.operations.operation import Command, View, operation
from cadenza.ports.catalog import Page
from cadenza.ports.scheduling import EndpointWithRuns, OpenRunChange, OpenRunFilter

EPOCH, MICROSECOND = datetime.fromisoformat("1970-01-01T00:00:00Z"), timedelta(microseconds=1)
WAITING, MOST_DIGITS = "waiting", 18
RunId = Annotated[str, StringConstraints(strict=True, pattern=A_RUN_ID)]


def waiting_id(endpoint_id: str, slot: datetime) -> str:
    """The id of a requested run that waits: of an endpoint, a slot waits at most once."""
    return f"{WAITING}-{(slot - EPOCH) // MICROSECOND}-{endpoint_id}"


def waiting_place(run_id: str) -> tuple[str, datetime] | None:
    """The endpoint and the slot of a requested run that waits; None for the id of another run."""
    word, _, rest = run_id.partition("-")
    micros, _, endpoint_id = rest.partition("-")
    is_number = micros.isascii() and micros.isdigit() and len(micros) <= MOST_DIGITS
    if word != WAITING or not is_number or not endpoint_id:
        return None
    try:
        return endpoint_id, EPOCH + int(micros) * MICROSECOND
    except OverflowError:
        return None


class ListOpenRuns(Paged):
    """Which runs."""

    endpoint_id: Id | None = None
    job_id: Id | None = None


class OpenRunView(View):
    """A run that goes on, has been claimed and waits for its moment, or was requested and waits."""

    id: str
    job_id: str
    endpoint_id: str
    slot: datetime
    due_at: datetime | None
    """When it may start; null while something must change first, such as a job that is paused."""
    attempt: int
    source: Source
    kind: RunKind
    claimed_at: datetime | None
    """Null while no worker has it."""
    started_at: datetime | None
    waiting: bool
    """Whether it has not begun."""
    cancelling: bool
    """Whether it is asked to be cancelled."""

    @classmethod
    def of(cls, run: Run, endpoint: Endpoint) -> Self:
        """The view of an open run."""
        asked = endpoint.cancel_request
        return cls(
            id=run.id,
            job_id=run.job_id,
            endpoint_id=run.endpoint_id,
            slot=run.slot,
            due_at=run.due_at,
            attempt=run.attempt,
            source=run.source,
            kind=run.kind,
            claimed_at=run.claimed_at,
            started_at=run.started_at,
            waiting=run.started_at is None,
            cancelling=asked is not None and asked.run_id == run.id,
        )

    @classmethod
    def of_request(cls, one: RunRequest, endpoint: Endpoint) -> Self:
        """The view of a requested run that waits."""
        return cls(
            id=waiting_id(endpoint.id, one.slot),
            job_id=endpoint.job_id,
            endpoint_id=endpoint.id,
            slot=one.slot,
            due_at=request_opens_at(endpoint),
            attempt=one.attempt,
            source=one.source,
            kind=one.kind,
            claimed_at=None,
            started_at=None,
            waiting=True,
            cancelling=False,
        )


class OpenRunsPage(Listed[OpenRunView]):
    """A page of open runs, by endpoint: the one in flight, then those that wait, in their order."""


class CancelRun(Command):
    """The run to cancel, and why. A requested run that waits has the id that the list of open runs shows."""

    run_id: RunId
    reason: Text | None = None


class CancelStatus(StrEnum):
    """How far it is."""

    CANCELLED = "cancelled"
    CANCELLING = "cancelling"


class CancelledRun(View):
    """A run that is cancelled, or about to be."""

    run_id: str
    status: CancelStatus
    """`cancelled`: it is closed. `cancelling`: its worker stops it; if that is gone, a sweep closes it."""


@operation("GET /v1/runs/open", Scope.READ)
async def list_open_runs(context: RequestContext, command: ListOpenRuns) -> OpenRunsPage:
    """List the runs that go on or wait, of all endpoints, of one, or of those of a job."""
    last, shown = _position(command.cursor)
    found = await _begun_endpoint(context, command, last) + await _others(context, command, last)
    views = (Placed(one.endpoint.id, place, view) for one in found for place, view in enumerate(_views(one)))
    ahead = (one for one in views if one.endpoint_id != last or one.place >= shown)
    rest = list(islice(ahead, command.limit + 1))  # Each of these endpoints may have hundreds that wait.
    page = rest[: command.limit]
    more = len(rest) > len(page)
    cursor = f"{page[-1].place + 1} {page[-1].endpoint_id}" if page and more else None
    return OpenRunsPage(items=[one.view for one in page], next_cursor=cursor)


class Placed(NamedTuple):
    """A view, its endpoint, and its place among those of the endpoint."""

    endpoint_id: str
    place: int
    view: OpenRunView


def _position(cursor: str | None) -> tuple[str, int]:
    """The endpoint of the last view that was shown, and how many of its views were."""
    shown, _, endpoint_id = (cursor or "0 ").partition(" ")
    if not shown.isdigit():
        raise no_cursor()
    return endpoint_id, int(shown)


async def _begun_endpoint(context: RequestContext, command: ListOpenRuns, id_: str) -> list[EndpointWithRuns]:
    if not id_:
        return []
    wanted = OpenRunFilter(id_, command.job_id)
    return await context.store.runs.open_runs(context.tenant_id, wanted=wanted)


async def _others(context: RequestContext, command: ListOpenRuns, after: str) -> list[EndpointWithRuns]:
    wanted = OpenRunFilter(command.endpoint_id, command.job_id)
    page = Page(command.limit + 1, after)
    return await context.store.runs.open_runs(context.tenant_id, wanted=wanted, page=page)


def _views(found: EndpointWithRuns) -> Iterator[OpenRunView]:
    endpoint, open_run = found
    if open_run is not None:
        yield OpenRunView.of(open_run, endpoint)
    queue = endpoint.requested
    if queue is not None:
        waiting = (one for one in queue.waiting if one.slot != queue.in_flight)
        yield from (OpenRunView.of_request(one, endpoint) for one in waiting)


@operation("POST /v1/runs/{run_id}/cancel", Scope.STEER, ranked=True)
async def cancel_run(context: RequestContext, command: CancelRun) -> CancelledRun:
    """Cancel a run that goes on or waits. Its slot's verdict is `cancelled`, with who cancelled it and why.

    What has not begun is closed at once. What runs is stopped by its worker, in whichever process. A run
    that was asked for by a higher rank stays: models do not cancel what people planned or asked for.
    """
    now, cron = context.dependencies.clock.now(), context.dependencies.cron
    asked = CancelRequest(command.run_id, context.caller.origin, now, command.reason)
    change: OpenRunChange
    if (place := waiting_place(command.run_id)) is not None:
        endpoint_id, slot = place
        change = partial(_cancel_waiting, slot=slot, asked=asked, now=now, cron=cron)
    else:
        run = await context.store.runs.run(context.tenant_id, command.run_id)
        if run.status is not None:
            raise Conflict(f"Run {run.id} has ended ({run.status}).")
        endpoint_id, change = run.endpoint_id, partial(cancel_open_run, asked=asked, now=now, cron=cron)
    changed = await context.store.endpoints.amend_with_open_run(context.key(endpoint_id), change)
    is_asked = changed.endpoint.cancel_request is not None
    status = CancelStatus.CANCELLING if is_asked else CancelStatus.CANCELLED
    return CancelledRun(run_id=command.run_id, status=status)


def _cancel_waiting(
    endpoint: Endpoint,
    open_run: Run | None,
    *,
    slot: datetime,
    asked: CancelRequest,
    now: datetime,
    cron: CronClock,
) -> ChangedEndpoint:
    """Withdraw it; one that was claimed meanwhile is cancelled like any other open run."""
    queue = endpoint.requested
    if open_run is not None and queue is not None and queue.in_flight == slot:
        claimed = asked._replace(run_id=open_run.id)
        return cancel_open_run(endpoint, open_run, asked=claimed, now=now, cron=cron)
    return cancel_waiting(endpoint, slot, asked=asked, now=now)


OPEN_RUNS = (list_open_runs, cancel_run)
