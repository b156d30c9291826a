"""Column types for both databases."""

from sqlalchemy import BigInteger, Column, Integer, Text
from sqlalchemy.dialects import postgresql

Moment = BigInteger().with_variant(postgresql.TIMESTAMP(timezone=True), "postgresql")
Document = Text().with_variant(postgresql.JSON(), "postgresql")
Key = Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
Serial = BigInteger().with_variant(Integer(), "sqlite")


def keys(*names: str) -> list[Column[str]]:
    """Columns of ids, which are required."""
    return [Column(name, Key, nullable=False) for name in names]


def texts(*names: str) -> list[Column[str]]:
    """Columns of optional texts."""
    return [Column(name, Text) for name in names]


def moments(*names: str, required: bool = False) -> list[Column[int]]:
    """Columns of moments, optional unless said otherwise."""
    return [Column(name, Moment, nullable=not required) for name in names]
