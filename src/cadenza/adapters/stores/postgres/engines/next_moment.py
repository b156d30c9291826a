"""When a process that works alone on a database has something to do next, in one statement."""

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.domain.daily.rules import SHARDS
from cadenza.domain.scheduling.abandon import all_requirements

NEXT_MOMENT = f"""
SELECT least(
    (
        SELECT min(n.claimable_at) FROM unnest($1::text[]) AS can (requirement), LATERAL (
            SELECT s.claimable_at FROM endpoint_states s
            WHERE s.requirement = can.requirement AND s.claimable_at IS NOT NULL
            ORDER BY s.claimable_at LIMIT 1
        ) AS n
    ),
    (
        SELECT min(l.until) FROM leases l
        WHERE EXISTS (SELECT FROM endpoint_states s WHERE s.lease_token = l.token)
    ),
    (SELECT min(tidy_at) FROM endpoint_states WHERE tidy_at IS NOT NULL),
    (SELECT min(at) FROM looks WHERE $2),
    (SELECT min(due_at) FROM alerts WHERE due_at IS NOT NULL),
    (SELECT min(due_at) FROM user_channels WHERE due_at IS NOT NULL),
    (SELECT min(decide_at) FROM alert_conditions WHERE decide_at IS NOT NULL),
    (
        SELECT min(m.due_at) FROM alert_messages m WHERE ($4 OR m.route_id <> '') AND NOT EXISTS (
            SELECT 1 FROM alert_messages o
            WHERE o.tenant_id = m.tenant_id AND o.condition_id = m.condition_id AND o.route_id = m.route_id
                AND o.raised_at < m.raised_at
        )
    ),
    (
        SELECT min(n.opens_at)
        FROM generate_series(0, {SHARDS - 1}) AS one (shard), LATERAL (
            SELECT u.opens_at FROM daily_users u WHERE u.shard = one.shard
            ORDER BY u.opens_at LIMIT 1
        ) AS n WHERE $3
    )
)
"""
"""The first of: the next endpoint that can be claimed, the end of a lease that protects a run, a hint that
expires unserved, an analysis, an alert, a user with a message for a channel, a decision about a condition,
a message that is the next of its condition, the opening of a daily window."""


class WorkOfProcess(NamedTuple):
    """What a process does, and must be there for."""

    can_run: Collection[str]
    """The requirements of the targets that it runs."""
    plans: bool = True
    sends_default: bool = True
    """Whether it sends the messages of tenants without routes."""
    serves_daily: bool = False
    """Whether it serves daily users."""


async def next_moment(pool: PostgresPool, work: WorkOfProcess) -> datetime | None:
    """The earliest moment at which the process has something to do; None if none is known."""
    required = all_requirements(work.can_run)
    given = (required, work.plans, work.serves_daily, work.sends_default)
    rows = await pool.read(NEXT_MOMENT, *given)
    moment: datetime | None = rows[0][0]
    return moment
