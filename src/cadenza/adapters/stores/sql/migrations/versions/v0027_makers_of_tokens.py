"""Add with which key a user's token was made: it ends with that key."""

from alembic import op
from sqlalchemy import Column, Text, text

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    """Widen the keys; tokens from before end when they run out."""
    op.add_column("keys", Column("made_by", Text))
    made = text("made_by IS NOT NULL")
    op.create_index("keys_by_maker", "keys", ["made_by"], sqlite_where=made, postgresql_where=made)
