"""Charging runs to their tenants, inside the writer's transaction."""

import sqlite3
from collections.abc import Iterable

from cadenza.domain.access.tenant import charges
from cadenza.domain.scheduling.settle import Settled

ONLY_SHARD = 0
"""A file has one writer at a time, so nobody waits for a row of somebody else's."""
COUNT = """
INSERT INTO usage (tenant_id, month, shard, runs, planner_tokens) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (tenant_id, month, shard) DO UPDATE
SET runs = runs + excluded.runs, planner_tokens = planner_tokens + excluded.planner_tokens
"""


def count_runs(connection: sqlite3.Connection, settled: Iterable[Settled]) -> None:
    """Add the runs of a batch to what their tenants have spent: one statement for each tenant."""
    connection.executemany(
        COUNT, [(charge.tenant_id, charge.month, ONLY_SHARD, charge.runs, 0) for charge in charges(settled)]
    )
