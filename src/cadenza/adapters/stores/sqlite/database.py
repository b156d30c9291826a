"""One SQLite file: a single writer, readers beside it, and errors that operators can act on."""

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

from cadenza.adapters.stores.sqlite.worker_thread import WorkerThread
from cadenza.domain.errors import Unavailable

MESSAGES = {
    "SQLITE_FULL": "The disk of {path} is full.",
    "SQLITE_READONLY": "{path} cannot be written.",
    "SQLITE_CANTOPEN": "{path} cannot be opened.",
    "SQLITE_BUSY": "{path} is busy: another program has held it for too long.",
    "SQLITE_NOTADB": "{path} is not a SQLite database.",
    "SQLITE_CORRUPT": "{path} is damaged; restore it from a backup.",
    "SQLITE_IOERR": "{path} cannot be read or written: its disk reports an error.",
}
RETRY_WAL_S = 0.005


@contextmanager
def translated_errors(path: Path) -> Iterator[None]:
    """Turn errors of the driver into `Unavailable`; violated constraints and bugs stay as they are."""
    try:
        yield
    except (sqlite3.IntegrityError, sqlite3.ProgrammingError):
        raise
    except sqlite3.DatabaseError as problem:
        name = getattr(problem, "sqlite_errorname", "")
        for prefix, message in MESSAGES.items():
            if name.startswith(prefix):
                raise Unavailable(message.format(path=path)) from problem
        raise Unavailable(f"{path} does not work: {problem}.") from problem


Answer = TypeVar("Answer")
Work = Callable[[sqlite3.Connection], Answer]
BUSY_MS = 10_000


def _use_wal(connection: sqlite3.Connection, busy_ms: int) -> None:
    """Set the journal's mode; SQLite does not wait by itself while another connection sets it."""
    deadline = time.monotonic() + busy_ms / 1_000
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as problem:
            if problem.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() >= deadline:
                raise
            time.sleep(RETRY_WAL_S)
        else:
            return


class SqliteFile:
    """Each transaction is one call to a thread and back.

    With `synchronous=NORMAL` a commit survives the process being killed; the last
    commits before a power cut may be lost, but the file stays sound. `FULL` waits
    for the disk at every commit.
    """

    def __init__(self, path: Path, *, synchronous: str = "NORMAL") -> None:
        self.path = path
        self._synchronous = synchronous
        self._writer = WorkerThread("cadenza-sqlite-writer")
        self._reader = WorkerThread("cadenza-sqlite-reader")
        self._writing: sqlite3.Connection | None = None
        self._reading: sqlite3.Connection | None = None
        self._inline: sqlite3.Connection | None = None

    async def write(self, work: Work[Answer]) -> Answer:
        """Do work in a transaction of its own; if it raises, it is rolled back."""
        return await self._writer.run(partial(self._write, work))

    async def read(self, work: Work[Answer]) -> Answer:
        """Do work that only reads, concurrently with the writer."""
        return await self._reader.run(partial(self._read, work))

    async def read_inline(self, work: Work[Answer]) -> Answer:
        """Read a row by its key in this thread, without a thread switch.

        That takes some microseconds, a switch many times as long. If the file is locked or fails,
        the work goes to the reader's thread.
        """
        if self._inline is None:
            self._inline = await self._reader.run(partial(self.connect, busy_ms=0))
        try:
            return work(self._inline)
        except sqlite3.DatabaseError:
            return await self.read(work)

    async def close(self) -> None:
        """Finish running work, and close the file."""
        if self._inline is not None:
            self._inline.close()
        for thread, connection in ((self._reader, self._reading), (self._writer, self._writing)):
            if connection is not None:
                await thread.run(connection.close)
            thread.stop()

    def connect(self, *, busy_ms: int = BUSY_MS) -> sqlite3.Connection:
        """A new connection with the same settings as all others."""
        connection = sqlite3.connect(
            self.path,
            timeout=busy_ms / 1_000,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=256,
        )
        _use_wal(connection, busy_ms)
        connection.execute(f"PRAGMA synchronous = {self._synchronous}")
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute("PRAGMA foreign_keys = ON")
        return connection

    def _write(self, work: Work[Answer]) -> Answer:
        with translated_errors(self.path):
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
        with translated_errors(self.path):
            if self._reading is None:
                self._reading = self.connect()
            return work(self._reading)
