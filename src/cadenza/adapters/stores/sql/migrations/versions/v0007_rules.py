"""Add rules."""

from alembic import op
from sqlalchemy import Column, PrimaryKeyConstraint, Text

from cadenza.adapters.stores.sql.migrations.columns import Document, Key, keys, moments

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    """Make the table of rules."""
    op.create_table(
        "rules",
        *keys("tenant_id", "id", "job_id"),
        Column("endpoint_id", Key),
        Column("name", Text, nullable=False),
        Column("definition", Document, nullable=False),
        *moments("created_at"),
        PrimaryKeyConstraint("tenant_id", "id"),
    )
    op.create_index("rules_of_job", "rules", ["tenant_id", "job_id", "id"])
