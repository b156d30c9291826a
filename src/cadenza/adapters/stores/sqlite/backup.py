"""Backing up a SQLite file that is in use."""

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import mkstemp
from urllib.parse import quote

from cadenza.adapters.stores.sql.migrations import HEAD
from cadenza.adapters.stores.sqlite.database import translated_errors
from cadenza.domain.errors import Conflict, InvalidRequest, NotFound, Unavailable

CADENZA_TABLES = frozenset({"alembic_version", "jobs", "endpoints", "endpoint_states", "runs"})
TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"
VERSION = re.compile(r"[0-9]{4}")
COMPANIONS = ("-wal", "-journal")


def back_up(live: Path, target: Path, *, overwrite: bool = False) -> str:
    """Write a consistent copy; the version of its schema.

    The target appears when the copy is complete, checked and on the disk, and only its owner may read it.
    """
    refuse_existing(live, target, overwrite=overwrite)
    version = version_of(live)
    with temporary_file(target) as copied:
        copy(live, copied)
        check(copied)
        refuse_existing(live, target, overwrite=overwrite)
        put_in_place(copied, target)
    return version


def copy(live: Path, copied: Path) -> None:
    """Copy what is committed at one moment, without blocking other programs.

    It is one long read: in steps it would start again after every commit of another program.
    """
    with translated_errors(live), closing(connect(live)) as source, closing(connect(copied)) as target:
        source.backup(target)
        # Else companion files would appear beside the copy wherever it is opened.
        target.execute("PRAGMA journal_mode = DELETE")


def check(path: Path) -> str:
    """The schema version of an undamaged database of Cadenza; refuses anything else."""
    version = version_of(path)
    with readable(path) as file:
        (verdict,) = file.execute("PRAGMA integrity_check(1)").fetchone()
    if verdict != "ok":
        raise InvalidRequest(f"{path} is damaged: {verdict}.", "path")
    return version


def version_of(path: Path) -> str:
    """The schema version of a database of Cadenza; refuses other files, and newer versions."""
    with readable(path) as file:
        is_cadenza = {name for (name,) in file.execute(TABLES)} >= CADENZA_TABLES
        rows = file.execute("SELECT version_num FROM alembic_version").fetchall() if is_cadenza else []
    version = str(rows[0][0]) if rows else ""
    if not VERSION.fullmatch(version):
        raise InvalidRequest(f"{path} is not a database of Cadenza.", "path")
    if version > HEAD:
        raise InvalidRequest(
            f"{path} is of a newer version ({version}) than this program knows ({HEAD}): upgrade it.", "path"
        )
    return version


def connect(path: Path, how: str = "mode=rw") -> sqlite3.Connection:
    """Open a file that must exist."""
    return sqlite3.connect(f"file:{quote(str(path.absolute()))}?{how}", uri=True, isolation_level=None)


@contextmanager
def temporary_file(target: Path) -> Iterator[Path]:
    """A temporary file beside the target, readable by its owner alone; deleted unless it was renamed."""
    try:
        handle, name = mkstemp(prefix=f".{target.name}.", suffix=".partial", dir=target.parent)
    except OSError as problem:
        raise Unavailable(f"{target} cannot be written: {problem.strerror}.") from None
    os.close(handle)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def put_in_place(copied: Path, target: Path) -> None:
    """Rename the file to the target, so that file and name survive a power cut."""
    _sync(copied)
    copied.replace(target)
    _sync(target.parent)


def refuse_existing(live: Path, target: Path, *, overwrite: bool) -> None:
    """Refuse to overwrite an existing file unless asked to, and the live database in any case."""
    if not live.exists():
        raise NotFound(f"Database {live} not found.")
    if target.resolve() in {
        Path(f"{live.resolve()}{part}") for part in ("", "-wal", "-shm", "-journal", ".key")
    }:
        raise InvalidRequest(f"{target} is part of the database to back up: name another file.", "path")
    if target.is_dir() or (target.exists() and not overwrite):
        raise Conflict(f"{target} already exists: name another file, or use --overwrite.")


@contextmanager
def readable(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that reads a file and leaves no companion files beside it."""
    if not path.is_file():
        raise NotFound(f"File {path} not found.")
    alone = not any(Path(f"{path}{part}").exists() for part in COMPANIONS)
    try:
        with (
            translated_errors(path),
            closing(connect(path, "mode=ro&immutable=1" if alone else "mode=rw")) as file,
        ):
            yield file
    except Unavailable as problem:
        raise InvalidRequest(problem.message, "path") from None


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
