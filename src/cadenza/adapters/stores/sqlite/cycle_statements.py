"""The statements of workers: claim and settle many rows at a time, start and sweep."""

from functools import cache

from cadenza.adapters.stores.sql.rows import OPEN_RUN, READ, SELECT_ENDPOINT, WRITTEN
from cadenza.adapters.stores.sqlite.batches import given
from cadenza.domain.scheduling.run import Run

AS_CLAIMED = "s.run_id = g.run_id AND s.lease_token = g.token AND s.version = g.version"

CROWDED = "SELECT count(*) FROM (SELECT 1 FROM endpoint_states WHERE claimable_at <= ? LIMIT ?)"
PLACES = "SELECT rowid, version, run_id FROM endpoint_states"
DUE = f"{PLACES} WHERE claimable_at <= ? ORDER BY claimable_at, rank LIMIT ?"
DUE_OF_TENANT = f"{PLACES} WHERE tenant_id = ? AND claimable_at <= ? ORDER BY claimable_at, rank LIMIT ?"
NEXT_TENANT = (
    "SELECT tenant_id, claimable_at FROM endpoint_states WHERE tenant_id > ? AND claimable_at IS NOT NULL"
    " ORDER BY tenant_id, claimable_at LIMIT 1"
)
ADD_LEASE = "INSERT INTO leases (token, until) VALUES (?, ?)"


@cache
def rows_at(rows: int) -> str:
    """The columns `READ` of rows, and their places. Parameters: the places."""
    return (
        f"{given(rows, 'place')} SELECT {', '.join(READ)}, s.rowid FROM g"
        " CROSS JOIN endpoint_states s ON s.rowid = g.place"
        " JOIN endpoints e ON e.tenant_id = s.tenant_id AND e.id = s.endpoint_id"
    )


@cache
def lease(rows: int) -> str:
    """Lease rows and open their runs. Parameters: place and run id of each; token, until, three times now."""
    return (
        f"{given(rows, 'place', 'run_id')} UPDATE endpoint_states AS s"
        " SET claimable_at = NULL, tidy_at = NULL, lease_token = ?, lease_until = ?, run_id = g.run_id,"
        " run_slot = coalesce(s.open_slot_at, s.next_run_at), run_due_at = s.claimable_at,"
        " run_attempt = coalesce(s.open_slot_attempts, 0) + 1, run_source = s.next_source,"
        " run_claimed_at = ?, run_started_at = CASE WHEN s.claimable_at <= ? THEN ? END"
        " FROM g WHERE s.rowid = g.place"
    )


KEPT = {
    "tenant_id": "s.tenant_id",
    "endpoint_id": "s.endpoint_id",
    **{column.removeprefix("run_"): f"s.{column}" for column in OPEN_RUN},
}
"""What the row knows of its run. It stays there when the run is over; without a lease it means nothing."""
WORDS = ("error", "reason", "response")
QUIET = tuple(field for field in Run._fields if field not in WORDS)
TOLD = ("place", *(field for field in QUIET if field not in KEPT))


@cache
def add_quiet_runs(rows: int) -> str:
    """Add runs that were started and left no words. Parameters: the columns `TOLD` of each."""
    known = (KEPT.get(field, f"g.{field}") for field in QUIET)
    return (
        f"{given(rows, *TOLD)} INSERT INTO runs ({', '.join(QUIET)}) SELECT {', '.join(known)}"
        " FROM g CROSS JOIN endpoint_states s ON s.rowid = g.place"
    )


OF_CLAIM = ("place", "run_id", "token", "version")


@cache
def held_as_claimed(rows: int) -> str:
    """The runs whose leases are held and that nobody has steered. Parameters: the columns `OF_CLAIM`."""
    return (
        f"{given(rows, *OF_CLAIM)} SELECT g.run_id FROM g"
        f" CROSS JOIN endpoint_states s ON s.rowid = g.place WHERE {AS_CLAIMED}"
    )


PLAIN = (
    *OF_CLAIM,
    "next_run_at",
    "next_source",
    "missed_slots",
    "failure_count",
    "abandoned_count",
)


@cache
def settle_plain(rows: int) -> str:
    """Write all that an ordinary run of an ordinary endpoint changes. Parameters: the columns `PLAIN`."""
    changed = ", ".join(f"{column} = g.{column}" for column in PLAIN[len(OF_CLAIM) :])
    return (
        f"{given(rows, *PLAIN)} UPDATE endpoint_states AS s SET {changed}, claimable_at = g.next_run_at,"
        " last_run_at = s.run_started_at, lease_token = NULL, lease_until = NULL"
        f" FROM g WHERE s.rowid = g.place AND {AS_CLAIMED}"
    )


OF_KEY = "WHERE s.tenant_id = ? AND s.endpoint_id = ?"
FREE = "lease_token = NULL, lease_until = NULL"
STAND = ", ".join(f"{column} = ?" for column in WRITTEN)

GET = f"{SELECT_ENDPOINT} {OF_KEY}"
STEER = f"UPDATE endpoint_states SET {STAND}, version = version + 1 WHERE tenant_id = ? AND endpoint_id = ?"

START = (
    "UPDATE endpoint_states SET run_slot = ?, run_due_at = ?, run_source = ?, run_started_at = ?"
    " WHERE tenant_id = ? AND endpoint_id = ?"
)
RENEW = "UPDATE leases SET until = ? WHERE token = ?"
RUNS_OF_LEASE = "SELECT run_id FROM endpoint_states WHERE lease_token = ?"

SETTLE = f"UPDATE endpoint_states SET {STAND}, {FREE} WHERE tenant_id = ? AND endpoint_id = ?"
SETTLE_UNLESS_STEERED = f"{SETTLE} AND run_id = ? AND lease_token = ? AND version = ?"
ADD_RUN = f"INSERT INTO runs ({', '.join(Run._fields)}) VALUES ({', '.join('?' * len(Run._fields))})"
EXPIRED = "SELECT token FROM leases WHERE until <= ? LIMIT ?"
LEASED = f"{SELECT_ENDPOINT} WHERE s.lease_token = ? LIMIT ?"
END_LEASES = (
    "DELETE FROM leases WHERE until <= ? AND NOT EXISTS"
    " (SELECT 1 FROM endpoint_states WHERE lease_token = leases.token)"
)
STALE = f"{SELECT_ENDPOINT} WHERE s.tidy_at <= ? ORDER BY s.tidy_at LIMIT ?"
NEXT_DUE = "SELECT min(claimable_at) FROM endpoint_states WHERE claimable_at IS NOT NULL"
