"""Let agents be services or processes of their own, and store the turns that wait for their answers."""

from alembic import op
from sqlalchemy import Column, ForeignKeyConstraint, Integer, PrimaryKeyConstraint, Text, text

from cadenza.adapters.stores.sql.migrations.columns import Document, keys, moments, texts

revision = "0036"
down_revision = "0033"

OPEN = text("state <> 'answered'")


def upgrade() -> None:
    """Make the table, with an index for what can be taken and one for what is old."""
    op.add_column("agents", Column("runtime", Text, nullable=False, server_default=text("'model'")))
    op.add_column("agents", Column("target", Document))
    op.create_table(
        "agent_turns",
        *keys("id", "tenant_id", "user_id", "agent_id"),
        Column("payload", Document),
        *moments("created_at", "expires_at", required=True),
        Column("state", Text, nullable=False),
        *texts("token"),
        Column("earlier_tokens", Document, nullable=False),
        *moments("lease_until"),
        Column("attempts", Integer, nullable=False),
        Column("calls", Document, nullable=False),
        Column("answer", Document),
        Column("refused_answers", Integer, nullable=False),
        PrimaryKeyConstraint("id"),
        ForeignKeyConstraint(["tenant_id", "user_id"], ["users.tenant_id", "users.id"], ondelete="CASCADE"),
        ForeignKeyConstraint(
            ["tenant_id", "agent_id"], ["agents.tenant_id", "agents.id"], ondelete="CASCADE"
        ),
    )
    op.create_index(
        "agent_turns_open",
        "agent_turns",
        ["tenant_id", "agent_id", "created_at"],
        sqlite_where=OPEN,
        postgresql_where=OPEN,
    )
    op.create_index("agent_turns_of_users", "agent_turns", ["tenant_id", "user_id"])
    op.create_index("agent_turns_by_age", "agent_turns", ["expires_at"])
