"""Show one-shot schedules in UTC, as REST does, instead of without a time zone."""

from alembic import op

from cadenza.adapters.stores.sql.migrations.versions.v0021_missed_messages import schedules_view

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    """Make the view of the schedules anew."""
    op.execute("DROP VIEW schedules")
    op.execute(schedules_view(op.get_context().dialect.name, timezone="COALESCE({}, 'UTC')"))
