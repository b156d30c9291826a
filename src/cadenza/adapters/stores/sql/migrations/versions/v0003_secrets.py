"""Add sealed secrets."""

from alembic import op
from sqlalchemy import Column, PrimaryKeyConstraint, Text

from cadenza.adapters.stores.sql.migrations.columns import keys, moments

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the table of secrets."""
    op.create_table(
        "secrets",
        *keys("tenant_id", "name"),
        Column("sealed", Text, nullable=False),
        *moments("created_at", "updated_at", required=True),
        PrimaryKeyConstraint("tenant_id", "name"),
    )
