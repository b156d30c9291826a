"""Restoring a backup into a live SQLite file, while programs go on using it."""

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from cadenza.adapters.stores.sql.migrations import HEAD
from cadenza.adapters.stores.sqlite.backup import (
    check,
    copy,
    put_in_place,
    readable,
    temporary_file,
    version_of,
)
from cadenza.adapters.stores.sqlite.database import SqliteFile, translated_errors
from cadenza.domain.errors import Conflict, InvalidRequest, Unavailable

STEPS = 8
MOST_PAGES = 4_096
VERSION_STEP = 1 << 32
"""Added to all versions: workers cache endpoints by version, and must read restored ones anew."""


def restore_file(backup: Path, live: Path, *, kept: Path) -> str:
    """Overwrite the live file with a backup in one commit; the schema version that the backup had.

    Programs that have the file open see the new content with their next transaction. The old content
    is copied to `kept` under the same lock, so that no commit falls between the two. A crash leaves
    the old content.
    """
    version, has_content = check(backup), _has_content(live)
    with translated_errors(live), closing(_staged(backup, version)) as staged, closing(_opened(live)) as file:
        _check_page_sizes(staged, file)
        _overwrite(file, staged, _CopyOld(live, kept if has_content else None))
        file.execute("PRAGMA busy_timeout = 500")
        file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return version


def _has_content(live: Path) -> bool:
    """Is there a database to copy first? Refuses to overwrite a newer one, or another program's."""
    if not live.exists() or live.stat().st_size == 0:
        return False
    try:
        version_of(live)
    except InvalidRequest as problem:
        advice = "Stop what uses it and move it away; then it can be restored."
        raise Conflict(f"{problem.message} {advice}") from None
    return True


def _staged(backup: Path, version: str) -> sqlite3.Connection:
    """The backup with the newest schema, in a temporary database that is deleted when it is closed."""
    staged = sqlite3.connect("", isolation_level=None)
    with readable(backup) as file:
        file.backup(staged)
    staged.execute("BEGIN")
    for statement in _upgrade(version):
        staged.execute(statement)
    staged.execute("UPDATE endpoint_states SET version = version + ?", (VERSION_STEP,))
    staged.execute("COMMIT")
    return staged


def _upgrade(version: str) -> Sequence[str]:
    """The statements that bring an older schema up to date."""
    if version == HEAD:
        return []
    from cadenza.adapters.stores.sql.migrations.script import statements  # noqa: PLC0415 - Rarely needed.

    return statements("sqlite", version)


def _opened(live: Path) -> sqlite3.Connection:
    return SqliteFile(live, synchronous="FULL").connect()


def _check_page_sizes(staged: sqlite3.Connection, live: sqlite3.Connection) -> None:
    sizes = [file.execute("PRAGMA page_size").fetchone()[0] for file in (staged, live)]
    if sizes[0] != sizes[1]:
        raise InvalidRequest(f"The backup has pages of {sizes[0]} bytes, the database of {sizes[1]}.", "path")


class _CopyOld:
    """Called after every step: after the first, the lock is held and other programs see no change yet."""

    def __init__(self, live: Path, kept: Path | None) -> None:
        self._live = live
        self._kept = kept

    def __call__(self, status: int, _remaining: int, _total: int) -> None:
        if status != sqlite3.SQLITE_OK:
            if status != sqlite3.SQLITE_DONE:
                raise Unavailable(f"{self._live} is busy: another program has locked it for too long.")
            return
        if self._kept is not None:
            with temporary_file(self._kept) as copied:
                copy(self._live, copied)
                put_in_place(copied, self._kept)
            self._kept = None


def _overwrite(live: sqlite3.Connection, staged: sqlite3.Connection, copy_old: _CopyOld) -> None:
    """Write every page, and commit with the last one; a failure rolls back."""
    (pages,) = staged.execute("PRAGMA page_count").fetchone()
    staged.backup(live, pages=min(MOST_PAGES, max(1, pages // STEPS)), progress=copy_old)
