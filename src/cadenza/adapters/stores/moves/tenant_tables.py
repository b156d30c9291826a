"""Which rows of which tables belong to one tenant."""

from collections.abc import Sequence

from cadenza.domain.access.move import StoredTable

OF_THE_INSTALLATION = {
    "functions": "what its processes declare",
    "leases": "its processes'; a tenant is moved when none of its runs is in flight",
    "sessions": "logins to its dashboard: people log in where the tenant is now",
    "slo_standings": "what its processes measure",
}
"""Tables that stay when a tenant is moved; every other table has the rows of tenants."""
OWNED = {
    "tenants": "id = {tenant}",
    "alerts": "facts ->> 'tenant_id' = {tenant}",
}
BY_TENANT = "tenant_id = {tenant}"
KEYS = {"hints": ("tenant_id", "endpoint_id", "id")}
"""By which the rows of a tenant are walked through, where the primary key is not enough."""
KEPT_AT_SOURCE = frozenset({"tenants", "keys"})
"""What remains when a tenant is removed: so whoever still asks here is told that it was moved."""


def literal(text: str) -> str:
    """A text in SQL."""
    return "'" + text.replace("'", "''") + "'"


def tenant_tables(tables: Sequence[StoredTable], numbered: Sequence[tuple[str, str]]) -> list[StoredTable]:
    """The tables of one tenant; what each database numbers for itself is not carried."""
    found = []
    for table in tables:
        if table.name not in OF_THE_INSTALLATION:
            own = tuple(column for name, column in numbered if name == table.name)
            stays, key = table.name in KEPT_AT_SOURCE, KEYS.get(table.name, table.key)
            found.append(table._replace(numbered=own, key=key, stays=stays))
    return found


def of_tenant(table: str, tenant_id: str) -> str:
    """The condition under which a row of a table belongs to a tenant."""
    return OWNED.get(table, BY_TENANT).format(tenant=literal(tenant_id))
