"""Alert routes in memory."""

from cadenza.adapters.stores.common import already_exists, not_found, same_route, too_many_routes
from cadenza.adapters.stores.memory.tables import MemoryTables
from cadenza.domain.monitoring.alert_route import AlertRoute
from cadenza.ports.alerting import RouteChange
from cadenza.ports.catalog import FIRST_PAGE, Page


class MemoryAlertRoutes:
    """Routes by their tenants and ids."""

    def __init__(self, tables: MemoryTables) -> None:
        self._tables = tables
        self._lock = tables.lock

    async def add_route(self, route: AlertRoute, *, most: int) -> None:
        with self._lock:
            if (route.tenant_id, route.id) in self._tables.alert_routes:
                raise already_exists("alert route", route.id)
            if len(self._of(route.tenant_id)) >= most:
                raise too_many_routes(most)
            self._tables.alert_routes[route.tenant_id, route.id] = route

    async def route(self, tenant_id: str, route_id: str) -> AlertRoute:
        with self._lock:
            return self._route(tenant_id, route_id)

    async def routes(self, tenant_id: str, page: Page = FIRST_PAGE) -> list[AlertRoute]:
        with self._lock:
            return [one for one in self._of(tenant_id) if one.id > (page.after or "")][: page.limit]

    async def amend_route(self, tenant_id: str, route_id: str, change: RouteChange) -> AlertRoute:
        with self._lock:
            before = self._route(tenant_id, route_id)
            after = same_route(before, change(before))
            self._tables.alert_routes[tenant_id, route_id] = after
            return after

    async def remove_route(self, tenant_id: str, route_id: str) -> None:
        with self._lock:
            self._route(tenant_id, route_id)
            drop_route(self._tables, tenant_id, route_id)

    def _of(self, tenant_id: str) -> list[AlertRoute]:
        found = [one for one in self._tables.alert_routes.values() if one.tenant_id == tenant_id]
        return sorted(found, key=lambda route: route.id)

    def _route(self, tenant_id: str, route_id: str) -> AlertRoute:
        try:
            return self._tables.alert_routes[tenant_id, route_id]
        except KeyError:
            raise not_found("alert route", route_id) from None


def drop_route(tables: MemoryTables, tenant_id: str, route_id: str) -> None:
    """Delete a route with the messages that wait for it; with the lock held."""
    tables.alert_routes.pop((tenant_id, route_id), None)
    for key, stored in list(tables.alert_messages.items()):
        if (stored.message.tenant_id, stored.message.route_id) == (tenant_id, route_id):
            del tables.alert_messages[key]
