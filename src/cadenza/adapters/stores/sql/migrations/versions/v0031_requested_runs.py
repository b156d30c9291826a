"""Add the runs that were requested beside the schedule, and requests to cancel a run."""

from typing import Any

from alembic import op
from sqlalchemy import Column, Integer, text

from cadenza.adapters.stores.sql.migrations.columns import moments, texts

revision = "0031"
down_revision = "0030"


def upgrade() -> None:
    """Add the columns, and indexes over what nearly no endpoint has."""
    added: tuple[Column[Any], ...] = (
        *texts("requested_runs", "cancel_request"),
        *moments("request_slot_at"),
        Column("request_attempt", Integer),
        *texts("request_source"),
    )
    for column in added:
        op.add_column("endpoint_states", column)
    _add_index("requested", ["tenant_id", "endpoint_id"], given="requested_runs")
    _add_index("to_cancel", ["lease_token"], given="cancel_request")


def _add_index(name: str, columns: list[str], *, given: str) -> None:
    there = text(f"{given} IS NOT NULL")
    op.create_index(
        f"endpoint_states_{name}", "endpoint_states", columns, sqlite_where=there, postgresql_where=there
    )
