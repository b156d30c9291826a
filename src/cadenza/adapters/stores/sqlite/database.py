"""One SQLite file: a single writer, readers beside it, and errors that operators can act on."""

import os
import sqlite3
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from cadenza.adapters.stores.sql.monitoring.health import RefusedChanges
from cadenza.adapters.stores.sql.one_commit import OneCommit
from cadenza.adapters.stores.sqlite.one_commit import before_first_write, run_to_end, run_until_first_write
from cadenza.adapters.stores.sqlite.snapshot import Rows, SharedSnapshot
from cadenza.adapters.stores.sqlite.worker_thread import WorkerThread
from cadenza.domain.errors import NotWritable, Unavailable

MESSAGES = {
    "SQLITE_FULL": "The disk of {path} is full.",
    "SQLITE_READONLY": "{path} cannot be written.",
    "SQLITE_CANTOPEN": "{path} cannot be opened.",
    "SQLITE_BUSY": "{path} is busy: another program has locked it for too long.",
    "SQLITE_NOTADB": "{path} is not a SQLite database.",
    "SQLITE_CORRUPT": "{path} is damaged; restore it from a backup.",
    "SQLITE_IOERR_SHMSIZE": "The disk of {path} is full.",
    "SQLITE_IOERR": "{path} cannot be read or written: its disk reports an error.",
}
NOT_WRITABLE = ("SQLITE_FULL", "SQLITE_READONLY", "SQLITE_IOERR")
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
                kind = NotWritable if prefix in NOT_WRITABLE else Unavailable
                raise kind(message.format(path=path)) from problem
        raise Unavailable(f"{path} is not usable: {problem}.") from problem


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


OWNER_ALONE, OTHERS = 0o600, 0o077


def create_for_owner(path: Path) -> None:
    """Create a file that its owner alone may read, whatever the umask; one that is there stays as it is.

    SQLite gives its companions (`-wal`, `-shm`, `-journal`) the permissions of the file.
    """
    with suppress(OSError):  # SQLite says what is wrong with the path.
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, OWNER_ALONE)
        os.fchmod(handle, OWNER_ALONE)
        os.close(handle)


def is_open_to_others(path: Path) -> bool:
    """Whether other users of this machine may read or write a file."""
    return path.exists() and bool(path.stat().st_mode & OTHERS)


class SqliteFile:
    """Each transaction is one call to a thread and back.

    With `synchronous=NORMAL` a commit survives the process being killed; the last
    commits before a power cut may be lost, but the file stays sound. `FULL` waits
    for the disk at every commit.
    """

    def __init__(self, path: Path, *, synchronous: str = "NORMAL") -> None:
        self.path = path
        self.refused_changes = RefusedChanges()
        self._synchronous = synchronous
        self._writer = WorkerThread("cadenza-sqlite-writer")
        self._reader = WorkerThread("cadenza-sqlite-reader")
        self._writing: sqlite3.Connection | None = None
        self._reading: sqlite3.Connection | None = None
        self._snapshot: SharedSnapshot | None = None

    async def write(self, work: Work[Answer]) -> Answer:
        """Do work in a transaction of its own; if it raises, it is rolled back."""
        one_commit = OneCommit.of(self)
        if one_commit is None:
            return await self._writer.run(partial(self._write, work))
        connection = await one_commit.begun()
        with translated_errors(self.path):
            return _write_part(connection, work)

    async def in_one_commit(self, perform: Callable[[], Awaitable[Answer]]) -> Answer:
        """Do work whose reads and writes on this file are one transaction; if it raises, it is rolled back.

        It goes on in the writer's thread from its first write on, so the only writer is held while
        the work computes, and never while it waits for its turn in the event loop. So from there on
        it may await this file and nothing else. Within another one, it is a part of that.
        """
        if OneCommit.of(self) is not None:
            return await perform()
        one_commit = OneCommit(self, before_first_write)
        with one_commit.joined():
            steps, context = perform().__await__(), copy_context()
            ended = await run_until_first_write(steps, context)
            if ended is not None:
                return ended.answer

            def finish(connection: sqlite3.Connection) -> Answer:
                one_commit.connection = connection
                return run_to_end(steps)

            return await self._writer.run(partial(context.run, self._write, finish))

    async def read(self, work: Work[Answer]) -> Answer:
        """Do work that only reads, concurrently with the writer."""
        one_commit = OneCommit.of(self)
        if one_commit is not None and one_commit.connection is not None:
            with translated_errors(self.path):
                return work(one_commit.connection)
        return await self._reader.run(partial(self._read, work))

    async def read_by_key(
        self, statement: str, values: Sequence[Any], decode: Callable[[Rows], Answer]
    ) -> Answer:
        """What is made of the rows that a statement finds by their key: in this thread, without a switch.

        That takes some microseconds, a switch many times as long. If the file is locked or fails,
        the reader's thread is asked.
        """
        if OneCommit.of(self) is None:
            try:
                return (self._snapshot or await self._open_snapshot()).read(statement, values, decode)
            except sqlite3.DatabaseError:
                pass  # The reader's thread waits for locks, and translates errors.
        return decode(await self.read(partial(_fetch_all, statement, values)))

    async def data_version(self) -> int:
        """A number that changes with every commit, also of another process."""
        try:
            return (self._snapshot or await self._open_snapshot()).version()
        except sqlite3.DatabaseError:
            (version,) = await self.read(lambda file: file.execute("PRAGMA data_version").fetchone())
            return -int(version)  # Another connection counts for itself.

    async def close(self) -> None:
        """Finish running work, and close the file."""
        if self._snapshot is not None:
            self._snapshot.close()
        for thread, connection in ((self._reader, self._reading), (self._writer, self._writing)):
            if connection is not None:
                await thread.run(connection.close)
            thread.stop()

    def connect(self, *, busy_ms: int = BUSY_MS) -> sqlite3.Connection:
        """A new connection with the same settings as all others."""
        create_for_owner(self.path)
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

    async def _open_snapshot(self) -> SharedSnapshot:
        connection = await self._reader.run(partial(self.connect, busy_ms=0))
        if self._snapshot is None:
            self._snapshot = SharedSnapshot(connection)
        else:  # Another task opened one meanwhile.
            connection.close()
        return self._snapshot

    def _write(self, work: Work[Answer]) -> Answer:
        with self.refused_changes.noted(), translated_errors(self.path):
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
            if self._snapshot is not None:
                self._snapshot.commits += 1
            return answer

    def _read(self, work: Work[Answer]) -> Answer:
        with translated_errors(self.path):
            if self._reading is None:
                self._reading = self.connect()
            return work(self._reading)


def _fetch_all(statement: str, values: Sequence[Any], connection: sqlite3.Connection) -> Rows:
    return connection.execute(statement, values).fetchall()


def _write_part(connection: sqlite3.Connection, work: Work[Answer]) -> Answer:
    """Do work as a part of an open transaction; if it raises, that part is rolled back."""
    if not connection.in_transaction:  # SQLite itself rolls back when the disk fails.
        raise Unavailable("The transaction was rolled back.")
    connection.execute("SAVEPOINT part")
    try:
        answer = work(connection)
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK TO part")
            connection.execute("RELEASE part")
        raise
    connection.execute("RELEASE part")
    return answer
