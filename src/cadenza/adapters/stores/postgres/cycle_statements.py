"""The statements of workers: claim, start, settle, sweep. Each takes a whole batch."""

from cadenza.adapters.stores.postgres.arrays import given_or_shared
from cadenza.adapters.stores.sql.access.tenants import COUNT_RUNS
from cadenza.adapters.stores.sql.given_rows import assigned, given
from cadenza.adapters.stores.sql.rows import SELECT_ENDPOINT, STEERING, WRITTEN
from cadenza.domain.scheduling.run import Run

COUNTS = ("missed_slots", "failure_count", "abandoned_count")
STATE = ("next_run_at", "next_source", "last_run_at", *COUNTS)
CLAIMED = ("tenant_id", "endpoint_id", "version", "row", "place", *STATE, "steering")
"""What is answered of a claimed row: neither what its owner wrote, which nearly always is known, nor its
gates, which are open, nor what the caller wrote itself."""
STEERED = " OR ".join(f"s.{column} IS NOT NULL" for column in STEERING)

BOUNDS = (16, 128, 1_024, 8_192)
"""Limits that the planner knows: it would take a parameter for a tenth of the table, and scan it whole."""

OWN = (
    "s.claimable_at IS NOT NULL AND (s.tenant_id, s.claimable_at) >= (served.tenant_id, '-infinity')"
    " AND (s.tenant_id, s.claimable_at) <= (served.tenant_id, $1)"
)
"""A tenant's due rows, said so that only the index by tenant will do: the other holds everyone's backlog."""


DUE_ROWS = "SELECT tenant_id, claimable_at FROM endpoint_states WHERE claimable_at IS NOT NULL"
NEXT = "ORDER BY tenant_id, claimable_at LIMIT 1"


def _next_tenant(after: str, *, around: str) -> str:
    """The first tenant after one and its soonest moment, or else the first of all: a jump in the index."""
    return f"""(
        SELECT * FROM (
            (SELECT *, FALSE AS around FROM ({DUE_ROWS} AND tenant_id > {after} {NEXT}) AS r)
            UNION ALL (SELECT *, TRUE AS around FROM ({DUE_ROWS} {NEXT}) AS r WHERE {around})
        ) AS r LIMIT 1
    )"""


def _claim(bound: int) -> str:
    """Parameters: horizon, limit, token, until, run ids, now, the tenant last served, tenants at most, hurry.

    1. If more is due than the limit, some tenants get their turn, each the same
       share, as the ring of tenants goes round from claim to claim. Who knows
       that there is a hurry, because the last claim was full, spares the count.
    2. What is left of the limit goes to the soonest.
    3. All of these leave the due set, carry the lease and open their runs.

    Rows that others hold are skipped, so nothing here ever waits. Rows are found again by their places,
    which stay as they are while they are locked; one that was written since this statement began is left
    to the next claim.
    """
    due = "SELECT s.ctid, s.tenant_id, s.endpoint_id, s.claimable_at, s.rank FROM endpoint_states s"
    return f"""
WITH RECURSIVE crowd AS MATERIALIZED (
    SELECT $9::boolean OR (SELECT count(*) > $2::int FROM (
        SELECT FROM (
            SELECT FROM endpoint_states WHERE claimable_at <= $1 ORDER BY claimable_at LIMIT {bound + 1}
        ) AS due LIMIT $2::int + 1
    ) AS first) AS crowded
), turn (tenant_id, soonest, place, began, around) AS (
    SELECT n.tenant_id, n.claimable_at, 1, n.tenant_id, n.around
    FROM crowd, LATERAL {_next_tenant("$7::text", around="TRUE")} AS n WHERE crowd.crowded
    UNION ALL
    SELECT n.tenant_id, n.claimable_at, turn.place + 1, turn.began, n.around OR turn.around
    FROM turn, LATERAL {_next_tenant("turn.tenant_id", around="NOT turn.around")} AS n
    WHERE turn.place < $8::int AND n.tenant_id <> turn.began
), served AS MATERIALIZED (
    SELECT tenant_id FROM turn WHERE soonest <= $1
), shared AS MATERIALIZED (
    SELECT own.* FROM served, LATERAL (SELECT * FROM (
        {due} WHERE {OWN} ORDER BY s.tenant_id, s.claimable_at, s.rank LIMIT {bound} FOR UPDATE SKIP LOCKED
    ) AS due LIMIT (SELECT $2::int / greatest(count(*), 1) FROM served)) AS own
), soonest AS MATERIALIZED (
    SELECT * FROM (
        {due} WHERE s.claimable_at <= $1
        AND (s.tenant_id, s.endpoint_id) NOT IN (SELECT tenant_id, endpoint_id FROM shared)
        ORDER BY s.claimable_at, s.rank LIMIT {bound} FOR UPDATE SKIP LOCKED
    ) AS due LIMIT (SELECT $2::int - count(*) FROM shared)
), chosen AS MATERIALIZED (
    SELECT ctid, row_number() OVER (ORDER BY claimable_at, rank)::int AS place
    FROM (SELECT * FROM shared UNION ALL SELECT * FROM soonest) AS due
), leased AS (
    UPDATE endpoint_states s SET claimable_at = NULL, tidy_at = NULL, lease_token = $3, lease_until = $4,
        run_id = ($5::text[])[c.place], run_slot = coalesce(s.open_slot_at, s.next_run_at),
        run_due_at = s.claimable_at, run_attempt = coalesce(s.open_slot_attempts, 0) + 1,
        run_source = s.next_source, run_claimed_at = $6,
        run_started_at = CASE WHEN s.claimable_at <= $6 THEN $6 END
    FROM chosen c WHERE s.ctid = c.ctid
    RETURNING s.tenant_id, s.endpoint_id, s.version, s.ctid::text AS row, c.place,
        {", ".join(f"s.{column}" for column in STATE)},
        CASE WHEN {STEERED} THEN ROW ({", ".join(f"s.{column}" for column in STEERING)}) END AS steering
), lease AS (
    INSERT INTO leases (token, until) SELECT $3, $4 WHERE EXISTS (SELECT FROM leased)
)
SELECT {", ".join(CLAIMED)},
    CASE place WHEN 1 THEN (SELECT tenant_id FROM turn ORDER BY place DESC LIMIT 1) END AS last_served
FROM leased ORDER BY place
"""


