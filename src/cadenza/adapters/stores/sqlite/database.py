"""One SQLite file: a single writer, readers beside it, and errors that people can act on."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

from cadenza.adapters.stores.sqlite.worker_thread import Hand
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


Answer = TypeVar("Answer")
Work = Callable[[sqlite3.Connection], Answer]
BUSY_MS = 10_000


class SqliteFile:
    """Work is handed over whole: one hop to a thread and back for one commit.

    With `synchronous=NORMAL` a commit survives the process being killed; the last
    commits before a power cut may be lost, but the file stays sound. `FULL` waits
    for the disk at every commit.
    """

    def __init__(self, path: Path, *, synchronous: str = "NORMAL") -> None:
        self.path = path
        self._synchronous = synchronous
        self._writer = Hand("cadenza-sqlite-writer")
        self._reader = Hand("cadenza-sqlite-reader")
        self._writing: sqlite3.Connection | None = None
        self._reading: sqlite3.Connection | None = None
        self._looking: sqlite3.Connection | None = None

    async def write(self, work: Work[Answer]) -> Answer:
        """Do work in one transaction of its own; if it raises, nothing of it remains."""
        return await self._writer.do(partial(self._write, work))

    async def read(self, work: Work[Answer]) -> Answer:
        """Do work that only reads, beside the writer."""
        return await self._reader.do(partial(self._read, work))

    async def look(self, work: Work[Answer]) -> Answer:
        """Read a row by its key, at once and in this thread.

        That takes some microseconds; two threads that pass the interpreter to each
        other for it take many times as long. What would have to wait for a lock, or
        finds the file in trouble, goes the usual way.
        """
        if self._looking is None:
            self._looking = await self._reader.do(partial(self.connect, busy_ms=0))
        try:
            return work(self._looking)
        except sqlite3.DatabaseError:
            return await self.read(work)

    async def close(self) -> None:
        """Let running work end, and close the file."""
        if self._looking is not None:
            self._looking.close()
        for hand, connection in ((self._reader, self._reading), (self._writer, self._writing)):
            if connection is not None:
                await hand.do(connection.close)
            hand.stop()

    def connect(self, *, busy_ms: int = BUSY_MS) -> sqlite3.Connection:
        """A connection of its own, set up like all others."""
        connection = sqlite3.connect(
            self.path,
            timeout=busy_ms / 1_000,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(f"PRAGMA synchronous = {self._synchronous}")
        connection.execute("PRAGMA temp_store = MEMORY")
        return connection

    def _write(self, work: Work[Answer]) -> Answer:
        with translated(self.path):
            if self._writing is None:
                self._writing = self.connect()
            connection = self._writing
            connection.execute("BEGIN IMMEDIATE")
            try:
                answer = work(connection)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            return answer

    def _read(self, work: Work[Answer]) -> Answer:
        with translated(self.path):
            if self._reading is None:
                self._reading = self.connect()
            return work(self._reading)
