"""Add conditions, messages about them, and routes."""

from alembic import op
from sqlalchemy import Boolean, Column, Integer, PrimaryKeyConstraint, Text, text

from cadenza.adapters.stores.sql.migrations.columns import Document, Key, keys, moments

revision = "0030"
down_revision = "0029"


def upgrade() -> None:
    """Make the tables; alerts that were not sent yet become conditions."""
    op.create_table(
        "alert_conditions",
        *keys("tenant_id", "id"),
        *[Column(name, Text, nullable=False) for name in ("kind", "state")],
        *moments("since", required=True),
        *[Column(name, Key) for name in ("job_id", "endpoint_id", "suppressed_by")],
        *moments("decide_at"),
        Column("details", Document, nullable=False),
        PrimaryKeyConstraint("tenant_id", "id"),
    )
    _index("alert_conditions_by_state", "alert_conditions", ["tenant_id", "state", "since", "id"])
    _index("alert_conditions_by_time", "alert_conditions", ["tenant_id", "since", "id"])
    _index("alert_conditions_by_job", "alert_conditions", ["tenant_id", "job_id", "since", "id"])
    _index("alert_conditions_by_endpoint", "alert_conditions", ["tenant_id", "endpoint_id", "since", "id"])
    _index("alert_conditions_by_age", "alert_conditions", ["since"])
    _index("alert_conditions_due", "alert_conditions", ["decide_at"], "decide_at IS NOT NULL")
    _index(
        "alert_conditions_waiting",
        "alert_conditions",
        ["tenant_id", "suppressed_by"],
        "suppressed_by IS NOT NULL",
    )
    op.create_table(
        "alert_messages",
        Column("key", Key, primary_key=True),
        *keys("tenant_id", "route_id"),
        Column("condition_id", Key),
        *[Column(name, Text, nullable=False) for name in ("alert_key", "kind", "state", "text")],
        *moments("raised_at", required=True),
        Column("facts", Document, nullable=False),
        *moments("due_at", required=True),
        Column("attempts", Integer, nullable=False),
    )
    _index("alert_messages_due", "alert_messages", ["due_at"])
    _index("alert_messages_of_condition", "alert_messages", ["tenant_id", "condition_id"])
    _index("alert_messages_by_age", "alert_messages", ["raised_at"])
    op.create_table(
        "alert_routes",
        *keys("tenant_id", "id"),
        Column("name", Text, nullable=False),
        Column("enabled", Boolean, nullable=False),
        Column("definition", Document, nullable=False),
        *moments("created_at"),
        PrimaryKeyConstraint("tenant_id", "id"),
    )


def _index(name: str, table: str, columns: list[str], where: str | None = None) -> None:
    some = None if where is None else text(where)
    op.create_index(name, table, columns, sqlite_where=some, postgresql_where=some)
