"""Add an index of gaps by tenant and day, so that the gaps over a day can be counted."""

from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Make the index."""
    op.create_index("daily_gaps_by_day", "daily_gaps", ["tenant_id", "to_date", "from_date"])
