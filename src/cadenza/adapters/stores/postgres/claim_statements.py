"""The statement of a claim, which takes a whole batch."""

from typing import NamedTuple

from cadenza.adapters.stores.sql.rows import STEERING_COLUMNS

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


class RowAccess(NamedTuple):
    """How a claim gets at rows: by the places of rows that it has locked, or by their keys."""

    columns: str
    """What rows are found by again."""
    same: str
    """Whether a row is the same as that of another table."""
    lock: str = ""

    @property
    def due(self) -> str:
        """What is read of a due row."""
        return (
            f"SELECT {', '.join(f's.{column}' for column in self.columns.split(', '))},"
            " s.claimable_at, s.rank FROM endpoint_states s"
        )


BY_PLACE = RowAccess(
    "tenant_id, endpoint_id, ctid, tableoid",
    "s.ctid = {0}.ctid AND s.tableoid = {0}.tableoid",
    "FOR UPDATE{0} SKIP LOCKED",
)
"""Each partition of a table has a row of its own at a place, so the place alone is not enough; the key beside
it would let the planner go by an index of the tenant, through all its rows for each."""
BY_KEY = RowAccess(
    "tenant_id, endpoint_id", "s.tenant_id = {0}.tenant_id AND s.endpoint_id = {0}.endpoint_id"
)
LOOKED_AT = 1_000
"""How many due rows of all tenants are looked at to find those of tenants without a bound."""
NOT_BOUND = "tenant_id <> ALL ($13::text[])"
NOT_SHARED = "(s.tenant_id, s.endpoint_id) NOT IN (SELECT tenant_id, endpoint_id FROM shared)"


class Crowd(NamedTuple):
    """The parts of a claim that depend on whether tenants have bounds."""

    crowded: str
    """Whether tenants get shares; and before it, what it is found with."""
    soonest: str
    bounded: str
    """What tenants with a bound get."""
    served: str


def _of_all(bound: int, rows: RowAccess) -> Crowd:
    return Crowd(
        f"""crowd AS MATERIALIZED (
    SELECT $9::boolean OR (SELECT count(*) > $2::int FROM (
        SELECT FROM (
            SELECT FROM {CAN_RUN}, LATERAL (
                SELECT FROM endpoint_states s
                WHERE s.requirement = can.requirement AND s.claimable_at <= $1
                ORDER BY s.claimable_at LIMIT {bound + 1}
            ) AS own
        ) AS due LIMIT $2::int + 1
    ) AS first) AS crowded
)""",
        f"""
    SELECT own.* FROM {CAN_RUN}, LATERAL (
        {rows.due} WHERE s.requirement = can.requirement AND s.claimable_at <= $1 AND {NOT_SHARED}
        ORDER BY s.claimable_at, s.rank LIMIT {bound} {rows.lock.format("")}
    ) AS own LIMIT (SELECT $2::int - count(*) FROM shared)""",
        "",
        "TRUE",
    )


def _of_unbound_first(bound: int, rows: RowAccess) -> Crowd:
    """Tenants without a bound are found among the soonest of all, whatever backlog those with one have.

    If that has more than is looked at, they are found in rotation.
    """
    return Crowd(
        f"""first AS MATERIALIZED (
    SELECT own.* FROM {CAN_RUN}, LATERAL (
        {rows.due} WHERE s.requirement = can.requirement AND s.claimable_at <= $1
        ORDER BY s.claimable_at, s.rank LIMIT {LOOKED_AT}
    ) AS own LIMIT {LOOKED_AT}
), crowd AS MATERIALIZED (
    SELECT $9::boolean OR count(*) = {LOOKED_AT} OR count(*) FILTER (WHERE {NOT_BOUND}) > $2::int AS crowded
    FROM first
)""",
        f"""
    {rows.due} JOIN first f ON {rows.same.format("f")} WHERE f.{NOT_BOUND} AND {NOT_SHARED}
    ORDER BY f.claimable_at, f.rank LIMIT (SELECT $2::int - count(*) FROM shared) {rows.lock.format(" OF s")}
), bounded AS MATERIALIZED (
    SELECT own.* FROM unnest($13::text[], $14::int[]) AS b (tenant_id, most), LATERAL (
        SELECT due.* FROM (SELECT can.requirement, b.tenant_id FROM {CAN_RUN}) AS served, LATERAL (
            {rows.due} WHERE {OF_SHARE} ORDER BY {INDEXED}, s.rank LIMIT {bound} {rows.lock.format("")}
        ) AS due LIMIT b.most
    ) AS own
    LIMIT (SELECT $2::int - count(*) FROM (SELECT FROM shared UNION ALL SELECT FROM soonest) AS others)""",
        "UNION ALL SELECT * FROM bounded",
        NOT_BOUND,
    )


