"""Add metadata of jobs."""

from alembic import op
from sqlalchemy import Column

from cadenza.adapters.stores.sql.migrations.columns import Document

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Widen the jobs."""
    op.add_column("jobs", Column("metadata", Document))
