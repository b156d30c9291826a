"""The overview: what is ahead, in flight and behind, what planners do, and what is left of the quota."""

from asyncio import to_thread
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Self

from cadenza.domain.access.key import Scope
from cadenza.domain.access.tenant import month_of, next_month
from cadenza.domain.monitoring.forecast import DueForecast, DueForecaster
from cadenza.domain.monitoring.statistics import RunBucket, RunHistogram, run_histogram
from cadenza.domain.planning.health import EndedRun
from cadenza.domain.scheduling.run import RunStatus
from cadenza.operations.context import RequestContext
from cadenza.operations.fields import Whole
from cadenza.operations.operation import Command, View, operation
from cadenza.ports.monitoring import ActivityGrouping

MOST_AHEAD, MOST_ENDED, MOST_ANALYSES, MOST_COUNTED = 5_000, 10_000, 5_000, 100_000
AHEAD_SPANS, MOST_PLANNERS = 30, 100
NEAR, NEARER = 0.8, 0.95


class GetOverview(Command):
    """How far to look back and ahead."""

    minutes: Annotated[int, Whole(1, 300)] = 60
    """How far back."""
    ahead_minutes: Annotated[int, Whole(1, 60)] = 15


class ForecastView(View):
    """How many runs come due in each span, if nothing is steered."""

    begin: datetime
    span_ms: int
    overdue: int
    """What is due already, and waits."""
    due: list[int]
    complete: bool
    """False when there are too many endpoints to count: the soonest were."""

    @classmethod
    def of(cls, forecast: DueForecast, *, complete: bool) -> Self:
        """The view of a forecast."""
        return cls(
            begin=forecast.begin,
            span_ms=forecast.span // timedelta(milliseconds=1),
            overdue=forecast.overdue,
            due=forecast.due,
            complete=complete,
        )


class BeatView(View):
    """What ended within one span."""

    at: datetime
    statuses: dict[RunStatus, int]
    late_p50_ms: int | None
    late_p99_ms: int | None

    @classmethod
    def of(cls, bucket: RunBucket) -> Self:
        """The view of a bucket."""
        return cls.model_construct(**bucket._asdict())


class PulseView(View):
    """What ended lately."""

    since: datetime
    span_ms: int
    beats: list[BeatView]
    runs: int
    """Runs that were dispatched; those skipped or cancelled are not among them."""
    success_rate: float | None
    late_p50_ms: int | None
    late_p99_ms: int | None
    complete: bool
    """False when there were too many runs to count: `since` is then later than was asked for."""

    @classmethod
    def of(cls, histogram: RunHistogram, *, complete: bool) -> Self:
        """The view of a histogram."""
        words = histogram._asdict()
        span = words.pop("span")
        words["beats"] = [BeatView.of(bucket) for bucket in words.pop("buckets")]
        return cls(**words, span_ms=span // timedelta(milliseconds=1), complete=complete)


class Level(StrEnum):
    """How much of a limit is used: below 80 %, from there, from 95 %, all."""

    OK = "ok"
    NEAR = "near"
    NEARER = "nearer"
    SPENT = "spent"


class QuotaView(View):
    """What is used of one limit; without a limit, `limit` and `share` are null."""

    name: str
    used: int
    limit: int | None
    share: float | None
    level: Level

    @classmethod
    def of(cls, name: str, used: int, limit: int | None) -> Self:
        """The view of a limit."""
        share = None if limit is None else used / limit if limit else 1.0
        return cls(name=name, used=used, limit=limit, share=share, level=_level(share))


class PlannerView(View):
    """What one planner did lately."""

    planner: str
    sittings: int
    failed: int
    shadow: int
    """Analyses in shadow mode, which do not steer."""
    tokens: int
    last_at: datetime


class OverviewView(View):
    """The state of a tenant at a glance."""

    now: datetime
    endpoints: int
    in_flight: int
    forecast: ForecastView
    pulse: PulseView
    quotas: list[QuotaView]
    quota_resets_at: datetime
    planners: list[PlannerView]
    """Planners with an analysis in the same period, the busiest first."""


@operation("GET /v1/overview", Scope.READ, agent=False)
async def get_overview(context: RequestContext, command: GetOverview) -> OverviewView:
    """Show upcoming runs, runs in flight and recent runs. Every count has an upper limit."""
    now = context.dependencies.clock.now()
    since = now - timedelta(minutes=command.minutes)
    endpoints = await context.store.tenants.count_endpoints(context.tenant_id, MOST_COUNTED)
    return OverviewView(
        now=now,
        endpoints=endpoints,
        in_flight=await context.store.statistics.in_flight(context.tenant_id, MOST_COUNTED),
        forecast=await _forecast(context, now, timedelta(minutes=command.ahead_minutes)),
        pulse=await _histogram(context, now, since),
        quotas=await _quotas(context, now, endpoints),
        quota_resets_at=next_month(now),
        planners=await _planners(context, since),
    )


async def _forecast(context: RequestContext, now: datetime, far: timedelta) -> ForecastView:
    found = await context.store.statistics.upcoming_runs(context.tenant_id, until=now + far, limit=MOST_AHEAD)
    forecaster = DueForecaster(
        context.dependencies.cron, begin=now, span=far / AHEAD_SPANS, spans=AHEAD_SPANS
    )
    forecast = await to_thread(forecaster.forecast, found)
    return ForecastView.of(forecast, complete=len(found) < MOST_AHEAD)


async def _histogram(context: RequestContext, now: datetime, since: datetime) -> PulseView:
    ended: list[EndedRun] = await context.store.statistics.latest_runs(
        context.tenant_id, since=since, limit=MOST_ENDED
    )
    complete = len(ended) < MOST_ENDED
    begin = since if complete else min(one.finished_at for one in ended)
    return PulseView.of(run_histogram(ended, since=begin, now=now), complete=complete)


async def _quotas(context: RequestContext, now: datetime, endpoints: int) -> list[QuotaView]:
    month, tenant_id = month_of(now), context.tenant_id
    limits, spent = (await context.store.tenants.quota_usage([tenant_id], month))[tenant_id]
    return [
        QuotaView.of("runs", spent.runs, limits.runs_per_month),
        QuotaView.of("planner_tokens", spent.planner_tokens, limits.planner_tokens_per_month),
        QuotaView.of("endpoints", endpoints, limits.endpoints),
    ]


def _level(share: float | None) -> Level:
    if share is None or share < NEAR:
        return Level.OK
    return Level.NEAR if share < NEARER else Level.NEARER if share < 1 else Level.SPENT


async def _planners(context: RequestContext, since: datetime) -> list[PlannerView]:
    sat = await context.store.statistics.planner_activity(
        context.tenant_id, grouping=ActivityGrouping.ALL, since=since, limit=MOST_ANALYSES, most=MOST_PLANNERS
    )
    views = [
        PlannerView(
            planner=one.planner,
            sittings=one.analyses,
            failed=one.failed,
            shadow=one.shadow,
            tokens=one.tokens.total,
            last_at=one.last_at,
        )
        for one in sat
    ]
    return sorted(views, key=lambda view: (-view.sittings, view.planner))


OVERVIEW = (get_overview,)
