"""Add users with a daily window, their verdicts and gaps."""

from alembic import op
from sqlalchemy import Boolean, Column, Integer, PrimaryKeyConstraint, Text

from cadenza.adapters.stores.sql.migrations.columns import Document, Key, keys, moments, texts

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Make the tables."""
    _users()
    _verdicts()
    _gaps()


def _users() -> None:
    op.create_table(
        "daily_users",
        *keys("tenant_id", "user_id"),
        Column("shard", Integer, nullable=False),
        *moments("next_cutoff", required=True),
        Column("changes", Document),
        Column("last_date", Key),
        *texts("status"),
        *moments("last_run_at", "added_at"),
        PrimaryKeyConstraint("tenant_id", "user_id"),
    )
    op.create_index("daily_users_owed", "daily_users", ["shard", "next_cutoff", "tenant_id", "user_id"])


def _verdicts() -> None:
    op.create_table(
        "daily_verdicts",
        *keys("tenant_id", "user_id", "service_date"),
        Column("status", Text, nullable=False),
        Column("due", Integer, nullable=False),
        *moments("decided_at", required=True),
        Column("late", Boolean, nullable=False),
        *texts("cause"),
        PrimaryKeyConstraint("tenant_id", "user_id", "service_date"),
    )
    op.create_index("daily_verdicts_by_day", "daily_verdicts", ["tenant_id", "service_date", "user_id"])


def _gaps() -> None:
    op.create_table(
        "daily_gaps",
        *keys("tenant_id", "user_id", "from_date", "to_date"),
        *moments("noticed_at", required=True),
        Column("cause", Text, nullable=False),
        PrimaryKeyConstraint("tenant_id", "user_id", "from_date"),
    )