def _chosen(bound: int, crowd: Crowd, rows: RowAccess) -> str:
    """The steps of a statement up to `chosen`: what is due and can be run, soonest first.

    1. If more is due than the limit, some tenants get the same share of a requirement each; the next claim
       goes on after them. If the last claim was full, a backlog is assumed and nothing is counted.
    2. What is left of the limit goes to the soonest of each requirement.
    3. What is left then goes to tenants with a bound.
    """
    return f"""
WITH RECURSIVE {crowd.crowded}, rotation (
    requirement, tenant_id, soonest, place, first_requirement, first_tenant, around
) AS (
    SELECT n.requirement, n.tenant_id, n.claimable_at, 1, n.requirement, n.tenant_id, n.around
    FROM crowd, LATERAL {_next_share("$11::text", "$7::text", around="TRUE")} AS n WHERE crowd.crowded
    UNION ALL
    SELECT n.requirement, n.tenant_id, n.claimable_at, r.place + 1, r.first_requirement, r.first_tenant,
        n.around OR r.around
    FROM rotation r, LATERAL {_next_share("r.requirement", "r.tenant_id", around="NOT r.around")} AS n
    WHERE r.place < $8::int AND (n.requirement, n.tenant_id) <> (r.first_requirement, r.first_tenant)
), served AS MATERIALIZED (
    SELECT requirement, tenant_id, place FROM rotation WHERE soonest <= $1 AND {crowd.served}
    ORDER BY place LIMIT $2::int
), shared AS MATERIALIZED (
    SELECT own.* FROM served, LATERAL (SELECT * FROM (
        {rows.due} WHERE {OF_SHARE} ORDER BY {INDEXED}, s.rank LIMIT {bound} {rows.lock.format("")}
    ) AS due LIMIT (SELECT $2::int / greatest(count(*), 1) FROM served)) AS own
), soonest AS MATERIALIZED ({crowd.soonest}
), chosen AS MATERIALIZED (
    SELECT {rows.columns}, row_number() OVER (ORDER BY claimable_at, rank)::int AS place
    FROM (SELECT * FROM shared UNION ALL SELECT * FROM soonest {crowd.bounded}) AS due
), last_served AS (
    SELECT ARRAY[requirement, tenant_id] AS share FROM rotation
    WHERE place <= (SELECT CASE count(*) WHEN $2::int THEN max(place) ELSE $8::int END FROM served)
    ORDER BY place DESC LIMIT 1
)"""


LEASED = """claimable_at = NULL, tidy_at = NULL, lease_token = $3, lease_until = $4,
        run_id = ($5::text[])[c.place],
        run_slot = coalesce(s.request_slot_at, s.open_slot_at, s.next_run_at),
        run_due_at = s.claimable_at,
        run_attempt = coalesce(s.request_attempt, s.open_slot_attempts + 1, 1),
        run_source = coalesce(s.request_source, s.next_source), run_claimed_at = $6,
        run_started_at = CASE WHEN s.claimable_at <= $6 THEN $6 END"""
"""How a claimed row is written. Parameters: of those of a claim, token, until, run ids and now."""
CLAIMED = f"""c.place, {", ".join(f"s.{column}" for column in STATE_OF_CLAIM)},
        CASE WHEN {HAS_STEERING} THEN
            ROW ({", ".join(f"s.{column}" for column in STEERING_COLUMNS)}) END AS steering"""


def _claim(bound: int, crowd: Crowd) -> str:
    """Claim what is due and can be run: all that is chosen gets the lease and an open run.

    Parameters: horizon, limit, token, until, run ids, now, tenant served last, tenants looked at in rotation,
    backlog, requirements that can be run, requirement served last, holder, tenants with a bound, bounds.

    Rows that other transactions have locked are skipped, so nothing here ever waits. Rows are found again
    by their places, which do not change while they are locked; a row that was written since this statement
    began is left to the next claim. There is always a first row, to say who was served last.
    """
    return f"""{_chosen(bound, crowd, BY_PLACE)}, leased AS (
    UPDATE endpoint_states s SET {LEASED}
    FROM chosen c WHERE {BY_PLACE.same.format("c")}
    RETURNING s.tenant_id, s.endpoint_id, s.version, s.ctid::text AS row, {CLAIMED}
), lease AS (
    INSERT INTO leases (token, until, holder) SELECT $3, $4, $12 WHERE EXISTS (SELECT FROM leased)
)
SELECT {", ".join(CLAIMED_COLUMNS)},
    CASE WHEN place IS NULL OR place = 1 THEN (SELECT share FROM last_served) END AS last_served
FROM (SELECT) AS always LEFT JOIN leased ON TRUE ORDER BY place
"""


def choice(bound: int, *, within_bounds: bool) -> str:
    """Choose what a claim would lease, and lock nothing: keys, and in the first row who was served last.

    Parameters: those of a claim by their numbers, of which it takes some.
    """
    crowd = (_of_unbound_first if within_bounds else _of_all)(bound, BY_KEY)
    return f"""{_chosen(bound, crowd, BY_KEY)}
SELECT tenant_id, endpoint_id, CASE WHEN place IS NULL OR place = 1 THEN (SELECT share FROM last_served) END
FROM (SELECT) AS always LEFT JOIN chosen ON TRUE ORDER BY place
"""


CLAIMS = {bound: _claim(bound, _of_all(bound, BY_PLACE)) for bound in BOUNDS}
BOUNDED_CLAIMS = {bound: _claim(bound, _of_unbound_first(bound, BY_PLACE)) for bound in BOUNDS}
