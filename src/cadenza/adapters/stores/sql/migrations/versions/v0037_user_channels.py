"""Add the channels of users, and which of them accepted a message."""

from alembic import op
from sqlalchemy import BigInteger, Column, ForeignKeyConstraint, PrimaryKeyConstraint, text

from cadenza.adapters.stores.sql.migrations.columns import Document, keys, moments, texts

revision = "0037"
down_revision = "0033"

USER = ["tenant_id", "user_id"]
DUE = text("due_at IS NOT NULL")


def upgrade() -> None:
    """Make the table, with an index of those whose moment comes."""
    op.create_table(
        "user_channels",
        *keys(*USER),
        Column("definition", Document, nullable=False),
        *moments("due_at"),
        *texts("claim_token"),
        *moments("claim_until"),
        Column("done_seq", BigInteger, nullable=False),
        PrimaryKeyConstraint(*USER),
        ForeignKeyConstraint(USER, ["users.tenant_id", "users.id"], ondelete="CASCADE"),
    )
    op.create_index("user_channels_due", "user_channels", ["due_at"], sqlite_where=DUE, postgresql_where=DUE)
    op.add_column("pending_messages", *texts("channel"))
