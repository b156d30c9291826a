"""Add an index of analyses by tenant and time."""

from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Make the index."""
    op.create_index("analyses_of_tenant", "analyses", ["tenant_id", "began_at", "id"])
