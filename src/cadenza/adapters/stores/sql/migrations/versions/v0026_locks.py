"""Add locks in rows, for engines without advisory locks."""

from alembic import op
from sqlalchemy import Column, Integer

from cadenza.adapters.stores.sql.migrations.columns import Key, Moment

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "locks",
        Column("name", Key, primary_key=True),
        Column("holder", Key),
        Column("until", Moment),
        Column("note", Integer),
    )
