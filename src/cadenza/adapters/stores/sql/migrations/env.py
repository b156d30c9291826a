"""Configures Alembic to write SQL for a dialect, without a connection."""

from alembic import context

context.configure(dialect_name=context.config.attributes["dialect"])
context.run_migrations()
