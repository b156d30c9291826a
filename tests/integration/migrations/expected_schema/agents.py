"""Users, agents, conversations and undelivered messages."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Table,
    Text,
    text,
)
from tests.integration.migrations.expected_schema.columns import Document, Key, Moment, belongs_to, metadata

users = Table(
    "users",
    metadata,
    Column("tenant_id", Key, nullable=False),
    Column("id", Key, nullable=False),
    Column("timezone", Text),
    Column("created_at", Moment),
    Column("context_reset_at", Moment),
    Column("last_seq", BigInteger, nullable=False, server_default=text("0")),
    Column("sent_seq", BigInteger, nullable=False, server_default=text("0")),
    Column("expired_messages", Integer, nullable=False, server_default=text("0")),
    PrimaryKeyConstraint("tenant_id", "id"),
)
"""A transaction that numbers a user's messages locks this row, so numbers become visible in order."""

agents = Table(
    "agents",
    metadata,
    Column("tenant_id", Key, nullable=False),
    Column("id", Key, nullable=False),
    Column("name", Text, nullable=False),
    Column("instructions", Text, nullable=False),
    Column("model", Text),
    Column("created_at", Moment),
    PrimaryKeyConstraint("tenant_id", "id"),
)

conversations = Table(
    "conversations",
    metadata,
    Column("tenant_id", Key, nullable=False),
    Column("user_id", Key, nullable=False),
    Column("agent_id", Key, nullable=False),
    Column("last_number", BigInteger, nullable=False, server_default=text("0")),
    Column("turn_token", Text),
    Column("turn_until", Moment),
    PrimaryKeyConstraint("tenant_id", "user_id", "agent_id"),
    belongs_to("users", "user_id"),
    belongs_to("agents", "agent_id"),
)

conversation_messages = Table(
    "conversation_messages",
    metadata,
    Column("tenant_id", Key, nullable=False),
    Column("user_id", Key, nullable=False),
    Column("agent_id", Key, nullable=False),
    Column("number", BigInteger, nullable=False),
    Column("id", Key, nullable=False),
    Column("role", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("at", Moment, nullable=False),
    Column("turn_at", Moment, nullable=False),
    Column("origin", Document, nullable=False),
    Column("parts", Document),
    PrimaryKeyConstraint("tenant_id", "user_id", "agent_id", "number"),
    Index("conversation_messages_by_age", "at"),
    ForeignKeyConstraint(
        ("tenant_id", "user_id", "agent_id"),
        ("conversations.tenant_id", "conversations.user_id", "conversations.agent_id"),
        ondelete="CASCADE",
    ),
)

pending_messages = Table(
    "pending_messages",
    metadata,
    Column("tenant_id", Key, nullable=False),
    Column("user_id", Key, nullable=False),
    Column("seq", BigInteger, nullable=False),
    Column("id", Key, nullable=False),
    Column("agent_id", Key, nullable=False),
    Column("schedule_id", Text),
    Column("firing", Text),
    Column("message", Document, nullable=False),
    Column("created_at", Moment, nullable=False),
    Column("delivered", Boolean, nullable=False),
    Column("channel", Text),
    PrimaryKeyConstraint("tenant_id", "user_id", "seq"),
    Index(
        "pending_messages_owed",
        "tenant_id",
        "user_id",
        "seq",
        sqlite_where=text("NOT delivered"),
        postgresql_where=text("NOT delivered"),
    ),
    Index("pending_messages_by_age", "created_at"),
    belongs_to("users", "user_id"),
)

user_channels = Table(
    "user_channels",
    metadata,
    Column("tenant_id", Key, nullable=False),
    Column("user_id", Key, nullable=False),
    Column("definition", Document, nullable=False),
    Column("due_at", Moment),
    Column("claim_token", Text),
    Column("claim_until", Moment),
    Column("done_seq", BigInteger, nullable=False),
    PrimaryKeyConstraint("tenant_id", "user_id"),
    Index(
        "user_channels_due",
        "due_at",
        sqlite_where=text("due_at IS NOT NULL"),
        postgresql_where=text("due_at IS NOT NULL"),
    ),
    belongs_to("users", "user_id"),
)

agent_usage = Table(
    "agent_usage",
    metadata,
    Column("tenant_id", Key, nullable=False),
    Column("day", Key, nullable=False),
    Column("user_id", Key, nullable=False),
    Column("fires", Integer, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    PrimaryKeyConstraint("tenant_id", "day", "user_id"),
    belongs_to("users", "user_id"),
)
