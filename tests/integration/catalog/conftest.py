"""The servers of these tests."""

from tests.postgres import databases, newest_databases

__all__ = ["databases", "newest_databases"]
