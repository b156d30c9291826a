"""A SQLite file as one end of a move."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from cadenza.adapters.stores.moves.fences import sqlite_fence, sqlite_unfence
from cadenza.adapters.stores.moves.records import (
    DELETE,
    MOVES,
    WRITE,
    read_move,
    write_move,
)
from cadenza.adapters.stores.moves.tables import (
    SchemaColumn,
    all_rows,
    check_version,
    count_rows,
    quoted_names,
    select_rows,
    stored_tables,
)
from cadenza.adapters.stores.moves.travelling_secrets import TravellingSecrets
from cadenza.adapters.stores.sql.migrate import SQLITE, migrate
from cadenza.adapters.stores.sql.rows import from_micros
from cadenza.adapters.stores.sqlite.database import translated_errors
from cadenza.adapters.stores.sqlite.dialect import for_sqlite
from cadenza.domain.access.move import Move, Row, StoredTable
from cadenza.domain.errors import Conflict, Unavailable

ALONE_WITHIN_S = 2.0
TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
COMPUTED = (2, 3)
"""What `table_xinfo` says of columns that are computed."""


class SqliteEnd:
    """Holds the file for itself: while it is open, no other process can read or write it."""

    def __init__(self, path: Path, secrets: TravellingSecrets) -> None:
        self.name = str(path)
        self._path = path
        self._secrets = secrets
        self._opened: sqlite3.Connection | None = None

    async def check_alone(self) -> None:
        """Take the file; Conflict if another process has it open."""
        if self._path.exists():
            await asyncio.to_thread(self._take)

    async def check_idle(self) -> None:
        """Nothing to check: no process can have the file beside this one."""

    async def check_sealing(self) -> None:
        self._secrets.check_sealing()

    async def prepare(self) -> None:
        await self.close()
        await migrate(f"{SQLITE}{self._path}")
        await self.check_alone()

    async def tables(self) -> list[StoredTable]:
        known = await self._version()
        if not check_version(known, self.name):
            return []
        columns, references = [], {}
        for (name,) in await self._rows(TABLES):
            for _, column, kind, _, _, place, hidden in await self._rows(f'PRAGMA table_xinfo("{name}")'):
                columns.append(SchemaColumn(name, column, kind, place or None, hidden in COMPUTED))
            found = await self._rows(f'PRAGMA foreign_key_list("{name}")')
            references[name] = {row[2] for row in found}
        return stored_tables(columns, references)

    async def count(self, table: StoredTable) -> int:
        return int((await self._rows(count_rows(table, all_rows(table))))[0][0])

    async def read(self, table: StoredTable, after: Row | None, limit: int) -> list[Row]:
        columns = [f'"{column}"' for column in table.columns]
        statement = select_rows(table, columns, condition=all_rows(table), after=after is not None)
        return self._secrets.opened(table, await self._rows(statement, *(after or ()), limit))

    async def moves(self) -> list[Move]:
        found = []
        for row in await self._rows(MOVES):
            began_at: Any = from_micros(row[5])
            found.append(read_move(row, began_at))
        return found

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        await self._rows("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._connection().rollback()
            raise
        await self._rows("COMMIT")

    async def add(self, table: StoredTable, rows: Sequence[Row]) -> None:
        places = ", ".join("?" * len(table.columns))
        statement = f'INSERT INTO "{table.name}" ({quoted_names(table.columns)}) VALUES ({places})'
        sealed = self._secrets.sealed(table, list(rows))
        await asyncio.to_thread(self._execute_many, statement, sealed)

    async def number_on(self) -> None:
        """Nothing to do: SQLite numbers rows behind the last one."""

    async def write_move(self, move: Move) -> None:
        await self._rows(WRITE, *write_move(move), move.began_at)

    async def delete_move(self, move: Move) -> None:
        await self._rows(DELETE, move.id)

    async def fence(self, move: Move) -> None:  # noqa: ARG002 - All changes are refused.
        await self._all(sqlite_fence(table.name for table in await self.tables()))

    async def unfence(self) -> None:
        await self._all(sqlite_unfence(table.name for table in await self.tables()))

    async def empty(self) -> None:
        tables = await self.tables()
        await self._all(f'DELETE FROM "{table.name}"' for table in reversed(tables) if not table.derived)

    async def close(self) -> None:
        """Let other processes have the file again."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    async def _version(self) -> str | None:
        if not self._path.exists():
            return None
        await self.check_alone()
        tables = await self._rows(TABLES)
        if tables and ("alembic_version",) not in tables:
            raise Conflict(f"{self.name} is a database of another program.")
        if not tables:
            return None
        found = await self._rows("SELECT version_num FROM alembic_version")
        return str(found[0][0]) if found else None

    def _take(self) -> None:
        """Lock the file until it is closed. It leaves the mode in which others could go on reading it."""
        if self._opened is not None:
            return
        with translated_errors(self._path):
            connection = sqlite3.connect(
                self._path, timeout=ALONE_WITHIN_S, isolation_level=None, check_same_thread=False
            )
            try:
                connection.execute("PRAGMA locking_mode = EXCLUSIVE")
                connection.execute("PRAGMA journal_mode = DELETE")
                connection.execute("PRAGMA foreign_keys = ON")
                connection.execute("BEGIN EXCLUSIVE")
                connection.execute("COMMIT")
            except sqlite3.OperationalError as problem:
                connection.close()
                if problem.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
                    raise
                raise Conflict(f"Another program has {self.name} open: stop it first.") from None
            self._opened = connection

    def _connection(self) -> sqlite3.Connection:
        if self._opened is None:
            raise Unavailable(f"{self.name} is not open.")
        return self._opened

    async def _all(self, statements: Iterable[str]) -> None:
        for statement in statements:
            await self._rows(statement)

    async def _rows(self, statement: str, *values: Any) -> list[Row]:
        return await asyncio.to_thread(self._execute, statement, values)

    def _execute(self, statement: str, values: Sequence[Any]) -> list[Row]:
        with translated_errors(self._path):
            return self._connection().execute(*for_sqlite(statement).bound(values)).fetchall()

    def _execute_many(self, statement: str, rows: Sequence[Row]) -> None:
        with translated_errors(self._path):
            self._connection().executemany(statement, rows)
