"""Count how often endpoints died alone; add the holders of leases, and what they had in flight."""

from alembic import op
from sqlalchemy import Column, Integer

from cadenza.adapters.stores.sql.migrations.columns import Key

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    """Add the columns; what was abandoned before this is tried as if it had not been."""
    op.add_column("endpoint_states", Column("abandoned_alone_count", Integer))
    op.add_column("leases", Column("holder", Key))
    for name in ("in_flight", "suspects"):
        op.add_column("leases", Column(name, Integer))
    op.execute("UPDATE endpoint_states SET abandoned_count = 0 WHERE abandoned_count > 0")
