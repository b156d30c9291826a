"""Find the endpoints of a tenant whose last run did not succeed."""

from alembic import op
from sqlalchemy import text

revision = "0032"
down_revision = "0031"

FAILING = text("failure_count > 0")


def upgrade() -> None:
    """Make the index; endpoints enter and leave it when they begin to fail and when they succeed again."""
    op.create_index(
        "endpoint_states_failing",
        "endpoint_states",
        ["tenant_id", "endpoint_id"],
        sqlite_where=FAILING,
        postgresql_where=FAILING,
    )
