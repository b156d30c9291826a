"""The least that SQLite must do for a cycle, in batches, by the plain driver and without a scheduler.

It does what a cycle is: a lease with its token and its end is committed before the run; after it, in one
commit, the run is recorded and the endpoint gets its last and its next moment, if the lease is still its
own. It keeps what any history of runs needs: which endpoint, for which moment, from when to when, how it
ended; and the indexes to find what is due and the runs of an endpoint. Nothing else is kept or read.
"""

import sqlite3
from pathlib import Path
from time import time_ns

from cadenza.adapters.ids import TimeOrderedIds

TABLES = """
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    CREATE TABLE plain (
        id TEXT PRIMARY KEY, interval_us INTEGER, next_at INTEGER, last_at INTEGER, token TEXT, until INTEGER
    );
    CREATE INDEX plain_due ON plain (next_at) WHERE token IS NULL;
    CREATE TABLE plain_runs (
        id TEXT, endpoint TEXT, slot INTEGER, started INTEGER, finished INTEGER, status TEXT, ms INTEGER
    );
    CREATE INDEX plain_runs_of_endpoint ON plain_runs (endpoint, id);
"""
FILL = "INSERT INTO plain VALUES (?, 1000, 0, NULL, NULL, NULL)"
CLAIM = """
    UPDATE plain SET token = ?, until = ? WHERE rowid IN (
        SELECT rowid FROM plain WHERE token IS NULL AND next_at <= ? ORDER BY next_at LIMIT ?
    ) RETURNING rowid, id, next_at, interval_us
"""
SETTLE = """
    UPDATE plain SET token = NULL, until = NULL, next_at = ?, last_at = ? WHERE rowid = ? AND token = ?
"""
ADD_RUN = "INSERT INTO plain_runs VALUES (?, ?, ?, ?, ?, 'success', 0)"
LEASE_US = 60_000_000


class SqliteCeiling:
    """Cycles by the smallest statements, on one connection."""

    def __init__(self, path: Path, *, endpoints: int, batch: int) -> None:
        self._file = sqlite3.connect(path, isolation_level=None)
        self._batch = batch
        self._ids = TimeOrderedIds()
        self._file.executescript(TABLES)
        self._file.executemany(FILL, [(f"endpoint-{number:06}",) for number in range(endpoints)])

    def cycle(self) -> int:
        """Take one batch through its two commits; how many it was."""
        now, token = time_ns() // 1_000, self._ids.new()
        self._file.execute("BEGIN IMMEDIATE")
        due = self._file.execute(CLAIM, (token, now + LEASE_US, now, self._batch)).fetchall()
        self._file.execute("COMMIT")
        ended = time_ns() // 1_000
        self._file.execute("BEGIN IMMEDIATE")
        self._file.executemany(SETTLE, [(now + interval, now, place, token) for place, _, _, interval in due])
        self._file.executemany(ADD_RUN, [(self._ids.new(), id_, slot, now, ended) for _, id_, slot, _ in due])
        self._file.execute("COMMIT")
        return len(due)

    def close(self) -> None:
        """Close the file."""
        self._file.close()
