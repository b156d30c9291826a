"""The database of a simulation: tables in memory that all processes share, or one SQLite file."""

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar

from cadenza.adapters.stores.memory import MemoryStore
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.snapshot import Rows
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.ports.ids import Ids
from cadenza.ports.store import Store

Answer = TypeVar("Answer")


def complete(work: Coroutine[Any, Any, Answer]) -> Answer:
    """Run a coroutine that waits for nothing."""
    try:
        work.send(None)
    except StopIteration as ended:
        answer: Answer = ended.value
        return answer
    work.close()
    raise RuntimeError("a call of the store waited for something else")


class SimulatedDatabase(Protocol):
    """Where the processes of a simulation keep their data."""

    one_machine: bool
    """Whether all processes are on the machine of the database, whose time is set for all of them."""

    def connect(self, ids: Ids) -> Store:
        """The store of a new process."""
        ...

    def connect_checks(self, ids: Ids) -> Store:
        """The store of the checks, which read what is committed now."""
        ...

    def close(self) -> None:
        """Forget everything."""
        ...


class MemoryDatabase:
    """Tables that outlive processes; it notifies them, as PostgreSQL does."""

    one_machine = False

    def __init__(self, ids: Ids) -> None:
        self._store = MemoryStore(ids)

    def connect(self, ids: Ids) -> Store:
        """The one store: processes have caches of their own only in front of it."""
        del ids
        return self._store

    connect_checks = connect

    def close(self) -> None:
        """Nothing."""


class InlineThread:
    """Does the work of a thread at once."""

    async def run(self, work: Callable[[], Answer]) -> Answer:
        """Do it."""
        return work()

    def stop(self) -> None:
        """Nothing."""


class InlineSqliteFile(SqliteFile):
    """A file whose transactions are run in the event loop, each whole."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, synchronous="OFF")
        self._writer = self._reader = InlineThread()  # type: ignore[assignment]


class UnrememberedSqliteFile(InlineSqliteFile):
    """A file that is read anew each time.

    The product shares what it reads by key within an iteration of the event loop, in which the checks
    look before and after a commit of another store.
    """

    async def read_by_key(
        self, statement: str, values: Sequence[Any], decode: Callable[[Rows], Answer]
    ) -> Answer:
        """What is made of the rows as they are."""
        return await self.read(lambda file: decode(file.execute(statement, values).fetchall()))


class SqliteDatabase:
    """One file, and a store of its own for each process."""

    one_machine = True
    _template: Path | None = None

    def __init__(self, ids: Ids) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="cadenza-simulation-", dir=_fast_folder()))
        self._path = self._folder / "cadenza.db"
        shutil.copy(self._migrated(), self._path)
        self._files: list[InlineSqliteFile] = []
        self._ids = ids

    def connect(self, ids: Ids) -> Store:
        """A store on the file."""
        return self._store(InlineSqliteFile(self._path), ids)

    def connect_checks(self, ids: Ids) -> Store:
        """A store on the file that remembers nothing."""
        return self._store(UnrememberedSqliteFile(self._path), ids)

    def close(self) -> None:
        """Delete the file."""
        for file in self._files:
            complete(file.close())
        shutil.rmtree(self._folder)

    def _store(self, file: InlineSqliteFile, ids: Ids) -> Store:
        self._files.append(file)
        return SqliteStore(file, ids)

    @classmethod
    def _migrated(cls) -> Path:
        if cls._template is None:
            folder = Path(tempfile.mkdtemp(prefix="cadenza-simulation-"))
            cls._template = folder / "template.db"
            asyncio.run(migrate(f"sqlite:///{cls._template}"))
        return cls._template


def _fast_folder() -> str | None:
    """A file system in memory, where there is one."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


DATABASES: dict[str, Callable[[Ids], SimulatedDatabase]] = {
    "memory": MemoryDatabase,
    "sqlite": SqliteDatabase,
}
