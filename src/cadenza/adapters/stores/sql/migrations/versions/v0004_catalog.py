"""Add descriptions of jobs, and labels of endpoints."""

from alembic import op
from sqlalchemy import Boolean, Column, PrimaryKeyConstraint, Text, false

from cadenza.adapters.stores.sql.migrations.columns import Moment, keys

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Widen the jobs, and make the table of labels."""
    op.add_column("jobs", Column("description", Text))
    op.add_column("jobs", Column("applied", Boolean, nullable=False, server_default=false()))
    op.add_column("jobs", Column("created_at", Moment))
    op.create_table(
        "endpoint_labels",
        *keys("tenant_id", "name", "value", "endpoint_id"),
        PrimaryKeyConstraint("tenant_id", "name", "value", "endpoint_id"),
    )
