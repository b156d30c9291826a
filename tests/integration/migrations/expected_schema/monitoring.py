"""SLO states and alerts."""

from sqlalchemy import Column, Index, Integer, PrimaryKeyConstraint, Table, Text, text
from tests.integration.migrations.expected_schema.columns import Document, Key, Moment, metadata

slo_standings = Table(
    "slo_standings",
    metadata,
    Column("process", Key, nullable=False),
    Column("scheduler", Key, nullable=False),
    Column("slo", Key, nullable=False),
    Column("evaluated_at", Moment, nullable=False),
    Column("window_minutes", Integer, nullable=False),
    Column("breached_since", Moment),
    Column("state", Document, nullable=False),
    PrimaryKeyConstraint("process", "scheduler", "slo"),
)

alerts = Table(
    "alerts",
    metadata,
    Column("key", Key, primary_key=True),
    Column("kind", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("raised_at", Moment, nullable=False),
    Column("facts", Document, nullable=False),
    Column("due_at", Moment),
    Column("attempts", Integer, nullable=False),
    Index(
        "alerts_due",
        "due_at",
        sqlite_where=text("due_at IS NOT NULL"),
        postgresql_where=text("due_at IS NOT NULL"),
    ),
    Index("alerts_by_age", "raised_at"),
)
"""An alert without a due moment was sent or is given up; its key stays taken."""
