"""A sound copy of a SQLite file that is in use."""

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import mkstemp
from urllib.parse import quote

from cadenza.adapters.stores.sql.migrations import HEAD
from cadenza.adapters.stores.sqlite.database import translated
from cadenza.domain.errors import Conflict, InvalidRequest, NotFound, Unavailable

OURS = frozenset({"alembic_version", "jobs", "endpoints", "endpoint_states", "runs"})
TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"
A_VERSION = re.compile(r"[0-9]{4}")
BESIDE = ("-wal", "-journal")


def back_up(live: Path, target: Path, *, overwrite: bool = False) -> str:
    """Write a sound copy; the version of its schema.

    It appears under its name when it is whole, checked and on the disk, and only
    its owner may read it.
    """
    refuse_taken(live, target, overwrite=overwrite)
    version = version_of(live)
    with partial(target) as copied:
        copy(live, copied)
        check(copied)
        refuse_taken(live, target, overwrite=overwrite)
        put_in_place(copied, target)
    return version


def copy(live: Path, copied: Path) -> None:
    """Copy what is committed at one moment, and block nobody.

    It is one long read. In steps it would begin again with every commit of another program.
    """
    with translated(live), closing(connect(live)) as source, closing(connect(copied)) as target:
        source.backup(target)
        # Without it, the copy would want companion files of its own wherever it is opened.
        target.execute("PRAGMA journal_mode = DELETE")


def check(path: Path) -> str:
    """The version of the schema of a sound database of Cadenza; refuses anything else."""
    version = version_of(path)
    with readable(path) as file:
        (verdict,) = file.execute("PRAGMA integrity_check(1)").fetchone()
    if verdict != "ok":
        raise InvalidRequest(f"{path} is damaged: {verdict}.", "path")
    return version


def version_of(path: Path) -> str:
    """The version of the schema of a database of Cadenza; refuses what is none, or too new."""
    with readable(path) as file:
        ours = {name for (name,) in file.execute(TABLES)} >= OURS
        rows = file.execute("SELECT version_num FROM alembic_version").fetchall() if ours else []
    version = str(rows[0][0]) if rows else ""
    if not A_VERSION.fullmatch(version):
        raise InvalidRequest(f"{path} is not a database of Cadenza.", "path")
    if version > HEAD:
        raise InvalidRequest(
            f"{path} is of a newer version ({version}) than this program knows ({HEAD}): upgrade it.", "path"
        )
    return version


def connect(path: Path, how: str = "mode=rw") -> sqlite3.Connection:
    """Open a file that must be there."""
    return sqlite3.connect(f"file:{quote(str(path.absolute()))}?{how}", uri=True, isolation_level=None)


@contextmanager
def partial(target: Path) -> Iterator[Path]:
    """A new file beside the target, for its owner alone; gone in the end, unless it was put in place."""
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
    """Give a file its name, when it and its name are sure to outlive a power cut."""
    _sync(copied)
    copied.replace(target)
    _sync(target.parent)


def refuse_taken(live: Path, target: Path, *, overwrite: bool) -> None:
    """Refuse to write over what is there unless told to, and never over what is live."""
    if not live.exists():
        raise NotFound(f"There is no database {live}.")
    if target.resolve() in {
        Path(f"{live.resolve()}{part}") for part in ("", "-wal", "-shm", "-journal", ".key")
    }:
        raise InvalidRequest(f"{target} belongs to what is to be backed up: name another file.", "path")
    if target.is_dir() or (target.exists() and not overwrite):
        raise Conflict(f"{target} is there already: name another file, or say that it may go.")


@contextmanager
def readable(path: Path) -> Iterator[sqlite3.Connection]:
    """A file to look into, without a trace beside it."""
    if not path.is_file():
        raise NotFound(f"There is no file {path}.")
    alone = not any(Path(f"{path}{part}").exists() for part in BESIDE)
    try:
        with translated(path), closing(connect(path, "mode=ro&immutable=1" if alone else "mode=rw")) as file:
            yield file
    except Unavailable as problem:
        raise InvalidRequest(problem.message, "path") from None


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
