"""Add limits of runs, what began under them, and the order of priorities."""

from alembic import op
from sqlalchemy import Column, ForeignKeyConstraint, Integer, PrimaryKeyConstraint, text

from cadenza.adapters.stores.sql.migrations.columns import Key, keys, moments

revision = "0033"
down_revision = "0032"

LIMIT = ["tenant_id", "kind", "name"]
IN_ORDER = text("claimable_at IS NOT NULL AND limited_by IS NOT NULL")
IN_FLIGHT = text("lease_token IS NOT NULL AND limited_by > ''")


def upgrade() -> None:
    """Make both tables, and let the state of an endpoint hold what decides when it may be claimed."""
    op.create_table(
        "run_limits",
        *keys(*LIMIT),
        Column("max_in_flight", Integer),
        Column("max_per_minute", Integer),
        *moments("created_at", "held_since"),
        PrimaryKeyConstraint(*LIMIT),
    )
    op.create_table(
        "limit_starts",
        *keys(*LIMIT, "id"),
        *moments("at", required=True),
        Column("runs", Integer, nullable=False),
        PrimaryKeyConstraint(*LIMIT, "id"),
        ForeignKeyConstraint(LIMIT, [f"run_limits.{column}" for column in LIMIT], ondelete="CASCADE"),
    )
    op.add_column("endpoint_states", Column("limited_by", Key))
    op.add_column("endpoint_states", Column("priority", Integer, nullable=False, server_default=text("0")))
    for name, columns, where in (
        (
            "endpoint_states_in_order",
            ["requirement", "tenant_id", "limited_by", "priority", "claimable_at", "rank"],
            IN_ORDER,
        ),
        ("endpoint_states_limited_in_flight", ["tenant_id", "limited_by"], IN_FLIGHT),
    ):
        op.create_index(name, "endpoint_states", columns, sqlite_where=where, postgresql_where=where)
