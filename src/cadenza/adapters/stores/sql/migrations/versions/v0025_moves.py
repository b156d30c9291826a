"""Add the moves of a whole installation or of one tenant, each recorded on both sides."""

from alembic import op
from sqlalchemy import Column, Text

from cadenza.adapters.stores.sql.migrations.columns import Document, Key, keys, moments

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "moves",
        Column("id", Key, primary_key=True),
        *keys("tenant_id"),
        *(Column(name, Text, nullable=False) for name in ("side", "phase", "other")),
        *moments("began_at", "changed_at", required=True),
        Column("progress", Document, nullable=False),
    )
