"""Changes of an endpoint within the number of endpoints that its tenant may have."""

from cadenza.domain.access.tenant import too_many
from cadenza.domain.errors import NotFound
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.steer import ChangedEndpoint, EndpointChange
from cadenza.operations.context import RequestContext
from cadenza.ports.catalog import BulkChange, BulkScope, BulkState


class MustCountEndpoints(Exception):
    """Raised when a change makes an endpoint live again, so that endpoints must be counted."""


async def apply_within_limit(
    context: RequestContext, endpoint_id: str, change: EndpointChange, *, most: int | None
) -> ChangedEndpoint:
    """Apply a change to an endpoint; NotAllowed if that makes it live and the tenant has `most` already."""

    def unless_counted(endpoint: Endpoint) -> ChangedEndpoint:
        after = change(endpoint)
        if most is not None and after.endpoint.live and not endpoint.live:
            raise MustCountEndpoints
        return after

    def with_count(current: BulkState) -> BulkChange:
        if endpoint_id not in current.endpoints:
            raise NotFound(f"Endpoint {endpoint_id} not found.")
        before = current.endpoints[endpoint_id]
        after = change(before)
        if most is not None and current.elsewhere >= most and not before.live:
            raise too_many(most)
        return BulkChange(endpoints=[after])

    try:
        return await context.store.endpoints.amend(context.key(endpoint_id), unless_counted)
    except MustCountEndpoints:
        scope = BulkScope(endpoint_ids=frozenset({endpoint_id}))
        decided = await context.store.catalog.change_in_bulk(context.tenant_id, scope, with_count)
        return decided.endpoints[0]