CLAIMS = {bound: _claim(bound) for bound in BOUNDS}

SAME = "s.tenant_id = g.tenant_id AND s.endpoint_id = g.endpoint_id"
AS_CLAIMED = f"{SAME} AND s.run_id = g.id AND s.version = g.version"
"""Whether a row is as it was claimed. A run id is given once, so it speaks for the lease too."""

LOCK = f"""
SELECT FROM {given("g", "tenant_id", "endpoint_id")}
JOIN endpoint_states s ON {SAME} ORDER BY s.tenant_id, s.endpoint_id FOR UPDATE OF s
"""
"""Lock the rows of a batch in the order of their keys."""

OF_CLAIM = ("id", "tenant_id", "endpoint_id", "version")
STARTED = (*OF_CLAIM, "slot", "due_at", "source", "started_at", "starts")
START = f"""
WITH locked AS MATERIALIZED (
    SELECT g.id, s.run_id = g.id AND s.version = g.version AS unsteered
    FROM {given("g", *OF_CLAIM, first=2)} JOIN endpoint_states s ON {SAME}
    ORDER BY s.tenant_id, s.endpoint_id FOR UPDATE OF s
), agreed AS MATERIALIZED (
    SELECT count(*) FILTER (WHERE unsteered) AS count FROM locked
), started AS (
    UPDATE endpoint_states s
    SET run_slot = g.slot, run_due_at = g.due_at, run_source = g.source, run_started_at = g.started_at
    FROM {given("g", *STARTED, first=2)}
    WHERE {AS_CLAIMED} AND g.starts AND (SELECT count FROM agreed) >= $1::int
    RETURNING g.id, s.ctid::text AS place
)
SELECT id, NULL AS place FROM locked WHERE unsteered UNION ALL SELECT id, place FROM started
"""
"""Parameters: how many must be unsteered for anything to be written, and the columns of `STARTED`.
Answers the runs that nobody steered, and then, once more, those that were written, with their new places: a
join of the two would compare each with each.

It comes just before a run, so it is one round trip; settling comes after, and takes a transaction.
"""

