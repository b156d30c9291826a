"""What SQLite says, in words an operator can act on."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cadenza.domain.errors import Unavailable

SENTENCES = {
    "SQLITE_FULL": "The disk of {path} is full.",
    "SQLITE_READONLY": "{path} cannot be written.",
    "SQLITE_CANTOPEN": "{path} cannot be opened.",
    "SQLITE_BUSY": "{path} is busy: another program has held it for too long.",
    "SQLITE_NOTADB": "{path} is not a SQLite database.",
    "SQLITE_CORRUPT": "{path} is damaged; restore it from a backup.",
    "SQLITE_IOERR": "{path} cannot be read or written: its disk reports an error.",
}


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn what the driver raises into what a caller can act on; broken rules stay what they are."""
    try:
        yield
    except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
        raise
    except sqlite3.DatabaseError as problem:
        name = getattr(problem, "sqlite_errorname", "")
        for prefix, sentence in SENTENCES.items():
            if name.startswith(prefix):
                raise Unavailable(sentence.format(path=path)) from problem
        raise Unavailable(f"{path} does not work: {problem}.") from problem
