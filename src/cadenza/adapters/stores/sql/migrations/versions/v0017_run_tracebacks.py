"""Add the traceback of runs whose function raised."""

from alembic import op
from sqlalchemy import Column, Text

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    """Add the column."""
    op.add_column("runs", Column("traceback", Text))
