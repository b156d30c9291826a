"""Add the feed of finished runs, analyses, and what planners remember and want to analyse again."""

from alembic import op
from sqlalchemy import BigInteger, Boolean, Column, PrimaryKeyConstraint, Text

from cadenza.adapters.stores.sql.migrations.columns import Document, keys, moments, texts

revision = "0006"
down_revision = "0005"

FEED = """
ALTER TABLE runs ALTER COLUMN txid SET DEFAULT (pg_current_xact_id()::text)::bigint;
CREATE INDEX runs_feed ON runs (txid)
"""


def upgrade() -> None:
    """Let runs carry their transaction, and make the tables."""
    op.add_column("runs", Column("txid", BigInteger))
    if op.get_context().dialect.name == "postgresql":
        op.execute(FEED)
    _analyses()
    _looks()
    _notes()


def _analyses() -> None:
    op.create_table(
        "analyses",
        *keys("tenant_id", "endpoint_id", "id", "job_id"),
        *(Column(name, Text, nullable=False) for name in ("planner", "trigger")),
        *moments("began_at", required=True),
        Column("duration_ms", BigInteger, nullable=False),
        Column("reasoning", Text, nullable=False),
        Column("calls", Document),
        *(Column(name, BigInteger, nullable=False) for name in ("input_tokens", "output_tokens")),
        *moments("look_again_at"),
        Column("shadow", Boolean, nullable=False),
        *texts("error"),
        PrimaryKeyConstraint("tenant_id", "endpoint_id", "id"),
    )
    op.create_index("analyses_by_age", "analyses", ["began_at"])


def _looks() -> None:
    op.create_table(
        "looks",
        *keys("tenant_id", "endpoint_id", "planner"),
        *moments("at", required=True),
        PrimaryKeyConstraint("tenant_id", "endpoint_id", "planner"),
    )
    op.create_index("looks_due", "looks", ["at"])


def _notes() -> None:
    op.create_table(
        "notes",
        *keys("planner", "tenant_id", "endpoint_id"),
        Column("note", Document, nullable=False),
        *moments("taken_at", required=True),
        PrimaryKeyConstraint("planner", "tenant_id", "endpoint_id"),
    )
