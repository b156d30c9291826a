"""Add foreign keys to the tables that no cycle of a worker writes; rows whose owner is gone are deleted."""

from typing import NamedTuple

from alembic import op
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Computed,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    Text,
    text,
)

from cadenza.adapters.stores.sql.migrations.columns import Document, Key, Serial, keys, moments, texts
from cadenza.adapters.stores.sql.migrations.versions.v0008_agents import PATH, schedules_view

revision = "0019"
down_revision = "0018"


class ForeignKey(NamedTuple):
    """Rows of a table that belong to a row of another, and are deleted with it unless said otherwise."""

    child: str
    columns: tuple[str, ...]
    parent: str
    parent_columns: tuple[str, ...] = ("tenant_id", "id")
    ondelete: str | None = "CASCADE"


USER = ("tenant_id", "user_id")
AGENT = ("tenant_id", "agent_id")
ENDPOINT = ("tenant_id", "endpoint_id")
CONVERSATION = ("tenant_id", "user_id", "agent_id")
OWNERS = (
    ForeignKey("endpoints", USER, "users", ondelete=None),
    ForeignKey("endpoints", AGENT, "agents", ondelete=None),
)
"""Of schedules. They are not deleted by the database: their runs and states have no foreign keys."""
REFERENCES = (
    ForeignKey("conversations", USER, "users"),
    ForeignKey("conversations", AGENT, "agents"),
    ForeignKey("conversation_messages", CONVERSATION, "conversations", CONVERSATION),
    ForeignKey("pending_messages", USER, "users"),
    ForeignKey("agent_usage", USER, "users"),
    ForeignKey("keys", USER, "users"),
    ForeignKey("sessions", ("key_id",), "keys", ("id",)),
    ForeignKey("rules", ("tenant_id", "job_id"), "jobs"),
    ForeignKey("hints", ENDPOINT, "endpoints"),
    ForeignKey("endpoint_labels", ENDPOINT, "endpoints"),
    ForeignKey("analyses", ENDPOINT, "endpoints"),
    ForeignKey("looks", ENDPOINT, "endpoints"),
)
"""Orphans are deleted in this order: those of a table after those of its owner."""
CHILD_INDEXES = (
    ("endpoint_labels_of_endpoint", "endpoint_labels", list(ENDPOINT)),
    ("sessions_of_key", "sessions", ["key_id"]),
)
"""Where no index begins with the owner: without one, to delete an owner is to read the whole table."""


def upgrade() -> None:
    """Delete orphans, then let the database refuse new ones."""
    dialect = op.get_context().dialect.name
    _delete_orphan_schedules(dialect)
    for one in REFERENCES:
        op.execute(f"DELETE FROM {one.child} AS c WHERE {_orphaned(one)}")
    op.execute("DROP VIEW schedules")
    op.execute("DROP INDEX endpoints_of_user")
    for child in dict.fromkeys(one.child for one in (*OWNERS, *REFERENCES)):
        _refer(child, dialect)
    of_users = text("user_id IS NOT NULL")
    op.create_index(
        "endpoints_of_user",
        "endpoints",
        ["tenant_id", "user_id", "id"],
        sqlite_where=of_users,
        postgresql_where=of_users,
    )
    for name, table, columns in CHILD_INDEXES:
        op.create_index(name, table, columns)
    op.execute(schedules_view(dialect, user_id="e.user_id", agent_id="e.agent_id"))


def _orphaned(one: ForeignKey, **expressions: str) -> str:
    """The condition under which the owner of a row `c` is named and missing."""
    named = [expressions.get(column, f"c.{column}") for column in one.columns]
    same = " AND ".join(f"p.{there} = {here}" for here, there in zip(named, one.parent_columns, strict=True))
    return f"{named[-1]} IS NOT NULL AND NOT EXISTS (SELECT 1 FROM {one.parent} AS p WHERE {same})"


def _delete_orphan_schedules(dialect: str) -> None:
    of_definition = {name: PATH[dialect].format(name) for name in ("user_id", "agent_id")}
    orphaned = " OR ".join(f"({_orphaned(one, **of_definition)})" for one in OWNERS)
    schedules = f"SELECT c.tenant_id, c.id FROM endpoints AS c WHERE {orphaned}"
    for table in ("endpoint_states", "runs"):
        op.execute(f"DELETE FROM {table} WHERE (tenant_id, endpoint_id) IN ({schedules})")
    op.execute(f"DELETE FROM endpoints AS c WHERE {orphaned}")


def _refer(child: str, dialect: str) -> None:
    """Add the foreign keys of a table, which SQLite makes anew for it."""
    with op.batch_alter_table(child, copy_from=TABLES.tables[child]) as batch:
        if child == "endpoints":
            for column in ("user_id", "agent_id"):
                value = Computed(PATH[dialect].format(column), persisted=dialect == "postgresql")
                batch.add_column(Column(column, Key, value))
        for one in (*OWNERS, *REFERENCES):
            if one.child == child:
                batch.create_foreign_key(
                    f"{child}_{one.parent}_fkey",
                    one.parent,
                    list(one.columns),
                    list(one.parent_columns),
                    ondelete=one.ondelete,
                )