KEPT = {
    field: f"run_{field}" for field in ("slot", "due_at", "attempt", "source", "claimed_at", "started_at")
}
"""What the row knows of its run. It stays there when the run is over; without a run id it means nothing."""
CHANGED = WRITTEN[:-3]
"""What an outcome may change: all but whether the endpoint is enabled, archived and its job active."""
RUN = ("id", "tenant_id", "endpoint_id", *(field for field in Run._fields if field not in OF_CLAIM))
SETTLED = (*OF_CLAIM, *RUN[3:], *CHANGED)


def _closed(field: str) -> str:
    return f"coalesce(g.{field}, s.{KEPT[field]}) AS {field}" if field in KEPT else f"g.{field}"


TOLD = tuple(field for field in RUN if field not in KEPT and field not in OF_CLAIM)
"""What a row does not know of a run that was started."""
FOUND = ("id", "place")
PLAIN = (*FOUND, "version", *TOLD, "next_run_at", "next_source", *COUNTS)
SETTLE_PLAIN = f"""
WITH settled AS (
    UPDATE endpoint_states s
    SET claimable_at = g.next_run_at, {assigned("g", "next_run_at", "next_source", *COUNTS)},
        last_run_at = s.run_started_at, lease_token = NULL, lease_until = NULL, run_id = NULL
    FROM {given_or_shared("g", *PLAIN, first=4, joined=FOUND)}
    WHERE s.ctid = g.place AND s.run_id = g.id AND s.version = g.version
    RETURNING g.id, s.tenant_id, s.endpoint_id, {", ".join(f"g.{field}" for field in TOLD)},
        {", ".join(f"s.{column} AS {field}" for field, column in KEPT.items())}
), added AS (
    INSERT INTO runs ({", ".join(RUN)}) SELECT {", ".join(RUN)} FROM settled
), counted AS ({COUNT_RUNS})
SELECT count(*) FROM settled
"""
"""The same for a batch of ordinary runs, of which few columns change; and they are counted.

Rows are found at the places where their claims left them: who was written since is not there any more.

Parameters: those of `COUNT_RUNS`, and the columns of `PLAIN` in the order of their keys. What nobody reads
from, such as the count, is carried out last: who waits for it holds up nobody else.
"""

SETTLE = f"""
WITH settled AS (
    UPDATE endpoint_states s
    SET claimable_at = CASE WHEN $1::boolean THEN g.next_run_at ELSE g.claimable_at END,
        {assigned("g", *CHANGED[1:])}, lease_token = NULL, lease_until = NULL, run_id = NULL
    FROM {given_or_shared("g", *SETTLED, first=2)} WHERE {AS_CLAIMED}
    RETURNING {", ".join(map(_closed, RUN))}
), added AS (
    INSERT INTO runs ({", ".join(RUN)}) SELECT {", ".join(RUN)} FROM settled
)
SELECT id FROM settled
"""
"""Parameters: whether all are claimable at their next run, as nearly always; then the columns of `SETTLED`,
in the order of their keys, which is the order of the locks.

Of a run that was started, the row knows when and for what, so `KEPT` need not be sent.
"""

RENEW = "UPDATE leases SET until = $1 WHERE token = ANY ($2::text[])"
RUNS_OF_LEASES = "SELECT run_id FROM endpoint_states WHERE lease_token = ANY ($1::text[])"
EXPIRED = "SELECT token FROM leases WHERE until <= $1 ORDER BY token LIMIT $2 FOR UPDATE SKIP LOCKED"
LEASED = (
    f"{SELECT_ENDPOINT} WHERE s.lease_token = ANY ($1::text[])"
    " ORDER BY s.tenant_id, s.endpoint_id LIMIT $2 FOR UPDATE OF s, e SKIP LOCKED"
)
END_LEASES = (
    "DELETE FROM leases WHERE token = ANY ($1::text[]) AND NOT EXISTS"
    " (SELECT FROM endpoint_states WHERE lease_token = leases.token)"
)
STALE = f"{SELECT_ENDPOINT} WHERE s.tidy_at <= $1 ORDER BY s.tidy_at LIMIT $2 FOR UPDATE OF s, e SKIP LOCKED"
ANY_DUE = "SELECT FROM endpoint_states WHERE claimable_at <= $1 ORDER BY claimable_at LIMIT 1"
NEXT_DUE = (
    "SELECT claimable_at FROM endpoint_states WHERE claimable_at IS NOT NULL ORDER BY claimable_at LIMIT 1"
)
