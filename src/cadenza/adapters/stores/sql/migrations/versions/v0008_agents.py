"""Add users, agents, conversations, undelivered messages, and the usage of agents."""

from alembic import op
from sqlalchemy import BigInteger, Boolean, Column, Integer, PrimaryKeyConstraint, Text, text

from cadenza.adapters.stores.sql.migrations.columns import Document, keys, moments, texts

revision = "0008"
down_revision = "0007"

PATH = {"sqlite": "json_extract(definition, '$.target.{}')", "postgresql": "(definition #>> '{{target,{}}}')"}
BASELINE = {
    "sqlite": "json_extract(e.definition, '$.baseline.{}')",
    "postgresql": "e.definition #>> '{{baseline,{}}}'",
}


def upgrade() -> None:
    """Make the tables, the index by which schedules are found, and the view that shows them."""
    dialect = op.get_context().dialect.name
    _people()
    _conversations()
    _pending_messages()
    _agent_usage()
    _user_keys()
    user_id = PATH[dialect].format("user_id")
    op.execute(
        f"CREATE INDEX endpoints_of_user ON endpoints (tenant_id, {user_id}, id) WHERE {user_id} IS NOT NULL"
    )
    target = PATH[dialect].replace("definition", "e.definition").format
    op.execute(schedules_view(dialect, user_id=target("user_id"), agent_id=target("agent_id")))


def _people() -> None:
    op.create_table(
        "users",
        *keys("tenant_id", "id"),
        *texts("timezone"),
        *moments("created_at", "context_reset_at"),
        Column("last_seq", BigInteger, nullable=False, server_default=text("0")),
        PrimaryKeyConstraint("tenant_id", "id"),
    )
    op.create_table(
        "agents",
        *keys("tenant_id", "id"),
        Column("name", Text, nullable=False),
        Column("instructions", Text, nullable=False),
        *texts("model"),
        *moments("created_at"),
        PrimaryKeyConstraint("tenant_id", "id"),
    )


def _conversations() -> None:
    op.create_table(
        "conversations",
        *keys("tenant_id", "user_id", "agent_id"),
        Column("last_number", BigInteger, nullable=False, server_default=text("0")),
        Column("turn_token", Text),
        *moments("turn_until"),
        PrimaryKeyConstraint("tenant_id", "user_id", "agent_id"),
    )
    op.create_table(
        "conversation_messages",
        *keys("tenant_id", "user_id", "agent_id"),
        Column("number", BigInteger, nullable=False),
        *keys("id"),
        *(Column(name, Text, nullable=False) for name in ("role", "text")),
        *moments("at", "turn_at", required=True),
        Column("origin", Document, nullable=False),
        Column("parts", Document),
        PrimaryKeyConstraint("tenant_id", "user_id", "agent_id", "number"),
    )
    op.create_index("conversation_messages_by_age", "conversation_messages", ["at"])


def _pending_messages() -> None:
    op.create_table(
        "pending_messages",
        *keys("tenant_id", "user_id"),
        Column("seq", BigInteger, nullable=False),
        *keys("id", "agent_id"),
        *texts("schedule_id", "firing"),
        Column("message", Document, nullable=False),
        *moments("created_at", "expires_at", required=True),
        Column("delivered", Boolean, nullable=False),
        PrimaryKeyConstraint("tenant_id", "user_id", "seq"),
    )
    undelivered = text("NOT delivered")
    op.create_index(
        "pending_messages_owed",
        "pending_messages",
        ["tenant_id", "user_id", "seq"],
        sqlite_where=undelivered,
        postgresql_where=undelivered,
    )
    op.create_index("pending_messages_by_age", "pending_messages", ["created_at"])
    op.create_index("pending_messages_by_expiry", "pending_messages", ["expires_at"])


def _agent_usage() -> None:
    op.create_table(
        "agent_usage",
        *keys("tenant_id", "day", "user_id"),
        Column("fires", Integer, nullable=False),
        Column("tokens", BigInteger, nullable=False),
        PrimaryKeyConstraint("tenant_id", "day", "user_id"),
    )


def _user_keys() -> None:
    op.add_column("keys", Column("user_id", Text))
    of_users = text("user_id IS NOT NULL")
    op.create_index(
        "keys_of_users",
        "keys",
        ["tenant_id", "expires_at"],
        sqlite_where=of_users,
        postgresql_where=of_users,
    )


def schedules_view(dialect: str, *, user_id: str, agent_id: str) -> str:
    """Agent schedules by the names that users of such tables know; moments as both databases write them."""
    target = PATH[dialect].replace("definition", "e.definition").format
    baseline = BASELINE[dialect].format
    created = {
        "sqlite": "json_extract(e.definition, '$.created_at')",
        "postgresql": "e.definition ->> 'created_at'",
    }[dialect]
    next_run_at = {
        "sqlite": "strftime('%Y-%m-%dT%H:%M:%fZ', s.next_run_at / 1000000.0, 'unixepoch')",
        "postgresql": "(to_json(s.next_run_at AT TIME ZONE 'UTC') #>> '{}') || 'Z'",
    }[dialect]
    columns = {
        "user_id": user_id,
        "agent_id": agent_id,
        "name": "e.name",
        "prompt": target("prompt"),
        "schedule_type": f"CASE {baseline('kind')} WHEN 'once' THEN 'one-shot' ELSE 'recurring' END",
        "run_at": baseline("at"),
        "cron_expression": baseline("expression"),
        "timezone": baseline("timezone"),
        "next_run_at": next_run_at,
        "enabled": "CASE WHEN s.enabled AND s.next_run_at IS NOT NULL THEN 1 ELSE 0 END",
        "created_at": created,
    }
    shown = ", ".join(f"{value} AS {name}" for name, value in columns.items())
    rows = "endpoints e JOIN endpoint_states s ON s.tenant_id = e.tenant_id AND s.endpoint_id = e.id"
    wanted = f"{user_id} IS NOT NULL AND NOT s.archived"
    return f"CREATE VIEW schedules AS SELECT e.tenant_id, e.id, {shown} FROM {rows} WHERE {wanted}"
