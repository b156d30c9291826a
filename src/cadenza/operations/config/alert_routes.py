"""The alert routes of a configuration: checked, and compared with the stored ones."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from cadenza.domain.channel import Channel, ChannelType
from cadenza.domain.errors import Fault, InvalidRequest
from cadenza.domain.monitoring.alert_route import MOST_ROUTES, AlertRoute
from cadenza.operations.config.schemas import ConfigAlertRoute, ConfigDocument
from cadenza.operations.documented_models import part
from cadenza.operations.monitoring.route_schemas import ChannelShape, MatchShape

OF_ROUTE = ("name", "enabled", "match", "channel")
NO_ADDRESS = Channel(ChannelType.WEBHOOK, "https://none.invalid")
"""Stands for an address that is to stay, until the stored one is read."""


class WantedRoute(NamedTuple):
    """A route as a file wants it, its channel as it is written there, and where."""

    route: AlertRoute
    channel: ChannelShape
    enabled: bool | None
    path: str


def route_or_faults(
    path: str, entry: ConfigAlertRoute, tenant_id: str, now: datetime
) -> WantedRoute | list[Fault]:
    """The route of an entry, or its faults; the address is checked when the stored one is known."""
    try:
        match = part("match", entry.match.to_domain)
    except InvalidRequest as problem:
        return [Fault(f"{path}.{fault.field}", fault.message) for fault in problem.faults]
    route = AlertRoute(
        id=entry.id,
        name=entry.name or entry.id,
        tenant_id=tenant_id,
        enabled=entry.enabled is not False,
        match=match,
        channel=NO_ADDRESS,
        created_at=now,
    )
    return WantedRoute(route, entry.channel, entry.enabled, path)


def wanted_routes(
    document: ConfigDocument, tenant_id: str, now: datetime
) -> Iterator[WantedRoute | list[Fault]]:
    """All routes of a file."""
    for place, entry in enumerate(document.alert_routes or []):
        yield route_or_faults(f"alert_routes.{place}", entry, tenant_id, now)


def changed_route(wanted: WantedRoute, before: AlertRoute | None) -> AlertRoute | None:
    """The route as it will be; None if it stays. An address as it is shown means the stored one."""
    stored = None if before is None else before.channel
    channel = part(f"{wanted.path}.channel", lambda: wanted.channel.to_domain(stored))
    route = replace(wanted.route, channel=channel)
    if before is None:
        return route
    enabled = before.enabled if wanted.enabled is None else wanted.enabled
    after = replace(before, name=route.name, match=route.match, channel=channel, enabled=enabled)
    return None if after == before else after


def removed_routes(current: Mapping[str, AlertRoute], wanted: Mapping[str, WantedRoute]) -> list[AlertRoute]:
    """Routes that a file which names routes does not name."""
    return [route for route in current.values() if route.id not in wanted]


def check_number_of_routes(after: int) -> None:
    """Refuse more routes than a tenant may have."""
    if after > MOST_ROUTES:
        raise InvalidRequest(
            f"There would be {after} alert routes, and there may be {MOST_ROUTES}.", "alert_routes"
        )


def config_routes(routes: list[AlertRoute]) -> list[ConfigAlertRoute]:
    """Routes as a configuration, with their addresses as they are shown."""
    return [
        ConfigAlertRoute.model_construct(
            id=route.id,
            name=route.name,
            enabled=None if route.enabled else False,
            match=MatchShape.of(route.match),
            channel=ChannelShape.of(route.channel),
        )
        for route in routes
    ]
