"""SLO states, alerts and heartbeats."""

from sqlalchemy import (
    Boolean,
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
"""An alert without a due moment was applied to its condition; its key stays taken."""

alert_conditions = Table(
    "alert_conditions",
    metadata,
    Column("tenant_id", Key, nullable=False),
    Column("id", Key, nullable=False),
    Column("kind", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("since", Moment, nullable=False),
    Column("job_id", Key),
    Column("endpoint_id", Key),
    Column("suppressed_by", Key),
    Column("decide_at", Moment),
    Column("details", Document, nullable=False),
    PrimaryKeyConstraint("tenant_id", "id"),
    Index("alert_conditions_by_state", "tenant_id", "state", "since", "id"),
    Index("alert_conditions_by_time", "tenant_id", "since", "id"),
    Index("alert_conditions_by_job", "tenant_id", "job_id", "since", "id"),
    Index("alert_conditions_by_endpoint", "tenant_id", "endpoint_id", "since", "id"),
    Index("alert_conditions_by_age", "since"),
    Index(
        "alert_conditions_due",
        "decide_at",
        sqlite_where=text("decide_at IS NOT NULL"),
        postgresql_where=text("decide_at IS NOT NULL"),
    ),
    Index(
        "alert_conditions_waiting",
        "tenant_id",
        "suppressed_by",
        sqlite_where=text("suppressed_by IS NOT NULL"),
        postgresql_where=text("suppressed_by IS NOT NULL"),
    ),
)

alert_messages = Table(
    "alert_messages",
    metadata,
    Column("key", Key, primary_key=True),
    Column("tenant_id", Key, nullable=False),
    Column("route_id", Key, nullable=False),
    Column("condition_id", Key),
    Column("alert_key", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("state", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("raised_at", Moment, nullable=False),
    Column("facts", Document, nullable=False),
    Column("due_at", Moment, nullable=False),
    Column("attempts", Integer, nullable=False),
    Index("alert_messages_due", "due_at"),
    Index("alert_messages_of_condition", "tenant_id", "condition_id"),
    Index("alert_messages_by_age", "raised_at"),
)

alert_routes = Table(
    "alert_routes",
    metadata,
    Column("tenant_id", Key, nullable=False),
    Column("id", Key, nullable=False),
    Column("name", Text, nullable=False),
    Column("enabled", Boolean, nullable=False),
    Column("definition", Document, nullable=False),
    Column("created_at", Moment),
    PrimaryKeyConstraint("tenant_id", "id"),
)

OF_ENDPOINT = ["tenant_id", "endpoint_id"]
ENDPOINT = ["endpoints.tenant_id", "endpoints.id"]

heartbeat_tokens = Table(
    "heartbeat_tokens",
    metadata,
    Column("tenant_id", Key, nullable=False),
    Column("endpoint_id", Key, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    PrimaryKeyConstraint(*OF_ENDPOINT),
    ForeignKeyConstraint(OF_ENDPOINT, ENDPOINT, ondelete="CASCADE"),
    Index("heartbeat_tokens_by_digest", "digest", unique=True),
)

heartbeat_signals = Table(
    "heartbeat_signals",
    metadata,
    Column("tenant_id", Key, nullable=False),
    Column("endpoint_id", Key, nullable=False),
    Column("id", Key, nullable=False),
    Column("kind", Text, nullable=False),
    Column("at", Moment, nullable=False),
    Column("body", Text),
    Column("expected_at", Moment),
    Column("slot", Moment),
    PrimaryKeyConstraint(*OF_ENDPOINT, "id"),
    ForeignKeyConstraint(OF_ENDPOINT, ENDPOINT, ondelete="CASCADE"),
)
