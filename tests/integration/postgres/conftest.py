"""The servers of these tests."""

from tests.postgres import cluster, database_url, databases, newest_databases

__all__ = ["cluster", "database_url", "databases", "newest_databases"]
