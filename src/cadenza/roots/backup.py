"""Backup and restore of the database of the settings, while Cadenza runs."""

import asyncio
from pathlib import Path
from typing import NamedTuple

from cadenza.adapters.access.secret_keys import KeyFile
from cadenza.adapters.clock import SystemClock
from cadenza.adapters.stores.sql.migrations import HEAD
from cadenza.adapters.stores.sqlite.backup import back_up, readable
from cadenza.adapters.stores.sqlite.restore import restore_file
from cadenza.domain.errors import InvalidRequest, NotFound
from cadenza.roots.clients.choice import where_else
from cadenza.roots.clients.local import missing_file
from cadenza.roots.settings import SQLITE, Settings, read_settings
from cadenza.roots.wiring.secrets import open_secrets, secret_keys
from cadenza.roots.wiring.stores import check_url

LIVE = "SELECT count(*) FROM endpoint_states WHERE NOT archived"


class BackupResult(NamedTuple):
    """A backup that was written."""

    database: str
    path: str
    bytes: int
    endpoints: int
    version: str
    """Of the schema."""
    note: str
    """What is not in it."""


class RestoreResult(NamedTuple):
    """A database that is again what it was."""

    database: str
    path: str
    endpoints: int
    before: str
    """The version of the schema in the backup."""
    after: str
    kept: str | None
    """Where what was there is kept; None if there was nothing."""
    note: str
    """What is still to do."""


def backup(path: str | Path, *, overwrite: bool = False) -> BackupResult:
    """Write a sound copy of the database, also while it is used; refuses to write over another file."""
    settings = read_settings()
    live, target = _database_path(settings), Path(path)
    missing = missing_file(settings)
    if missing is not None:
        raise NotFound(f"Database {missing} not found: {where_else(settings)}.")
    version = back_up(live, target, overwrite=overwrite)
    size = target.stat().st_size
    return BackupResult(str(live), str(target), size, _endpoints(target), version, _excluded(settings))


def restore(path: str | Path) -> RestoreResult:
    """Put a backup in the place of the database, also while it is used; what was there is kept beside it."""
    settings = read_settings()
    live = _database_path(settings)
    secret_keys(settings)  # What is wrong with them is said before anything is written.
    if live.exists() and Path(path).exists() and live.samefile(path):
        raise InvalidRequest(f"{path} is the database itself: name a backup.", "path")
    kept = Path(f"{live}.before-restore-{SystemClock().now():%Y%m%dT%H%M%S%fZ}")
    version = restore_file(Path(path), live, kept=kept)
    return RestoreResult(
        database=str(live),
        path=str(path),
        endpoints=_endpoints(live),
        before=version,
        after=HEAD,
        kept=str(kept) if kept.exists() else None,
        note=asyncio.run(_secrets_note(settings)),
    )


def _database_path(settings: Settings) -> Path:
    url = check_url(settings.database_url)
    if not url.startswith(SQLITE):
        raise InvalidRequest(
            "This database is on PostgreSQL: back it up with pg_dump, restore with pg_restore."
        )
    return Path(url.removeprefix(SQLITE))


def _endpoints(path: Path) -> int:
    with readable(path) as file:
        return int(file.execute(LIVE).fetchone()[0])


def _excluded(settings: Settings) -> str:
    keys = secret_keys(settings)
    key = f"the key file {keys.path}" if isinstance(keys, KeyFile) else "CADENZA_SECRET_KEY"
    return f"Secrets in it open only with {key}, which is not in it: keep that elsewhere."


async def _secrets_note(settings: Settings) -> str:
    """Whether what was restored can be opened here."""
    async with open_secrets(settings) as secrets:
        found = await secrets.count_by_key()
    if not found.closed:
        return "Its secrets open with the key that is here." if sum(found) else ""
    return f"{found.closed} of {sum(found)} secrets do not open here: bring back the key that sealed them."
