"""A backup put in the place of a live SQLite file, beside programs that go on working."""

import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from cadenza.adapters.stores.sql.migrations import HEAD
from cadenza.adapters.stores.sqlite.backup import check, copy, partial, put_in_place, readable, version_of
from cadenza.adapters.stores.sqlite.database import SqliteFile, translated
from cadenza.domain.errors import Conflict, InvalidRequest, Unavailable

STEPS = 8
MOST_PAGES = 4_096
ANOTHER_AGE = 1 << 32
"""Workers remember endpoints by their versions: none may take a restored one for what it remembers."""


def put_back(backup: Path, live: Path, *, kept: Path) -> str:
    """Put a backup in the place of what is live, in one commit; the version that the backup had.

    Programs that have the file open see the new content with their next
    transaction. What was there is copied to `kept` under the same lock, so that no
    commit falls between the two. Whoever dies meanwhile leaves what was there.
    """
    version, inhabited = check(backup), _inhabited(live)
    with translated(live), closing(_staged(backup, version)) as staged, closing(_opened(live)) as file:
        _same_pages(staged, file)
        _overwrite(file, staged, _Keeping(live, kept if inhabited else None))
        file.execute("PRAGMA busy_timeout = 500")
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return version


def _inhabited(live: Path) -> bool:
    """Is there something to keep? Refuses to write over what is newer, or somebody else's."""
    if not live.exists() or live.stat().st_size == 0:
        return False
    try:
        version_of(live)
    except InvalidRequest as problem:
        advice = "Stop what uses it and move it away; then it can be restored."
        raise Conflict(f"{problem.message} {advice}") from None
    return True


def _staged(backup: Path, version: str) -> sqlite3.Connection:
    """The backup brought up to date, in a file without a name, which is gone when it is closed."""
    staged = sqlite3.connect("", isolation_level=None)
    with readable(backup) as file:
        file.backup(staged)
    staged.execute("BEGIN")
    for statement in _missing(version):
        staged.execute(statement)
    staged.execute("UPDATE endpoint_states SET version = version + ?", (ANOTHER_AGE,))
    staged.execute("COMMIT")
    return staged


def _missing(version: str) -> Sequence[str]:
    """The statements that an older schema lacks."""
    if version == HEAD:
        return []
    from cadenza.adapters.stores.sql.migrations.script import statements  # noqa: PLC0415 - Mostly nothing is missing.

    return statements("sqlite", version)


def _opened(live: Path) -> sqlite3.Connection:
    if not live.exists():
        os.close(os.open(live, os.O_CREAT | os.O_EXCL, 0o600))
    return SqliteFile(live, synchronous="FULL").connect()


def _same_pages(staged: sqlite3.Connection, live: sqlite3.Connection) -> None:
    sizes = [file.execute("PRAGMA page_size").fetchone()[0] for file in (staged, live)]
    if sizes[0] != sizes[1]:
        raise InvalidRequest(f"The backup has pages of {sizes[0]} bytes, the database of {sizes[1]}.", "path")


class _Keeping:
    """Called after every step: after the first, the lock is held and nothing is written yet for others."""

    def __init__(self, live: Path, kept: Path | None) -> None:
        self._live = live
        self._kept = kept

    def __call__(self, status: int, _remaining: int, _total: int) -> None:
        if status != sqlite3.SQLITE_OK:
            if status != sqlite3.SQLITE_DONE:
                raise Unavailable(f"{self._live} is busy: another program has held it for too long.")
            return
        if self._kept is not None:
            with partial(self._kept) as copied:
                copy(self._live, copied)
                put_in_place(copied, self._kept)
            self._kept = None


def _overwrite(live: sqlite3.Connection, staged: sqlite3.Connection, keeping: _Keeping) -> None:
    """Write every page, and commit with the last one; what the steps leave open, a failure takes back."""
    (pages,) = staged.execute("PRAGMA page_count").fetchone()
    staged.backup(live, pages=min(MOST_PAGES, max(1, pages // STEPS)), progress=keeping)
