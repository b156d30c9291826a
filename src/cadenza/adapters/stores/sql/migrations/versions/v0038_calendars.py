"""Add calendars, what uses them, and the calendars of jobs."""

from alembic import op
from sqlalchemy import Column, PrimaryKeyConstraint

from cadenza.adapters.stores.sql.migrations.columns import Document, keys, moments

revision = "0038"
down_revision = "0037"

CALENDAR = ["tenant_id", "id"]
USE = ["tenant_id", "calendar_id", "kind", "used_by_id"]


def upgrade() -> None:
    """Make both tables; what is compiled lies beside its definition, and in whatever names it."""
    op.create_table(
        "calendars",
        *keys(*CALENDAR),
        Column("definition", Document, nullable=False),
        Column("compiled", Document, nullable=False),
        *moments("compiled_until", required=True),
        *moments("created_at"),
        PrimaryKeyConstraint(*CALENDAR),
    )
    op.create_table("calendar_uses", *keys(*USE), PrimaryKeyConstraint(*USE))
    op.create_index("calendars_compiled_until", "calendars", ["compiled_until"])
    op.create_index("calendar_uses_by_user", "calendar_uses", ["tenant_id", "kind", "used_by_id"])
    op.add_column("jobs", Column("calendar_rules", Document))
