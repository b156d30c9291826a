"""The types of columns, the same on SQLite and PostgreSQL."""

from sqlalchemy import BigInteger, MetaData, Text
from sqlalchemy.dialects import postgresql

metadata = MetaData()

Moment = BigInteger().with_variant(postgresql.TIMESTAMP(timezone=True), "postgresql")
"""A moment: a timestamp on PostgreSQL, microseconds since 1970 on SQLite, which has no such type."""
Key = Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
"""An id, sorted by its bytes on every machine; ids that grow with time then sort by time."""
Document = Text().with_variant(postgresql.JSON(), "postgresql")
"""JSON that is stored as it was written."""
