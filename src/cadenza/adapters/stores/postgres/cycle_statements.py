"""The statements of workers: claim, start, settle, sweep. Each takes a whole batch."""

from cadenza.adapters.stores.postgres.arrays import given_or_shared
from cadenza.adapters.stores.sql.access.tenants import COUNT_RUNS
from cadenza.adapters.stores.sql.given_rows import assigned, parameter_table
from cadenza.adapters.stores.sql.rows import SELECT_ENDPOINT, STATE_COLUMNS, STEERING_COLUMNS
from cadenza.domain.scheduling.run import Run

COUNTER_COLUMNS = ("missed_slots", "failure_count", "abandoned_count")
STATE_OF_CLAIM = ("next_run_at", "next_source", "last_run_at", *COUNTER_COLUMNS)
CLAIMED_COLUMNS = ("tenant_id", "endpoint_id", "version", "row", "place", *STATE_OF_CLAIM, "steering")
"""What is returned of a claimed row: not its definition, which nearly always is cached, nor whether it is
enabled, which it is, nor what the caller has written."""
HAS_STEERING = " OR ".join(
    f"s.{column} IS NOT NULL" for column in STEERING_COLUMNS if not column.endswith(("_reason", "_origin"))
)

BOUNDS = (16, 128, 1_024, 8_192)
"""Limits as constants: for a parameter PostgreSQL's planner assumes a tenth of the table, and scans it."""

INDEXED = "s.requirement, s.tenant_id, s.claimable_at"
OF_SHARE = (
    f"s.claimable_at IS NOT NULL AND ({INDEXED}) >= (served.requirement, served.tenant_id, '-infinity')"
    f" AND ({INDEXED}) <= (served.requirement, served.tenant_id, $1)"
)
"""A tenant's due rows with one requirement, in words that only the index by tenant serves: the other has
all tenants' backlog."""
CAN_RUN = 'unnest($10::text[] COLLATE "C") AS can (requirement)'
"""What can be run, sorted by bytes; then the first that has a row is found first."""


def _first_share(given: str, after: str = "''") -> str:
    """The first tenant after one, with its soonest moment, in the first requirement that has any."""
    return f"""
        SELECT can.requirement, n.* FROM {CAN_RUN}, LATERAL (
            SELECT s.tenant_id, s.claimable_at FROM endpoint_states s
            WHERE s.requirement = can.requirement AND s.tenant_id > {after} AND s.claimable_at IS NOT NULL
            ORDER BY s.tenant_id, s.claimable_at LIMIT 1
        ) AS n WHERE {given} LIMIT 1"""


def _next_share(requirement: str, tenant_id: str, *, around: str) -> str:
    """The next tenant with this requirement, or else the first of the next, or else the first of all.

    Each is one step in the index.
    """
    same = _first_share(f"can.requirement = {requirement}", tenant_id)
    following = _first_share(f"can.requirement > {requirement}")
    return f"""(
        SELECT * FROM (
            (SELECT *, FALSE AS around FROM ({same}) AS r)
            UNION ALL (SELECT *, FALSE FROM ({following}) AS r)
            UNION ALL (SELECT *, TRUE FROM ({_first_share(around)}) AS r)
        ) AS r LIMIT 1
    )"""


def _claim(bound: int) -> str:
    """Claim what is due and can be run.

    1. If more is due than the limit, some tenants get the same share of a requirement each; the next claim
       goes on after them. If the last claim was full, a backlog is assumed and nothing is counted.
    2. What is left of the limit goes to the soonest of each requirement.
    3. All of these get the lease and an open run, and are no longer due.

    Parameters: horizon, limit, token, until, run ids, now, tenant served last, shares at most, backlog,
    requirements that can be run, requirement served last.

    Rows that other transactions have locked are skipped, so nothing here ever waits. Rows are found again
    by their places, which do not change while they are locked; a row that was written since this statement
    began is left to the next claim.
    """
    due = "SELECT s.ctid, s.tenant_id, s.endpoint_id, s.claimable_at, s.rank FROM endpoint_states s"
    return f"""
WITH RECURSIVE crowd AS MATERIALIZED (
    SELECT $9::boolean OR (SELECT count(*) > $2::int FROM (
        SELECT FROM (
            SELECT FROM {CAN_RUN}, LATERAL (
                SELECT FROM endpoint_states s
                WHERE s.requirement = can.requirement AND s.claimable_at <= $1
                ORDER BY s.claimable_at LIMIT {bound + 1}
            ) AS own
        ) AS due LIMIT $2::int + 1
    ) AS first) AS crowded
), rotation (requirement, tenant_id, soonest, place, first_requirement, first_tenant, around) AS (
    SELECT n.requirement, n.tenant_id, n.claimable_at, 1, n.requirement, n.tenant_id, n.around
    FROM crowd, LATERAL {_next_share("$11::text", "$7::text", around="TRUE")} AS n WHERE crowd.crowded
    UNION ALL
    SELECT n.requirement, n.tenant_id, n.claimable_at, r.place + 1, r.first_requirement, r.first_tenant,
        n.around OR r.around
    FROM rotation r, LATERAL {_next_share("r.requirement", "r.tenant_id", around="NOT r.around")} AS n
    WHERE r.place < $8::int AND (n.requirement, n.tenant_id) <> (r.first_requirement, r.first_tenant)
), served AS MATERIALIZED (
    SELECT requirement, tenant_id FROM rotation WHERE soonest <= $1
), shared AS MATERIALIZED (
    SELECT own.* FROM served, LATERAL (SELECT * FROM (
        {due} WHERE {OF_SHARE} ORDER BY {INDEXED}, s.rank LIMIT {bound} FOR UPDATE SKIP LOCKED
    ) AS due LIMIT (SELECT $2::int / greatest(count(*), 1) FROM served)) AS own
), soonest AS MATERIALIZED (
    SELECT own.* FROM {CAN_RUN}, LATERAL (
        {due} WHERE s.requirement = can.requirement AND s.claimable_at <= $1
        AND (s.tenant_id, s.endpoint_id) NOT IN (SELECT tenant_id, endpoint_id FROM shared)
        ORDER BY s.claimable_at, s.rank LIMIT {bound} FOR UPDATE SKIP LOCKED
    ) AS own LIMIT (SELECT $2::int - count(*) FROM shared)
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
        {", ".join(f"s.{column}" for column in STATE_OF_CLAIM)},
        CASE WHEN {HAS_STEERING} THEN
            ROW ({", ".join(f"s.{column}" for column in STEERING_COLUMNS)}) END AS steering
), lease AS (
    INSERT INTO leases (token, until) SELECT $3, $4 WHERE EXISTS (SELECT FROM leased)
)
SELECT {", ".join(CLAIMED_COLUMNS)},
    CASE place WHEN 1 THEN
        (SELECT ARRAY[requirement, tenant_id] FROM rotation ORDER BY place DESC LIMIT 1) END AS last_served
FROM leased ORDER BY place
"""


