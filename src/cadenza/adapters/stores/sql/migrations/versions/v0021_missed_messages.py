"""Keep undelivered messages without expiry, and what each user was sent; show moments in one notation."""

from alembic import op
from sqlalchemy import BigInteger, Column, Integer, text

revision = "0021"
down_revision = "0020"

PROMPT = {
    "sqlite": "json_extract(e.definition, '$.target.prompt')",
    "postgresql": "(e.definition #>> '{target,prompt}')",
}
BASELINE = {
    "sqlite": "json_extract(e.definition, '$.baseline.{}')",
    "postgresql": "(e.definition #>> '{{baseline,{}}}')",
}
CREATED_AT = {
    "sqlite": "json_extract(e.definition, '$.created_at')",
    "postgresql": "(e.definition ->> 'created_at')",
}
SECONDS = {
    "sqlite": "strftime('%Y-%m-%dT%H:%M:%S', s.next_run_at / 1000000, 'unixepoch')",
    "postgresql": "to_char(s.next_run_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS')",
}
MICROSECONDS = {
    "sqlite": "printf('.%06d', s.next_run_at % 1000000)",
    "postgresql": "to_char(s.next_run_at AT TIME ZONE 'UTC', '.US')",
}


def upgrade() -> None:
    """Drop the expiry, add what users were sent, and make the view of the schedules anew."""
    op.drop_index("pending_messages_by_expiry", "pending_messages")
    op.drop_column("pending_messages", "expires_at")
    op.add_column("users", Column("sent_seq", BigInteger, nullable=False, server_default=text("0")))
    op.add_column("users", Column("expired_messages", Integer, nullable=False, server_default=text("0")))
    op.execute("DROP VIEW schedules")
    op.execute(schedules_view(op.get_context().dialect.name))


def schedules_view(dialect: str, *, timezone: str = "{}") -> str:
    """Agent schedules by the names that users of such tables know; moments as JSON has them."""
    baseline = BASELINE[dialect].format
    micros = MICROSECONDS[dialect]
    fraction = f"CASE {micros} WHEN '.000000' THEN '' ELSE {micros} END"
    columns = {
        "user_id": "e.user_id",
        "agent_id": "e.agent_id",
        "name": "e.name",
        "prompt": PROMPT[dialect],
        "schedule_type": f"CASE {baseline('kind')} WHEN 'once' THEN 'one-shot' ELSE 'recurring' END",
        "run_at": f"replace({baseline('at')}, '+00:00', 'Z')",
        "cron_expression": baseline("expression"),
        "timezone": timezone.format(baseline("timezone")),
        "next_run_at": f"{SECONDS[dialect]} || {fraction} || 'Z'",
        "enabled": "CASE WHEN s.enabled AND s.next_run_at IS NOT NULL THEN 1 ELSE 0 END",
        "created_at": f"replace({CREATED_AT[dialect]}, '+00:00', 'Z')",
    }
    shown = ", ".join(f"{value} AS {name}" for name, value in columns.items())
    rows = "endpoints e JOIN endpoint_states s ON s.tenant_id = e.tenant_id AND s.endpoint_id = e.id"
    wanted = "e.user_id IS NOT NULL AND NOT s.archived"
    return f"CREATE VIEW schedules AS SELECT e.tenant_id, e.id, {shown} FROM {rows} WHERE {wanted}"