def _index(name: str, *columns: str, where: str | None = None) -> Index:
    condition = None if where is None else text(where)
    return Index(name, *columns, sqlite_where=condition)


TABLES = MetaData()
"""The tables as they were before, from which SQLite copies."""
Table(
    "endpoints",
    TABLES,
    *keys("tenant_id", "id", "job_id"),
    Column("name", Text, nullable=False),
    Column("description", Text),
    Column("definition", Document, nullable=False),
    PrimaryKeyConstraint("tenant_id", "id"),
    _index("endpoints_of_job", "tenant_id", "job_id", "id"),
)
Table(
    "conversations",
    TABLES,
    *keys(*CONVERSATION),
    Column("last_number", BigInteger, nullable=False, server_default=text("0")),
    Column("turn_token", Text),
    *moments("turn_until"),
    PrimaryKeyConstraint(*CONVERSATION),
)
Table(
    "conversation_messages",
    TABLES,
    *keys(*CONVERSATION),
    Column("number", BigInteger, nullable=False),
    *keys("id"),
    *(Column(name, Text, nullable=False) for name in ("role", "text")),
    *moments("at", "turn_at", required=True),
    Column("origin", Document, nullable=False),
    Column("parts", Document),
    PrimaryKeyConstraint(*CONVERSATION, "number"),
    _index("conversation_messages_by_age", "at"),
)
Table(
    "pending_messages",
    TABLES,
    *keys(*USER),
    Column("seq", BigInteger, nullable=False),
    *keys("id", "agent_id"),
    *texts("schedule_id", "firing"),
    Column("message", Document, nullable=False),
    *moments("created_at", "expires_at", required=True),
    Column("delivered", Boolean, nullable=False),
    PrimaryKeyConstraint(*USER, "seq"),
    _index("pending_messages_owed", *USER, "seq", where="NOT delivered"),
    _index("pending_messages_by_age", "created_at"),
    _index("pending_messages_by_expiry", "expires_at"),
)
Table(
    "agent_usage",
    TABLES,
    *keys("tenant_id", "day", "user_id"),
    Column("fires", Integer, nullable=False),
    Column("tokens", BigInteger, nullable=False),
    PrimaryKeyConstraint("tenant_id", "day", "user_id"),
)
Table(
    "keys",
    TABLES,
    Column("id", Key, primary_key=True),
    *keys("tenant_id"),
    Column("name", Text, nullable=False),
    Column("digest", LargeBinary, nullable=False),
    Column("scopes", Text, nullable=False),
    *moments("created_at", required=True),
    *moments("expires_at"),
    Column("user_id", Text),
    _index("keys_of_tenant", "tenant_id", "id"),
    _index("keys_of_users", "tenant_id", "expires_at", where="user_id IS NOT NULL"),
)
Table(
    "sessions",
    TABLES,
    Column("digest", LargeBinary, nullable=False),
    Column("kind", Text, nullable=False),
    *keys("tenant_id"),
    Column("scopes", Text, nullable=False),
    *moments("created_at", "expires_at", required=True),
    Column("key_id", Key),
    PrimaryKeyConstraint("digest"),
    _index("sessions_by_end", "expires_at"),
)
Table(
    "rules",
    TABLES,
    *keys("tenant_id", "id", "job_id"),
    Column("endpoint_id", Key),
    Column("name", Text, nullable=False),
    Column("definition", Document, nullable=False),
    *moments("created_at"),
    PrimaryKeyConstraint("tenant_id", "id"),
    _index("rules_of_job", "tenant_id", "job_id", "id"),
)
Table(
    "hints",
    TABLES,
    Column("id", Serial, primary_key=True, autoincrement=True),
    *keys(*ENDPOINT),
    Column("kind", Text, nullable=False),
    *moments("written_at", required=True),
    Column("origin", Text, nullable=False),
    Column("reason", Text),
    *moments("expires_at"),
    Column("interval_ms", BigInteger),
    *moments("at"),
    _index("hints_of_endpoint", *ENDPOINT, "id"),
)
Table(
    "endpoint_labels",
    TABLES,
    *keys("tenant_id", "name", "value", "endpoint_id"),
    PrimaryKeyConstraint("tenant_id", "name", "value", "endpoint_id"),
)
Table(
    "analyses",
    TABLES,
    *keys(*ENDPOINT, "id", "job_id"),
    *(Column(name, Text, nullable=False) for name in ("planner", "trigger")),
    *moments("began_at", required=True),
    Column("duration_ms", BigInteger, nullable=False),
    Column("reasoning", Text, nullable=False),
    Column("calls", Document),
    *(Column(name, BigInteger, nullable=False) for name in ("input_tokens", "output_tokens")),
    *moments("look_again_at"),
    Column("shadow", Boolean, nullable=False),
    *texts("error"),
    PrimaryKeyConstraint(*ENDPOINT, "id"),
    _index("analyses_by_age", "began_at"),
    _index("analyses_of_tenant", "tenant_id", "began_at", "id"),
)
Table(
    "looks",
    TABLES,
    *keys(*ENDPOINT, "planner"),
    *moments("at", required=True),
    PrimaryKeyConstraint(*ENDPOINT, "planner"),
    _index("looks_due", "at"),
)
