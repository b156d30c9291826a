"""Add what a worker must have to run an endpoint, and the functions that processes have declared."""

from alembic import op
from sqlalchemy import Column, text

from cadenza.adapters.stores.sql.migrations.columns import Key, Moment

revision = "0016"
down_revision = "0015"

KIND = {
    "sqlite": "json_extract(definition, '$.target.kind')",
    "postgresql": "definition -> 'target' ->> 'kind'",
}
FUNCTION = {
    "sqlite": "json_extract(definition, '$.target.function')",
    "postgresql": "definition -> 'target' ->> 'function'",
}
DUE, RETIRED = text("claimable_at IS NOT NULL"), text("next_source = 'retired'")


def upgrade() -> None:
    """Add the column, fill it from the definitions, and make the indexes anew."""
    op.add_column("endpoint_states", Column("requirement", Key, nullable=False, server_default=text("''")))
    dialect = op.get_context().dialect.name
    op.execute(
        "UPDATE endpoint_states SET requirement ="
        f" (SELECT CASE WHEN {KIND[dialect]} = 'callable' THEN 'callable:' || ({FUNCTION[dialect]})"
        f" ELSE coalesce({KIND[dialect]}, '') END FROM endpoints e"
        " WHERE e.tenant_id = endpoint_states.tenant_id AND e.id = endpoint_states.endpoint_id)"
    )
    for name, columns in (
        ("endpoint_states_due", ["requirement", "claimable_at", "rank"]),
        ("endpoint_states_due_of_tenant", ["requirement", "tenant_id", "claimable_at", "rank"]),
    ):
        op.drop_index(name, "endpoint_states")
        op.create_index(name, "endpoint_states", columns, sqlite_where=DUE, postgresql_where=DUE)
    op.create_index(
        "endpoint_states_retired",
        "endpoint_states",
        ["requirement"],
        sqlite_where=RETIRED,
        postgresql_where=RETIRED,
    )
    op.create_table(
        "functions", Column("name", Key, primary_key=True), Column("declared_at", Moment, nullable=False)
    )
