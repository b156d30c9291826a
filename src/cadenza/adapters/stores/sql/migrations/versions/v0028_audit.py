"""Add audit records."""

from alembic import op
from sqlalchemy import Column, PrimaryKeyConstraint, Text

from cadenza.adapters.stores.sql.migrations.columns import Document, Key, keys, moments, texts

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    """Make the table, with an index for each way in which it is read."""
    op.create_table(
        "audit",
        *keys("tenant_id", "id"),
        *moments("at", required=True),
        Column("who", Text, nullable=False),
        *texts("name"),
        *[Column(name, Text, nullable=False) for name in ("surface", "operation")],
        *keys("subject_kind"),
        Column("subject_id", Key),
        *texts("reason"),
        Column("outcome", Text, nullable=False),
        Column("changes", Document, nullable=False),
        Column("definition", Document),
        PrimaryKeyConstraint("tenant_id", "id"),
    )
    op.create_index("audit_by_time", "audit", ["tenant_id", "at", "id"])
    op.create_index("audit_by_subject", "audit", ["tenant_id", "subject_kind", "subject_id", "at", "id"])
    op.create_index("audit_by_age", "audit", ["at"])
