"""The application under test, for tests of its operations."""

from tests.operation_fixtures import app

__all__ = ["app"]
