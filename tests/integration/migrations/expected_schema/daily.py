"""Users with a daily window, and their verdicts."""

from sqlalchemy import Boolean, Column, Index, Integer, PrimaryKeyConstraint, Table, Text, text
from tests.integration.migrations.expected_schema.columns import Document, Key, Moment, metadata

daily_programmes = Table(
    "daily_programmes",
    metadata,
    Column("tenant_id", Key, nullable=False),
    Column("id", Key, nullable=False),
    Column("definition", Document, nullable=False),
    Column("created_at", Moment),
    PrimaryKeyConstraint("tenant_id", "id"),
)
"""A tenant has the programme `daily` whether or not it stands here."""


def programme() -> "Column[str]":
    return Column("programme_id", Key, nullable=False, server_default=text("'daily'"))


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
    programme(),
    Column("timezone", Text, nullable=False, server_default=text("'UTC'")),
    Column("next_date", Key, nullable=False),
    Column("due", Integer, nullable=False),
    Column("opens_at", Moment, nullable=False),
    Column("previous_cutoff", Moment),
    PrimaryKeyConstraint("tenant_id", "programme_id", "user_id"),
    Index(
        "daily_users_opening",
        *("shard", "opens_at", "tenant_id", "programme_id", "user_id", "next_cutoff", "next_date", "due"),
    ),
    Index(
        "daily_users_owed",
        *("shard", "next_date", "next_cutoff", "tenant_id", "programme_id", "due"),
    ),
)
"""A tick reads only the first index."""

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
    programme(),
    PrimaryKeyConstraint("tenant_id", "programme_id", "user_id", "service_date"),
    Index("daily_verdicts_by_day", "tenant_id", "programme_id", "service_date", "user_id"),
    Index(
        "daily_misses",
        "tenant_id",
        "programme_id",
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
    programme(),
    PrimaryKeyConstraint("tenant_id", "programme_id", "service_date", "due"),
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
    programme(),
    PrimaryKeyConstraint("tenant_id", "programme_id", "user_id", "from_date"),
    Index("daily_gaps_by_day", "tenant_id", "programme_id", "to_date", "from_date"),
)
