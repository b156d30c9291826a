"""Add who paused a job."""

from alembic import op
from sqlalchemy import Column, Text

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    """Widen the jobs."""
    op.add_column("jobs", Column("pause_origin", Text))
