"""The timeline of an endpoint: its runs, hints and pauses in a span of time."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Self

from cadenza.domain.access.key import Scope
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.monitoring.hint_periods import HintPeriod, hint_periods
from cadenza.domain.scheduling.hint import HintKind, origin_text
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import Run, RunStatus
from cadenza.operations.context import RequestContext
from cadenza.operations.documented_models import unvalidated
from cadenza.operations.fields import Moment, Whole
from cadenza.operations.operation import View, operation
from cadenza.operations.scheduling.endpoint_parts.commands import OneEndpoint
from cadenza.operations.scheduling.endpoints import require_live
from cadenza.ports.catalog import Page

DEFAULT_SPAN = timedelta(hours=1)
BEGINNING = datetime.min.replace(tzinfo=UTC)
MOST_HINTS = 1_000


class GetTimeline(OneEndpoint):
    """Which part of it."""

    since: Moment | None = None
    """An hour before its end, if left out."""
    until: Moment | None = None
    """Now, if left out."""
    limit: Annotated[int, Whole(1, 5_000)] = 2_000
    """How many runs, at most; the newest of the span."""


class PointView(View):
    """A run on the timeline, without its response."""

    id: str
    slot: datetime
    due_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    attempt: int
    source: Source
    status: RunStatus | None
    duration_ms: int
    late_ms: int
    coalesced: int
    verdict: bool
    error: str | None
    reason: str | None

    @classmethod
    def of(cls, run: Run) -> Self:
        """The view of a run."""
        fields = run._asdict()
        return unvalidated(cls, {name: fields[name] for name in cls.model_fields})


class SpellView(View):
    """A hint or a pause, from when to when it held, with its reason and origin."""

    kind: HintKind
    begin: datetime
    end: datetime
    origin: str
    by: str
    """The origin in words, such as "rule: surge" or "person: dashboard"."""
    reason: str | None
    interval_ms: int | None
    at: datetime | None

    @classmethod
    def of(cls, period: HintPeriod) -> Self:
        """The view of a period."""
        record: dict[str, Any] = period.record._asdict()
        shown = {name: record[name] for name in ("kind", "origin", "reason", "interval_ms", "at")}
        return cls(begin=period.begin, end=period.end, by=origin_text(period.record.origin), **shown)


class TimelineView(View):
    """What happened to an endpoint in a span."""

    endpoint_id: str
    now: datetime
    since: datetime
    until: datetime
    runs: list[PointView]
    """Those that ended in the span, oldest first; one that is open is the last."""
    spells: list[SpellView]
    """Hints and pauses that touch the span, oldest first."""
    next_run_at: datetime | None
    next_source: Source
    complete: bool
    """False when there were more runs, or hints, than are told."""


@operation("GET /v1/endpoints/{endpoint_id}/timeline", Scope.READ, agent=False)
async def get_timeline(context: RequestContext, command: GetTimeline) -> TimelineView:
    """Show the runs of an endpoint in a time range, with the hints and pauses of that range."""
    key, now = context.key(command.endpoint_id), context.dependencies.clock.now()
    endpoint = require_live(await context.store.endpoints.get(key))
    until = command.until or now
    since = command.since or max(until, BEGINNING + DEFAULT_SPAN) - DEFAULT_SPAN
    if since >= until:
        raise InvalidRequest("since must be earlier than `until`.", "since")
    runs = await context.store.statistics.runs_between(key, since=since, until=until, limit=command.limit + 1)
    history = await context.store.runs.hints(key, Page(MOST_HINTS))
    periods = [one for one in hint_periods(history) if one.end >= since and one.begin < until]
    return TimelineView(
        endpoint_id=endpoint.id,
        now=now,
        since=since,
        until=until,
        runs=[PointView.of(run) for run in runs[: command.limit][::-1]]
        + await _open(context, command, until),
        spells=[SpellView.of(one) for one in periods],
        next_run_at=endpoint.next_run_at,
        next_source=endpoint.next_source,
        complete=len(runs) <= command.limit and len(history) < MOST_HINTS,
    )


async def _open(context: RequestContext, command: GetTimeline, until: datetime) -> list[PointView]:
    newest = await context.store.runs.runs(context.key(command.endpoint_id), Page(1))
    return [PointView.of(run) for run in newest if run.status is None and run.claimed_at < until]


TIMELINE = (get_timeline,)
