"""Databases to back up, and what must be true of every copy."""

import sqlite3
from contextlib import closing
from pathlib import Path

from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.domain.scheduling.endpoint import Endpoint

STATES_WITHOUT_ENDPOINT = """
SELECT (SELECT count(*) FROM endpoints) + (SELECT count(*) FROM endpoint_states) - 2 * count(*)
FROM endpoint_states s JOIN endpoints e ON e.tenant_id = s.tenant_id AND e.id = s.endpoint_id
"""
RUNS_WITHOUT_ENDPOINT = """
SELECT count(*) FROM runs r WHERE NOT EXISTS
(SELECT 1 FROM endpoints e WHERE e.tenant_id = r.tenant_id AND e.id = r.endpoint_id)
"""
LEASES_WITHOUT_TERM = """
SELECT count(*) FROM endpoint_states
WHERE lease_token IS NOT NULL AND lease_token NOT IN (SELECT token FROM leases)
"""
LAST_RUN_WITHOUT_ROW = """
SELECT count(*) FROM endpoint_states s WHERE last_run_at IS NOT
(SELECT max(started_at) FROM runs r WHERE r.tenant_id = s.tenant_id AND r.endpoint_id = s.endpoint_id)
"""
FAILURES_MISCOUNTED = """
SELECT count(*) FROM endpoint_states s WHERE endpoint_id LIKE 'busy-%' AND failure_count <>
(SELECT count(*) FROM runs r WHERE r.tenant_id = s.tenant_id AND r.endpoint_id = s.endpoint_id
AND status IN ('failure', 'timeout', 'abandoned'))
"""
DOUBLE_VERDICTS = """
SELECT count(*) FROM
(SELECT 1 FROM runs WHERE verdict GROUP BY tenant_id, endpoint_id, slot HAVING count(*) > 1)
"""
TORN = {
    "an endpoint is half there": STATES_WITHOUT_ENDPOINT,
    "a run has no endpoint": RUNS_WITHOUT_ENDPOINT,
    "a lease has no term": LEASES_WITHOUT_TERM,
    "a last run is not the last one": LAST_RUN_WITHOUT_ROW,
    "failures are miscounted": FAILURES_MISCOUNTED,
    "a slot has two verdicts": DOUBLE_VERDICTS,
}


def complaints(path: Path) -> list[str]:
    """All that is not as it must be: a torn state would show as two tables that disagree."""
    with closing(sqlite3.connect(path)) as file:
        (verdict,) = file.execute("PRAGMA integrity_check").fetchone()
        counts = {what: file.execute(statement).fetchone()[0] for what, statement in TORN.items()}
    return [what for what, count in ({verdict: verdict != "ok"} | counts).items() if count]


def endpoints_in(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as file:
        return [id_ for (id_,) in file.execute("SELECT id FROM endpoints ORDER BY id")]


def runs_in(path: Path) -> int:
    with closing(sqlite3.connect(path)) as file:
        return int(file.execute("SELECT count(*) FROM runs").fetchone()[0])


async def keep(path: Path, *endpoints: Endpoint) -> None:
    """Keep endpoints in a file that may be new, as another program would."""
    await migrate(f"sqlite:///{path}")
    store = SqliteStore(SqliteFile(path), TimeOrderedIds())
    try:
        for endpoint in endpoints:
            await store.endpoints.add(endpoint)
    finally:
        await store.close()
