"""Contracts of alert routes: kept by tenant, and asked when messages are made."""

from dataclasses import replace
from typing import Any

import pytest

from cadenza.domain.channel import Channel, ChannelType
from cadenza.domain.errors import Conflict, LimitReached, NotFound
from cadenza.domain.monitoring.alert import AlertKind, Severity
from cadenza.domain.monitoring.alert_route import AlertRoute, RouteMatch
from cadenza.ports.catalog import BulkChange, BulkScope, BulkState, Page
from cadenza.ports.store import Store
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.contracts.harness import Contract
from cadenza.testing.contracts.monitoring.conditions import apply, failed, plan, take

MOST = 10


def a_route(route_id: str = "team", **fields: Any) -> AlertRoute:
    """A route of the tenant north."""
    channel = Channel(ChannelType.WEBHOOK, "https://example.com/${secret:PATH}")
    given: dict[str, Any] = {"name": route_id, "tenant_id": "north", "channel": channel, **fields}
    return AlertRoute(id=route_id, created_at=NEW_YEAR, **given)


class AlertRouteContract(Contract):
    """`add_route`, `routes`, `amend_route`, `remove_route`, and the routes of messages."""

    async def test_a_route_comes_back_as_it_was_added(self, store: Store) -> None:
        match = RouteMatch({"team": "web"}, ("shop",), (AlertKind.SLO,), (Severity.INFO, Severity.CRITICAL))
        route = a_route(match=match, enabled=False)
        await store.alert_routes.add_route(route, most=MOST)
        assert await store.alert_routes.route("north", "team") == route

    async def test_routes_come_in_the_order_of_their_ids_by_tenant(self, store: Store) -> None:
        for route in (a_route("c"), a_route("a"), a_route("b"), a_route("a", tenant_id="south")):
            await store.alert_routes.add_route(route, most=MOST)
        first = await store.alert_routes.routes("north", Page(2))
        assert [one.id for one in first] == ["a", "b"]
        assert [one.id for one in await store.alert_routes.routes("north", Page(2, "b"))] == ["c"]

    async def test_an_id_is_taken_once_and_there_are_no_more_than_allowed(self, store: Store) -> None:
        await store.alert_routes.add_route(a_route(), most=1)
        with pytest.raises(Conflict):
            await store.alert_routes.add_route(a_route(), most=9)
        with pytest.raises(LimitReached):
            await store.alert_routes.add_route(a_route("other"), most=1)
        assert len(await store.alert_routes.routes("north")) == 1
        await store.alert_routes.add_route(a_route(tenant_id="south"), most=1)

    async def test_a_route_of_another_tenant_is_not_found(self, store: Store) -> None:
        await store.alert_routes.add_route(a_route(), most=MOST)
        with pytest.raises(NotFound):
            await store.alert_routes.route("south", "team")
        with pytest.raises(NotFound):
            await store.alert_routes.amend_route("south", "team", lambda route: route)
        with pytest.raises(NotFound):
            await store.alert_routes.remove_route("south", "team")

    async def test_a_change_applies_to_the_fresh_route(self, store: Store) -> None:
        await store.alert_routes.add_route(a_route(), most=MOST)
        await store.alert_routes.amend_route("north", "team", lambda one: replace(one, name="x"))
        changed = await store.alert_routes.amend_route(
            "north", "team", lambda one: replace(one, enabled=False)
        )
        assert changed == a_route(name="x", enabled=False)

    async def test_each_matching_route_of_the_tenant_gets_a_message(self, store: Store) -> None:
        for route in (
            a_route("all"),
            a_route("web", match=RouteMatch({"team": "web"})),
            a_route("db", match=RouteMatch({"team": "db"})),
            a_route("off", enabled=False),
            a_route("foreign", tenant_id="south"),
        ):
            await store.alert_routes.add_route(route, most=MOST)
        await apply(store, failed("a"))
        await plan(store)
        found = await take(store)
        assert sorted((one.tenant_id, one.route_id) for one in found) == [("north", "all"), ("north", "web")]

    async def test_messages_of_a_deleted_route_are_dropped(self, store: Store) -> None:
        for name in ("a", "b"):
            await store.alert_routes.add_route(a_route(name), most=MOST)
        await apply(store, failed("x"))
        await plan(store)
        await store.alert_routes.remove_route("north", "a")
        assert [one.route_id for one in await take(store)] == ["b"]

    async def test_a_bulk_change_reads_and_writes_routes_in_its_commit(self, store: Store) -> None:
        for name in ("changed", "gone"):
            await store.alert_routes.add_route(a_route(name), most=MOST)
        await store.alert_routes.add_route(a_route("foreign", tenant_id="south"), most=MOST)

        def decide(current: BulkState) -> BulkChange:
            assert sorted(current.routes) == ["changed", "gone"]
            after = replace(current.routes["changed"], name="x")
            return BulkChange(routes=[after, a_route("new")], removed_routes=["gone"])

        await store.catalog.change_in_bulk("north", BulkScope(routes=True), decide)
        found = await store.alert_routes.routes("north")
        assert [(one.id, one.name) for one in found] == [("changed", "x"), ("new", "new")]
        assert len(await store.alert_routes.routes("south")) == 1
