"""Operations on alert routes: which conditions go to which channel."""

from dataclasses import replace
from datetime import datetime
from math import ceil
from typing import Any, Self

from cadenza.domain.access.key import Scope
from cadenza.domain.errors import InvalidRequest, TooOften, Unavailable
from cadenza.domain.monitoring.alert import Alert, AlertKind, AlertState, Severity
from cadenza.domain.monitoring.alert_route import (
    MOST_ROUTES,
    AlertRoute,
)
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.operations.context import RequestContext
from cadenza.operations.documented_models import part
from cadenza.operations.fields import Flag, Id, Listed, Name, Paged, split_page
from cadenza.operations.monitoring.route_schemas import ChannelShape, MatchShape, route_definition
from cadenza.operations.operation import CREATED, NO_CONTENT, Command, Nothing, View, operation

EVERYTHING = MatchShape()


class CreateAlertRoute(Command):
    """A new route."""

    name: Name
    channel: ChannelShape
    match: MatchShape = EVERYTHING
    id: Id | None = None
    """Chosen by you, or given."""
    enabled: Flag = True


class OneAlertRoute(Command):
    """The route that is meant."""

    route_id: Id


class UpdateAlertRoute(OneAlertRoute):
    """What is to be different; what is left out stays as it is."""

    name: Name | None = None
    channel: ChannelShape | None = None
    match: MatchShape | None = None
    enabled: Flag | None = None


class AlertRouteView(View):
    """A route; its address is shown without what may be secret."""

    id: str
    name: str
    enabled: bool
    match: MatchShape
    channel: ChannelShape
    created_at: datetime | None

    @classmethod
    def of(cls, route: AlertRoute) -> Self:
        """The view of a route."""
        return cls(
            id=route.id,
            name=route.name,
            enabled=route.enabled,
            match=MatchShape.of(route.match),
            channel=ChannelShape.of(route.channel),
            created_at=route.created_at,
        )


class AlertRoutesPage(Listed[AlertRouteView]):
    """A page of routes."""


class RouteTestView(View):
    """Whether a test message was accepted."""

    accepted: bool
    problem: str | None
    """Why not, in words."""


@operation("POST /v1/alert-routes", Scope.WRITE, status=CREATED, agent=False)
async def create_alert_route(context: RequestContext, command: CreateAlertRoute) -> AlertRouteView:
    """Create an alert route: conditions that it matches are sent to its channel.

    As soon as a tenant has a route, alerts do not go to the default address of the settings any more.
    """
    route = AlertRoute(
        id=command.id or context.dependencies.ids.new(),
        tenant_id=context.tenant_id,
        name=command.name,
        enabled=command.enabled,
        match=part("match", command.match.to_domain),
        channel=part("channel", command.channel.to_domain),
        created_at=context.dependencies.clock.now(),
    )
    await context.store.alert_routes.add_route(route, most=MOST_ROUTES)
    context.trail.note("alert_route", route.id, after=route_definition(route))
    return AlertRouteView.of(route)


@operation("GET /v1/alert-routes", Scope.READ, agent=False)
async def list_alert_routes(context: RequestContext, command: Paged) -> AlertRoutesPage:
    """List alert routes, in the order of their ids."""
    found = await context.store.alert_routes.routes(context.tenant_id, command.page())
    routes, more = split_page(found, command.limit)
    return AlertRoutesPage(
        items=[AlertRouteView.of(one) for one in routes], next_cursor=routes[-1].id if more else None
    )


@operation("PATCH /v1/alert-routes/{route_id}", Scope.WRITE, agent=False)
async def update_alert_route(context: RequestContext, command: UpdateAlertRoute) -> AlertRouteView:
    """Change an alert route."""
    given = {name: getattr(command, name) for name in command.model_fields_set - {"route_id"}}
    for name, value in given.items():
        if value is None:
            raise InvalidRequest(f"{name} cannot be null; leave it out to keep it.", name)

    def change(before: AlertRoute) -> AlertRoute:
        changes: dict[str, Any] = dict(given)
        if command.match is not None:
            changes["match"] = part("match", command.match.to_domain)
        if command.channel is not None:
            channel = command.channel
            changes["channel"] = part("channel", lambda: channel.to_domain(before.channel))
        after = replace(before, **changes)
        noted = {"before": route_definition(before), "after": route_definition(after)}
        context.trail.note("alert_route", before.id, **noted)
        return after

    changed = await context.store.alert_routes.amend_route(context.tenant_id, command.route_id, change)
    return AlertRouteView.of(changed)


@operation("DELETE /v1/alert-routes/{route_id}", Scope.WRITE, status=NO_CONTENT, agent=False)
async def delete_alert_route(context: RequestContext, command: OneAlertRoute) -> Nothing:
    """Delete an alert route. Messages that wait for it are not sent any more."""
    before = await context.store.alert_routes.route(context.tenant_id, command.route_id)
    await context.store.alert_routes.remove_route(context.tenant_id, command.route_id)
    context.trail.note("alert_route", before.id, before=route_definition(before))
    return Nothing()


@operation("POST /v1/alert-routes/{route_id}/test", Scope.WRITE, agent=False, calls_out=True)
async def test_alert_route(context: RequestContext, command: OneAlertRoute) -> RouteTestView:
    """Send a test message to the channel of a route, once, and say whether it was accepted."""
    route = await context.store.alert_routes.route(context.tenant_id, command.route_id)
    given = context.dependencies
    if given.channels is None:
        raise Unavailable("This process sends no alerts.")
    wait = await given.take_trial(EndpointKey(context.tenant_id, f"alert-route:{route.id}"))
    if wait is not None:
        raise TooOften(f"{route.name} was tried too often just now; wait a while.", max(1, ceil(wait)))
    context.trail.note("alert_route", route.id)
    alert = _test_alert(route, key=given.ids.new(), now=given.system_now())
    problem = await given.channels.send(alert, route, 1)
    return RouteTestView(accepted=problem is None, problem=problem)


def _test_alert(route: AlertRoute, *, key: str, now: datetime) -> Alert:
    return Alert(
        key=f"test:{key}",
        kind=AlertKind.ENDPOINT,
        state=AlertState.BEGUN,
        text=f"This is a test of the alert route {route.name}.",
        raised_at=now,
        facts={"tenant_id": route.tenant_id, "severity": Severity.INFO.value, "test": True},
    )


ALERT_ROUTES = (
    create_alert_route,
    list_alert_routes,
    update_alert_route,
    delete_alert_route,
    test_alert_route,
)
