"""One SQLite file: a single writer, readers beside it, and errors that people can act on."""

import asyncio
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from cadenza.adapters.sql.sqlite.errors import translated

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
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="cadenza-sqlite-writer")
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="cadenza-sqlite-reader")
        self._writing: sqlite3.Connection | None = None
        self._reading: sqlite3.Connection | None = None

    async def write(self, work: Work[Answer]) -> Answer:
        """Do work in one transaction of its own; if it raises, nothing of it remains."""
        return await asyncio.get_running_loop().run_in_executor(self._writer, self._write, work)

    async def read(self, work: Work[Answer]) -> Answer:
        """Do work that only reads, beside the writer."""
        return await asyncio.get_running_loop().run_in_executor(self._reader, self._read, work)

    async def close(self) -> None:
        """Let running work end, and close the file."""
        loop = asyncio.get_running_loop()
        for executor, connection in ((self._reader, self._reading), (self._writer, self._writing)):
            if connection is not None:
                await loop.run_in_executor(executor, connection.close)
            executor.shutdown()

    def connect(self) -> sqlite3.Connection:
        """A connection of its own, set up like all others."""
        connection = sqlite3.connect(
            self.path,
            timeout=BUSY_MS / 1_000,
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
