"""Add the tokens and signals of heartbeats."""

from alembic import op
from sqlalchemy import Column, ForeignKeyConstraint, LargeBinary, PrimaryKeyConstraint, Text

from cadenza.adapters.stores.sql.migrations.columns import keys, moments, texts

revision = "0029"
down_revision = "0028"

OWNER = ["tenant_id", "endpoint_id"]


def upgrade() -> None:
    """Make both tables; they end with their endpoint."""
    op.create_table(
        "heartbeat_tokens",
        *keys(*OWNER),
        Column("digest", LargeBinary, nullable=False),
        PrimaryKeyConstraint(*OWNER),
        ForeignKeyConstraint(OWNER, ["endpoints.tenant_id", "endpoints.id"], ondelete="CASCADE"),
    )
    op.create_index("heartbeat_tokens_by_digest", "heartbeat_tokens", ["digest"], unique=True)
    op.create_table(
        "heartbeat_signals",
        *keys(*OWNER, "id"),
        Column("kind", Text, nullable=False),
        *moments("at", required=True),
        *texts("body"),
        *moments("expected_at", "slot"),
        PrimaryKeyConstraint(*OWNER, "id"),
        ForeignKeyConstraint(OWNER, ["endpoints.tenant_id", "endpoints.id"], ondelete="CASCADE"),
    )
