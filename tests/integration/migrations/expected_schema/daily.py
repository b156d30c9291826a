"""Users with a daily window, and their verdicts."""

from sqlalchemy import Boolean, Column, Index, Integer, PrimaryKeyConstraint, Table, Text, text
from tests.integration.migrations.expected_schema.columns import Document, Key, Moment, metadata

daily_users = Table(
    "daily_users",
    metadata,
    Column("tenant_id", Key, nullable=False),
    Column("user_id", Key, nullable=False),
    Column("shard", Integer, nullable=False),
    Column("next_cutoff", Moment, nullable=False),
    Column("changes", Document),
    Column("last_date", Key),
    Column("status", Text),
    Column("last_run_at", Moment),
    Column("added_at", Moment),
    PrimaryKeyConstraint("tenant_id", "user_id"),
    Index("daily_users_owed", "shard", "next_cutoff", "tenant_id", "user_id"),
)
"""The next cutoff holds the next day and its due time; a tick reads only the index."""

daily_verdicts = Table(
    "daily_verdicts",
    metadata,
    Column("tenant_id", Key, nullable=False),
    Column("user_id", Key, nullable=False),
    Column("service_date", Key, nullable=False),
    Column("status", Text, nullable=False),
    Column("due", Integer, nullable=False),
    Column("decided_at", Moment, nullable=False),
    Column("late", Boolean, nullable=False),
    Column("cause", Text),
    PrimaryKeyConstraint("tenant_id", "user_id", "service_date"),
    Index("daily_verdicts_by_day", "tenant_id", "service_date", "user_id"),
    Index(
        "daily_misses",
        "tenant_id",
        "service_date",
        "due",
        "user_id",
        sqlite_where=text("status = 'cutoff_reached'"),
        postgresql_where=text("status = 'cutoff_reached'"),
    ),
)

daily_tallies = Table(
    "daily_tallies",
    metadata,
    Column("tenant_id", Key, nullable=False),
    Column("service_date", Key, nullable=False),
    Column("due", Integer, nullable=False),
    Column("success", Integer, nullable=False),
    Column("cutoff_reached", Integer, nullable=False),
    Column("late", Integer, nullable=False),
    PrimaryKeyConstraint("tenant_id", "service_date", "due"),
)
"""Triggers count verdicts here, so that a day's rows need not be counted to show it."""

daily_gaps = Table(
    "daily_gaps",
    metadata,
    Column("tenant_id", Key, nullable=False),
    Column("user_id", Key, nullable=False),
    Column("from_date", Key, nullable=False),
    Column("to_date", Key, nullable=False),
    Column("noticed_at", Moment, nullable=False),
    Column("cause", Text, nullable=False),
    PrimaryKeyConstraint("tenant_id", "user_id", "from_date"),
    Index("daily_gaps_by_day", "tenant_id", "to_date", "from_date"),
)
