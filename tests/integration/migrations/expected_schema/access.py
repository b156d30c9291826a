"""Tenants, keys, sessions, secrets and idempotent replies."""

from sqlalchemy import (
    BigInteger,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    text,
)
from tests.integration.migrations.expected_schema.columns import Document, Key, Moment, belongs_to, metadata

tenants = Table(
    "tenants",
    metadata,
    Column("id", Key, primary_key=True),
    Column("name", Text, nullable=False),
    Column("limits", Document),
)

moves = Table(
    "moves",
    metadata,
    Column("id", Key, primary_key=True),
    Column("tenant_id", Key, nullable=False),
    Column("side", Text, nullable=False),
    Column("phase", Text, nullable=False),
    Column("other", Text, nullable=False),
    Column("began_at", Moment, nullable=False),
    Column("changed_at", Moment, nullable=False),
    Column("progress", Document, nullable=False),
)

locks = Table(
    "locks",
    metadata,
    Column("name", Key, primary_key=True),
    Column("holder", Key),
    Column("until", Moment),
    Column("note", Integer),
)

keys = Table(
    "keys",
    metadata,
    Column("id", Key, primary_key=True),
    Column("tenant_id", Key, nullable=False),
    Column("name", Text, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("scopes", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("expires_at", Moment),
    Column("user_id", Text),
    Column("made_by", Text),
    Index("keys_of_tenant", "tenant_id", "id"),
    Index(
        "keys_by_maker",
        "made_by",
        sqlite_where=text("made_by IS NOT NULL"),
        postgresql_where=text("made_by IS NOT NULL"),
    ),
    Index(
        "keys_of_users",
        "tenant_id",
        "expires_at",
        sqlite_where=text("user_id IS NOT NULL"),
        postgresql_where=text("user_id IS NOT NULL"),
    ),
    belongs_to("users", "user_id"),
)

sessions = Table(
    "sessions",
    metadata,
    Column("digest", LargeBinary, nullable=False),
    Column("kind", Text, nullable=False),
    Column("tenant_id", Key, nullable=False),
    Column("scopes", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("expires_at", Moment, nullable=False),
    Column("key_id", Key),
    PrimaryKeyConstraint("digest"),
    Index("sessions_by_end", "expires_at"),
    ForeignKeyConstraint(("key_id",), ("keys.id",), ondelete="CASCADE"),
    Index("sessions_of_key", "key_id"),
)
"""Dashboard sessions and login links, by the digests of their secrets."""

secrets = Table(
    "secrets",
    metadata,
    Column("tenant_id", Key, nullable=False),
    Column("name", Key, nullable=False),
    Column("sealed", Text, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("updated_at", Moment, nullable=False),
    PrimaryKeyConstraint("tenant_id", "name"),
)
"""Sealed values; the key that opens them is not in the database."""

usage = Table(
    "usage",
    metadata,
    Column("tenant_id", Key, nullable=False),
    Column("month", Key, nullable=False),
    Column("shard", Integer, nullable=False),
    Column("runs", BigInteger, nullable=False),
    Column("planner_tokens", BigInteger, nullable=False),
    PrimaryKeyConstraint("tenant_id", "month", "shard"),
)
"""What tenants have spent: on PostgreSQL, sessions count in different rows, and readers add them up."""

replies = Table(
    "replies",
    metadata,
    Column("tenant_id", Key, nullable=False),
    Column("key", Key, nullable=False),
    Column("fingerprint", Key, nullable=False),
    Column("began_at", Moment, nullable=False),
    Column("status", Integer),
    Column("body", LargeBinary, nullable=False),
    PrimaryKeyConstraint("tenant_id", "key"),
    Index("replies_by_age", "began_at"),
)

rates = Table(
    "rates",
    metadata,
    Column("window", BigInteger, nullable=False),
    Column("subject", Key, nullable=False),
    Column("drawn", BigInteger, nullable=False),
    PrimaryKeyConstraint("window", "subject"),
)
"""The window comes first, so that those that have passed are found together; unlogged on PostgreSQL."""

audit = Table(
    "audit",
    metadata,
    Column("tenant_id", Key, nullable=False),
    Column("id", Key, nullable=False),
    Column("at", Moment, nullable=False),
    Column("who", Text, nullable=False),
    Column("name", Text),
    Column("surface", Text, nullable=False),
    Column("operation", Text, nullable=False),
    Column("subject_kind", Key, nullable=False),
    Column("subject_id", Key),
    Column("reason", Text),
    Column("outcome", Text, nullable=False),
    Column("changes", Document, nullable=False),
    Column("definition", Document),
    PrimaryKeyConstraint("tenant_id", "id"),
    Index("audit_by_time", "tenant_id", "at", "id"),
    Index("audit_by_subject", "tenant_id", "subject_kind", "subject_id", "at", "id"),
    Index("audit_by_age", "at"),
)

LIMIT = ("tenant_id", "kind", "name")
run_limits = Table(
    "run_limits",
    metadata,
    *(Column(name, Key, nullable=False) for name in LIMIT),
    Column("max_in_flight", Integer),
    Column("max_per_minute", Integer),
    Column("created_at", Moment),
    Column("held_since", Moment),
    PrimaryKeyConstraint(*LIMIT),
)
"""Limits of runs for a host, a job or a key."""

limit_starts = Table(
    "limit_starts",
    metadata,
    *(Column(name, Key, nullable=False) for name in (*LIMIT, "id")),
    Column("at", Moment, nullable=False),
    Column("runs", Integer, nullable=False),
    PrimaryKeyConstraint(*LIMIT, "id"),
    ForeignKeyConstraint(LIMIT, [f"run_limits.{column}" for column in LIMIT], ondelete="CASCADE"),
)
"""How many runs a claim began under a limit of a minute."""
