"""Limits of runs as rows, and which of them endpoints are under."""

from collections.abc import Iterable, Sequence
from typing import Any

from cadenza.adapters.stores.sql.database import Connection
from cadenza.adapters.stores.sql.rows import Read, Row
from cadenza.domain.access.run_limit import LimitKind, RunLimit, limit_keys
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.steer import ChangedEndpoint

LIMIT = ("tenant_id", "kind", "name", "max_in_flight", "max_per_minute", "created_at", "held_since")
KEYS_OF_TENANTS = "SELECT tenant_id, kind, name FROM run_limits WHERE tenant_id = ANY ($1::text[])"


def read_limit(row: Row, read: Read) -> RunLimit:
    """The limit of a row selected as `LIMIT`; it was checked when it was written."""
    tenant_id, kind, name, max_in_flight, max_per_minute, created_at, held_since = row
    return RunLimit(
        tenant_id=tenant_id,
        kind=LimitKind(kind),
        name=name,
        max_in_flight=max_in_flight,
        max_per_minute=max_per_minute,
        created_at=read(created_at),
        held_since=read(held_since),
    )


def write_limit(limit: RunLimit) -> tuple[Any, ...]:
    """The columns `LIMIT`."""
    kind = limit.kind.value
    return (limit.tenant_id, kind, *(getattr(limit, column) for column in ("name", *LIMIT[3:])))


def parts_of(key: str) -> tuple[str, str]:
    """The kind and the name of a limit, from its key."""
    kind, _, name = key.partition(":")
    return kind, name


async def with_limits(connection: Connection, endpoints: Sequence[Endpoint]) -> list[Endpoint]:
    """Endpoints with the limits that they are under; their tenant is locked against new ones."""
    tenants = sorted({one.tenant_id for one in endpoints})
    if not tenants:
        return []
    rows = await connection.fetch(KEYS_OF_TENANTS, tenants)
    present = {(row[0], f"{row[1]}:{row[2]}") for row in rows}
    return [under_limits(one, present) for one in endpoints]


def under_limits(endpoint: Endpoint, present: Iterable[tuple[str, str]]) -> Endpoint:
    """The endpoint under those of the limits that are about it."""
    keys = (
        tuple(key for key in limit_keys(endpoint) if (endpoint.tenant_id, key) in present) if present else ()
    )
    return endpoint if keys == endpoint.limited_by else evolve(endpoint, limited_by=keys)


async def following_limits(
    connection: Connection, before: Sequence[Endpoint], amended: list[ChangedEndpoint]
) -> list[ChangedEndpoint]:
    """Changes, with the limits of endpoints that came under others, as by a new target."""
    moved = [place for place, one in enumerate(amended) if _moves(before[place], one.endpoint)]
    if not moved:
        return amended
    fresh = await with_limits(connection, [amended[place].endpoint for place in moved])
    changed = list(amended)
    for place, endpoint in zip(moved, fresh, strict=True):
        changed[place] = changed[place]._replace(endpoint=endpoint)
    return changed


def _moves(before: Endpoint, after: Endpoint) -> bool:
    """Nearly always it is the same target."""
    if before.limited_by != after.limited_by:
        return True
    same = (
        before.target is after.target
        and before.job_id == after.job_id
        and before.limit_key == after.limit_key
    )
    return not same and limit_keys(before) != limit_keys(after)
