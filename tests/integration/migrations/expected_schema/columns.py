"""The types of columns, the same on SQLite and PostgreSQL."""

from sqlalchemy import BigInteger, ForeignKeyConstraint, MetaData, Text
from sqlalchemy.dialects import postgresql

metadata = MetaData()

Moment = BigInteger().with_variant(postgresql.TIMESTAMP(timezone=True), "postgresql")
"""A moment: a timestamp on PostgreSQL, microseconds since 1970 on SQLite, which has no such type."""
Key = Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
"""An id, sorted by its bytes on every machine; ids that grow with time then sort by time."""
Document = Text().with_variant(postgresql.JSON(), "postgresql")
"""JSON that is stored as it was written."""


def belongs_to(parent: str, *columns: str, ondelete: str | None = "CASCADE") -> ForeignKeyConstraint:
    """A foreign key to an owner, in the column `id` of its tenant; its rows go with it."""
    return ForeignKeyConstraint(
        ("tenant_id", *columns), (f"{parent}.tenant_id", f"{parent}.id"), ondelete=ondelete
    )