CLAIMS = {bound: _claim(bound) for bound in BOUNDS}

SAME = "s.tenant_id = g.tenant_id AND s.endpoint_id = g.endpoint_id"
IS_AS_CLAIMED = f"{SAME} AND s.run_id = g.id AND s.version = g.version"
"""Whether a row is as it was claimed. A run id is given once, so it is enough to tell the lease."""

LOCK = f"""
SELECT FROM {parameter_table("g", "tenant_id", "endpoint_id")}
JOIN endpoint_states s ON {SAME} ORDER BY s.tenant_id, s.endpoint_id FOR UPDATE OF s
"""
"""Lock the rows of a batch in the order of their keys."""

CLAIM_COLUMNS = ("id", "tenant_id", "endpoint_id", "version")
STARTED_COLUMNS = (*CLAIM_COLUMNS, "slot", "due_at", "source", "started_at", "starts")
START = f"""
WITH locked AS MATERIALIZED (
    SELECT g.id, s.run_id = g.id AND s.version = g.version AS unchanged
    FROM {parameter_table("g", *CLAIM_COLUMNS, first=2)} JOIN endpoint_states s ON {SAME}
    ORDER BY s.tenant_id, s.endpoint_id FOR UPDATE OF s
), agreed AS MATERIALIZED (
    SELECT count(*) FILTER (WHERE unchanged) AS count FROM locked
), started AS (
    UPDATE endpoint_states s
    SET run_slot = g.slot, run_due_at = g.due_at, run_source = g.source, run_started_at = g.started_at
    FROM {parameter_table("g", *STARTED_COLUMNS, first=2)}
    WHERE {IS_AS_CLAIMED} AND g.starts AND (SELECT count FROM agreed) >= $1::int
    RETURNING g.id, s.ctid::text AS place
)
SELECT id, NULL AS place FROM locked WHERE unchanged UNION ALL SELECT id, place FROM started
"""
"""Parameters: how many must be unchanged for anything to be written, and the columns of `STARTED_COLUMNS`.
Returns the runs whose endpoints have not changed, and then, once more, those that were written, with their
new places: a join of the two would compare each with each.

It comes just before a run, so it is one round trip; settling comes after, and takes a transaction.
"""

HELD_BY_ROW = {
    field: f"run_{field}" for field in ("slot", "due_at", "attempt", "source", "claimed_at", "started_at")
}
"""The columns of a run that its endpoint's row holds; without a run id they mean nothing."""
OUTCOME_COLUMNS = STATE_COLUMNS[:-3]
"""What an outcome may change: all but whether the endpoint is enabled, archived and its job active."""
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

Rows are found at the places where their claims left them: one that was written since is elsewhere.

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
NEXT_DUE = """
SELECT min(n.claimable_at) FROM unnest($1::text[]) AS can (requirement), LATERAL (
    SELECT s.claimable_at FROM endpoint_states s
    WHERE s.requirement = can.requirement AND s.claimable_at IS NOT NULL ORDER BY s.claimable_at LIMIT 1
) AS n
"""
REQUIREMENTS = """
WITH RECURSIVE present (requirement) AS (
    (SELECT requirement FROM endpoint_states WHERE claimable_at IS NOT NULL ORDER BY requirement LIMIT 1)
    UNION ALL
    SELECT n.requirement FROM present, LATERAL (
        SELECT s.requirement FROM endpoint_states s
        WHERE s.requirement > present.requirement AND s.claimable_at IS NOT NULL
        ORDER BY s.requirement LIMIT 1
    ) AS n
)
SELECT requirement FROM present
"""
"""The requirements of all that can be claimed, found by jumping through the index."""
