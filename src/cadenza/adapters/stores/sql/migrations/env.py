"""Tells Alembic what to write SQL for; nothing is connected here."""

from alembic import context

context.configure(dialect_name=context.config.attributes["dialect"])
context.run_migrations()
