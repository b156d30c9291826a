"""Words for columns that mean the same on both databases."""

from sqlalchemy import BigInteger, Column, Integer, Text
from sqlalchemy.dialects import postgresql

Moment = BigInteger().with_variant(postgresql.TIMESTAMP(timezone=True), "postgresql")
Document = Text().with_variant(postgresql.JSON(), "postgresql")
Key = Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")
Serial = BigInteger().with_variant(Integer(), "sqlite")


def keys(*names: str) -> list[Column[str]]:
    """Ids, none of which may be missing."""
    return [Column(name, Key, nullable=False) for name in names]


def texts(*names: str) -> list[Column[str]]:
    """Texts that may be missing."""
    return [Column(name, Text) for name in names]


def moments(*names: str, required: bool = False) -> list[Column[int]]:
    """Moments that may be missing, unless they are required."""
    return [Column(name, Moment, nullable=not required) for name in names]
