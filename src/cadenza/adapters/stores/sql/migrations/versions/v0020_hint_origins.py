"""Add the origins of hints and pauses in force, and why a steering call was not applied."""

from alembic import op
from sqlalchemy import Column, Text

revision = "0020"
down_revision = "0019"

IN_FORCE = {
    "interval_hint_origin": ("interval", "interval_hint_ms IS NOT NULL"),
    "one_shot_origin": ("one-shot", "one_shot_at IS NOT NULL"),
    "pause_origin": ("pause", "paused_until IS NOT NULL"),
}
"""The column of each origin, the kind of its line in the history, and where there is one."""


def upgrade() -> None:
    """Make the columns, and fill them from the history of hints."""
    op.add_column("hints", Column("not_applied", Text))
    for column, (kind, present) in IN_FORCE.items():
        op.add_column("endpoint_states", Column(column, Text))
        op.execute(
            f"UPDATE endpoint_states SET {column} = (SELECT origin FROM hints h"
            " WHERE h.tenant_id = endpoint_states.tenant_id AND h.endpoint_id = endpoint_states.endpoint_id"
            f" AND h.kind = '{kind}' ORDER BY h.id DESC LIMIT 1) WHERE {present}"
        )
