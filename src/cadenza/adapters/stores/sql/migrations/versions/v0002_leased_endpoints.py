"""Add an index of endpoints by lease."""

from alembic import op
from sqlalchemy import text

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the index over what is leased."""
    held = text("lease_token IS NOT NULL")
    op.create_index(
        "endpoint_states_leased",
        "endpoint_states",
        ["lease_token"],
        sqlite_where=held,
        postgresql_where=held,
    )
