"""Add SLO states and alerts."""

from alembic import op
from sqlalchemy import Column, Integer, PrimaryKeyConstraint, Text, text

from cadenza.adapters.stores.sql.migrations.columns import Document, Key, keys, moments

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "slo_standings",
        *keys("process", "scheduler", "slo"),
        *moments("evaluated_at", required=True),
        Column("window_minutes", Integer, nullable=False),
        *moments("breached_since"),
        Column("state", Document, nullable=False),
        PrimaryKeyConstraint("process", "scheduler", "slo"),
    )
    op.create_table(
        "alerts",
        Column("key", Key, primary_key=True),
        *[Column(name, Text, nullable=False) for name in ("kind", "state", "text")],
        *moments("raised_at", required=True),
        Column("facts", Document, nullable=False),
        *moments("due_at"),
        Column("attempts", Integer, nullable=False),
    )
    some = text("due_at IS NOT NULL")
    op.create_index("alerts_due", "alerts", ["due_at"], sqlite_where=some, postgresql_where=some)
    op.create_index("alerts_by_age", "alerts", ["raised_at"])
