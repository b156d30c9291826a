"""The statements of workers that settle and renew claims. Each takes a whole batch."""

from cadenza.adapters.stores.postgres.arrays import given_or_shared
from cadenza.adapters.stores.postgres.claim_statements import COUNTER_COLUMNS
from cadenza.adapters.stores.sql.access.tenants import COUNT_RUNS
from cadenza.adapters.stores.sql.given_rows import assigned, parameter_table
from cadenza.adapters.stores.sql.rows import STATE_COLUMNS
from cadenza.domain.scheduling.run import Run

SAME = "s.tenant_id = g.tenant_id AND s.endpoint_id = g.endpoint_id"
IS_AS_CLAIMED = f"{SAME} AND s.run_id = g.id AND s.version = g.version"
"""Whether a row is as it was claimed. A run id is given once, so it is enough to tell the lease."""

LOCK = f"""
SELECT FROM {parameter_table("g", "tenant_id", "endpoint_id")}
JOIN endpoint_states s ON {SAME} ORDER BY s.tenant_id, s.endpoint_id FOR UPDATE OF s
"""
"""Lock the rows of a batch in the order of their keys."""

CLAIM_COLUMNS = ("id", "tenant_id", "endpoint_id", "version")

HELD_BY_ROW = {
    field: f"run_{field}" for field in ("slot", "due_at", "attempt", "source", "claimed_at", "started_at")
}
"""The columns of a run that its endpoint's row holds; without a run id they mean nothing."""
OUTCOME_COLUMNS = STATE_COLUMNS[:-5]
"""What an outcome may change: all but whether the endpoint is enabled, archived and its job active, its
limits and its priority."""
RUN_COLUMNS = (
    "id",
    "tenant_id",
    "endpoint_id",
    *(field for field in Run._fields if field not in CLAIM_COLUMNS),
)
SETTLED_COLUMNS = (*CLAIM_COLUMNS, *RUN_COLUMNS[3:], *OUTCOME_COLUMNS)


def _closed(field: str) -> str:
    return f"coalesce(g.{field}, s.{HELD_BY_ROW[field]}) AS {field}" if field in HELD_BY_ROW else f"g.{field}"


SENT_COLUMNS = tuple(
    field for field in RUN_COLUMNS if field not in HELD_BY_ROW and field not in CLAIM_COLUMNS
)
"""The columns of a started run that its endpoint's row does not hold."""
LOCATION = ("id", "place")
ORDINARY_COLUMNS = (*LOCATION, "version", *SENT_COLUMNS, "next_run_at", "next_source", *COUNTER_COLUMNS)
SETTLE_ORDINARY = f"""
WITH settled AS (
    UPDATE endpoint_states s
    SET claimable_at = g.next_run_at, {assigned("g", "next_run_at", "next_source", *COUNTER_COLUMNS)},
        last_run_at = s.run_started_at, lease_token = NULL, lease_until = NULL, run_id = NULL
    FROM {given_or_shared("g", *ORDINARY_COLUMNS, first=4, joined=LOCATION)}
    WHERE s.ctid = g.place AND s.run_id = g.id AND s.version = g.version
    RETURNING g.id, s.tenant_id, s.endpoint_id, {", ".join(f"g.{field}" for field in SENT_COLUMNS)},
        {", ".join(f"s.{column} AS {field}" for field, column in HELD_BY_ROW.items())}
), added AS (
    INSERT INTO runs ({", ".join(RUN_COLUMNS)}) SELECT {", ".join(RUN_COLUMNS)} FROM settled
), counted AS ({COUNT_RUNS})
SELECT count(*) FROM settled
"""
"""Settles a batch of ordinary runs, of which few columns change, and counts them.

Rows are found at the places where their claims left them: one that was written since is elsewhere. What
another partition has at the same place carries another run.

Parameters: those of `COUNT_RUNS`, and the columns of `ORDINARY_COLUMNS` in the order of their keys. The
count, from which nothing is read, is carried out last: waiting for it holds up no other transaction.
"""

SETTLE = f"""
WITH settled AS (
    UPDATE endpoint_states s
    SET claimable_at = CASE WHEN $1::boolean THEN g.next_run_at ELSE g.claimable_at END,
        {assigned("g", *OUTCOME_COLUMNS[1:])}, lease_token = NULL, lease_until = NULL, run_id = NULL
    FROM {given_or_shared("g", *SETTLED_COLUMNS, first=2)} WHERE {IS_AS_CLAIMED}
    RETURNING {", ".join(map(_closed, RUN_COLUMNS))}
), added AS (
    INSERT INTO runs ({", ".join(RUN_COLUMNS)}) SELECT {", ".join(RUN_COLUMNS)} FROM settled
)
SELECT id FROM settled
"""
"""Parameters: whether all are claimable at their next run, as nearly always; then
`SETTLED_COLUMNS`, in the order of their keys, which is the order of the locks.

Of a run that was started, the row holds when and for which slot, so `HELD_BY_ROW` need not be sent.
"""

RENEW = "UPDATE leases SET until = $1, in_flight = NULL, suspects = NULL WHERE token = ANY ($2::text[])"
RUNS_OF_LEASES = "SELECT run_id FROM endpoint_states WHERE lease_token = ANY ($1::text[])"
