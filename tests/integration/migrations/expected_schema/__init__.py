"""The tables that the migrations must lead to, declared for SQLAlchemy."""

from tests.integration.migrations.expected_schema import (
    access,
    agents,
    daily,
    monitoring,
    planning,
    scheduling,
)
from tests.integration.migrations.expected_schema.columns import metadata

__all__ = ["access", "agents", "daily", "metadata", "monitoring", "planning", "scheduling"]
