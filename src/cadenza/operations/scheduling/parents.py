"""Endpoints that others depend on: they exist, and none depends on itself, however far around."""

from collections.abc import Iterable, Mapping, Sequence

from cadenza.domain.errors import Fault, InvalidRequest
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey
from cadenza.operations.context import RequestContext

MOST_LEVELS = 10
"""So many endpoints may stand above one."""


async def check_parent(context: RequestContext, endpoint: Endpoint) -> None:
    """InvalidRequest if an endpoint depends on one that does not exist, or on itself."""
    if endpoint.parent_id is not None:
        await check_parent_id(context, endpoint.id, endpoint.parent_id)


async def check_parent_id(context: RequestContext, endpoint_id: str, parent_id: str) -> None:
    """InvalidRequest if this endpoint may not depend on that one."""
    above: dict[str, str | None] = {endpoint_id: parent_id}
    wanted: str | None = parent_id
    while wanted is not None and wanted not in above and len(above) <= MOST_LEVELS + 1:
        key = EndpointKey(context.tenant_id, wanted)
        found = await context.store.statistics.endpoints_by_key([key])
        if not found:
            if wanted == parent_id and not await _depends_already(context, endpoint_id, parent_id):
                raise InvalidRequest(f"Endpoint {parent_id} not found.", "parent_id")
            break
        above[wanted] = found[0].parent_id
        wanted = found[0].parent_id
    problem = parent_problem(endpoint_id, above)
    if problem is not None:
        raise InvalidRequest(problem, "parent_id")


async def _depends_already(context: RequestContext, endpoint_id: str, parent_id: str) -> bool:
    """Is this the stored parent of an endpoint, which was deleted since?"""
    key = context.key(endpoint_id)
    return any(one.parent_id == parent_id for one in await context.store.statistics.endpoints_by_key([key]))


def parent_problem(endpoint_id: str, parents: Mapping[str, str | None]) -> str | None:
    """Why an endpoint may not depend on what it does; None if it may."""
    seen, parent = [endpoint_id], parents.get(endpoint_id)
    while parent is not None:
        if parent in seen:
            around = " → ".join([*seen[seen.index(parent) :], parent])
            return f"Endpoints cannot depend on each other in a circle: {around}."
        seen.append(parent)
        if len(seen) > MOST_LEVELS + 1:
            return f"At most {MOST_LEVELS} endpoints may stand above one."
        parent = parents.get(parent)
    return None


async def parents_outside(context: RequestContext, endpoints: Sequence[Endpoint]) -> dict[str, Endpoint]:
    """Endpoints that these depend on and that are none of them, as far up as an endpoint may have them."""
    known, found = {one.id for one in endpoints}, dict[str, Endpoint]()
    level: Sequence[Endpoint] = endpoints
    for _ in range(MOST_LEVELS + 1):
        wanted = {one.parent_id for one in level if one.parent_id is not None} - known
        if not wanted:
            break
        keys = [EndpointKey(context.tenant_id, id_) for id_ in sorted(wanted)]
        level = await context.store.statistics.endpoints_by_key(keys)
        known |= wanted
        found |= {one.id: one for one in level}
    return found


def check_parents(
    wanted: Mapping[str, str], present: Iterable[Endpoint], *, before: Mapping[str, Endpoint]
) -> None:
    """Refuse endpoints of a file that depend on none that exists, or on each other in a circle.

    `wanted` are the paths of the file's endpoints by their ids, `present` all that will exist, and `before`
    all as they are stored. What depends on an endpoint that was deleted may go on to.
    """
    parents = {one.id: one.parent_id for one in present if not one.archived}
    faults = []
    for endpoint_id, path in wanted.items():
        parent = parents.get(endpoint_id)
        if parent is None:
            continue
        is_missing = parent not in parents and not _was_deleted(parent, endpoint_id, before)
        missing = f"Endpoint {parent} not found." if is_missing else None
        problem = missing or parent_problem(endpoint_id, parents)
        if problem is not None:
            faults.append(Fault(f"{path}.parent_id", problem))
    if faults:
        raise InvalidRequest(faults[0].sentence, faults[0].field, faults)


def _was_deleted(parent_id: str, endpoint_id: str, before: Mapping[str, Endpoint]) -> bool:
    """Is this the stored parent of an endpoint, and was it deleted before?"""
    child, parent = before.get(endpoint_id), before.get(parent_id)
    return child is not None and child.parent_id == parent_id and (parent is None or parent.archived)
