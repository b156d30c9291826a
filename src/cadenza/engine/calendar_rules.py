"""Calendars by their ids: the rules of an endpoint, from what its owner wrote."""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from cadenza.domain.errors import NotFound
from cadenza.domain.scheduling.calendars.calendar import Calendar
from cadenza.domain.scheduling.calendars.named_rules import NAMED, NO_NAMED_RULES, NamedRules
from cadenza.domain.scheduling.calendars.rules import NO_RULES, CalendarRules
from cadenza.domain.scheduling.endpoint import Endpoint, evolve

if TYPE_CHECKING:  # A command that asks a server needs no store.
    from cadenza.ports.store import Store


async def calendars_by_id(store: "Store", tenant_id: str, ids: Iterable[str | None]) -> dict[str, Calendar]:
    """The calendars of a tenant with these ids, compiled; those that do not exist are left out."""
    found: dict[str, Calendar] = {}
    for calendar_id in sorted({id_ for id_ in ids if id_ is not None}):
        with suppress(NotFound):
            found[calendar_id] = (await store.calendars.calendar(tenant_id, calendar_id)).calendar
    return found


async def calendars_in_change(
    store: "Store", tenant_id: str, fields: Mapping[str, Any] | None
) -> dict[str, Calendar]:
    """The calendars that a change of rules names, as far as they exist."""
    return await calendars_by_id(store, tenant_id, [(fields or {}).get(name) for name in NAMED])


async def resolve_rules(store: "Store", tenant_id: str, named: NamedRules) -> CalendarRules:
    """The rules with the tenant's calendars; InvalidRequest names each that does not exist."""
    if named == NO_NAMED_RULES:
        return NO_RULES
    return named.with_calendars(await calendars_by_id(store, tenant_id, named.calendar_ids))


async def endpoint_with_rules(store: "Store", endpoint: Endpoint, named: NamedRules) -> Endpoint:
    """The endpoint with rules of its tenant's calendars; as it is, if none are named."""
    if named == NO_NAMED_RULES:
        return endpoint
    return evolve(endpoint, calendar_rules=await resolve_rules(store, endpoint.tenant_id, named))
