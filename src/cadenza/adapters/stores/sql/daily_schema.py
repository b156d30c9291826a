"""The tables of users with a daily job, beside all others."""

from sqlalchemy import Boolean, Column, Index, Integer, PrimaryKeyConstraint, Table, Text, text

from cadenza.adapters.stores.sql.agent_schema import metadata
from cadenza.adapters.stores.sql.schema import Document, Key, Moment

__all__ = ["metadata"]

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
"""The next cutoff is the next day and its due time in one; the index alone tells a tick who is owed one."""

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
"""Triggers count verdicts here as they come and go, so that nobody counts a day's rows to show it."""

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
)
