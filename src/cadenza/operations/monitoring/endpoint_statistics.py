"""Uptime and latency of one endpoint, over an hour up to a month."""

from datetime import datetime, timedelta
from typing import Annotated, Self

from cadenza.domain.access.key import Scope
from cadenza.domain.monitoring.uptime import (
    EndpointStatistics,
    UptimeBucket,
    endpoint_statistics,
    period_of,
)
from cadenza.operations.context import RequestContext
from cadenza.operations.documented_models import unvalidated
from cadenza.operations.fields import Whole
from cadenza.operations.operation import View, operation
from cadenza.operations.scheduling.endpoint_parts.commands import OneEndpoint
from cadenza.operations.scheduling.endpoints import require_live

MOST_HOURS = 30 * 24


class GetEndpointStatistics(OneEndpoint):
    """How far to look back."""

    hours: Annotated[int, Whole(1, MOST_HOURS)] = 24


class UptimeBucketView(View):
    """The runs that ended within one span."""

    at: datetime
    runs: int
    """Runs with a verdict that were dispatched; those skipped or cancelled are not among them."""
    successes: int
    uptime: float | None
    """The share of successes; null without runs."""
    p50_ms: int | None
    """Half of the runs took no longer."""
    p95_ms: int | None

    @classmethod
    def of(cls, bucket: UptimeBucket) -> Self:
        """The view of a bucket."""
        return unvalidated(cls, bucket._asdict())


class EndpointStatisticsView(View):
    """Uptime and latency of an endpoint, in all and in spans of equal length."""

    endpoint_id: str
    now: datetime
    since: datetime
    span_ms: int
    runs: int
    successes: int
    uptime: float | None
    p50_ms: int | None
    p95_ms: int | None
    complete: bool
    """False when there were too many runs to count: `since` is then later than was asked for."""
    buckets: list[UptimeBucketView]
    """Oldest first."""

    @classmethod
    def of(cls, endpoint_id: str, now: datetime, found: EndpointStatistics) -> Self:
        """The view of statistics."""
        fields = found._asdict()
        fields["span_ms"] = fields.pop("span") // timedelta(milliseconds=1)
        fields["buckets"] = [UptimeBucketView.of(one) for one in found.buckets]
        return unvalidated(cls, {"endpoint_id": endpoint_id, "now": now} | fields)


@operation("GET /v1/endpoints/{endpoint_id}/statistics", Scope.READ, agent=False)
async def get_endpoint_statistics(
    context: RequestContext, command: GetEndpointStatistics
) -> EndpointStatisticsView:
    """Show uptime and latency (p50, p95) of an endpoint over the last hours, up to 30 days."""
    key, now = context.key(command.endpoint_id), context.dependencies.clock.now()
    require_live(await context.store.endpoints.get(key))
    period = period_of(command.hours, now)
    groups = await context.store.statistics.ended_by_bucket(
        key, since=period.since, span=period.span, limit=period.limit
    )
    return EndpointStatisticsView.of(command.endpoint_id, now, endpoint_statistics(groups, period, now))


ENDPOINT_STATISTICS = (get_endpoint_statistics,)
