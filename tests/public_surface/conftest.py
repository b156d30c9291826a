"""The servers of these tests."""

from tests.postgres import newest_databases

__all__ = ["newest_databases"]
