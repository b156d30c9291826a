"""Changes by which an endpoint counts towards its tenant's limit again."""

from cadenza.domain.access.tenant import too_many
from cadenza.domain.errors import NotFound
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.steer import ChangedEndpoint, EndpointChange
from cadenza.operations.context import RequestContext
from cadenza.ports.catalog import Arrangement, Estate, Extent


class CountsAgain(Exception):
    """What was deleted or has done its duty comes back: the others must be counted in the same commit."""


async def amended(
    context: RequestContext, endpoint_id: str, change: EndpointChange, *, most: int | None
) -> Endpoint:
    """Apply a change to an endpoint; NotAllowed if it would count again, and there are so many already."""

    def usual(endpoint: Endpoint) -> ChangedEndpoint:
        after = change(endpoint)
        if most is not None and after.endpoint.live and not endpoint.live:
            raise CountsAgain
        return after

    def counted(estate: Estate) -> Arrangement:
        if endpoint_id not in estate.endpoints:
            raise NotFound(f"There is no endpoint {endpoint_id}.")
        before = estate.endpoints[endpoint_id]
        after = change(before)
        if most is not None and estate.elsewhere >= most and not before.live:
            raise too_many(most)
        return Arrangement(endpoints=[after])

    try:
        return (await context.store.endpoints.amend(context.key(endpoint_id), usual)).endpoint
    except CountsAgain:
        extent = Extent(endpoint_ids=frozenset({endpoint_id}))
        return (await context.store.catalog.arrange(context.tenant_id, extent, counted)).endpoints[0].endpoint
