"""Add dashboard sessions and login links."""

from alembic import op
from sqlalchemy import Column, LargeBinary, PrimaryKeyConstraint, Text

from cadenza.adapters.stores.sql.migrations.columns import Key, keys, moments

revision = "0012"
down_revision = "0010"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "sessions",
        Column("digest", LargeBinary, nullable=False),
        Column("kind", Text, nullable=False),
        *keys("tenant_id"),
        Column("scopes", Text, nullable=False),
        *moments("created_at", "expires_at", required=True),
        Column("key_id", Key),
        PrimaryKeyConstraint("digest"),
    )
    op.create_index("sessions_by_end", "sessions", ["expires_at"])
