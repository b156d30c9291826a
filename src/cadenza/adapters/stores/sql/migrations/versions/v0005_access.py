"""Add keys, limits, usage, idempotent replies and rates."""

from alembic import op
from sqlalchemy import BigInteger, Column, Integer, LargeBinary, PrimaryKeyConstraint, Text

from cadenza.adapters.stores.sql.migrations.columns import Document, Key, keys, moments

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Add the limits of tenants, and make the tables."""
    op.add_column("tenants", Column("limits", Document))
    _usage()
    _keys()
    _replies()
    _rates()


def _usage() -> None:
    op.create_table(
        "usage",
        *keys("tenant_id", "month"),
        Column("shard", Integer, nullable=False),
        Column("runs", BigInteger, nullable=False),
        Column("planner_tokens", BigInteger, nullable=False),
        PrimaryKeyConstraint("tenant_id", "month", "shard"),
    )


def _keys() -> None:
    op.create_table(
        "keys",
        Column("id", Key, primary_key=True),
        *keys("tenant_id"),
        Column("name", Text, nullable=False),
        Column("digest", LargeBinary, nullable=False),
        Column("scopes", Text, nullable=False),
        *moments("created_at", required=True),
        *moments("expires_at"),
    )
    op.create_index("keys_of_tenant", "keys", ["tenant_id", "id"])


def _replies() -> None:
    op.create_table(
        "replies",
        *keys("tenant_id", "key", "fingerprint"),
        *moments("began_at", required=True),
        Column("status", Integer),
        Column("body", LargeBinary, nullable=False),
        PrimaryKeyConstraint("tenant_id", "key"),
    )
    op.create_index("replies_by_age", "replies", ["began_at"])


def _rates() -> None:
    """What was drawn in a window is worth nothing soon after, so a crash may take it."""
    unlogged = op.get_context().dialect.name == "postgresql"
    op.create_table(
        "rates",
        Column("window", BigInteger, nullable=False),
        *keys("subject"),
        Column("drawn", BigInteger, nullable=False),
        PrimaryKeyConstraint("window", "subject"),
        prefixes=["UNLOGGED"] if unlogged else [],
    )
