"""A PostgreSQL database as one end of a move."""

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, cast

from cadenza.adapters.stores.moves.fences import postgres_fence, postgres_unfence
from cadenza.adapters.stores.moves.records import (
    DELETE,
    MOVES,
    WRITE,
    read_move,
    write_move,
)
from cadenza.adapters.stores.moves.tables import (
    OF_ITS_SERVER,
    SchemaColumn,
    all_rows,
    check_version,
    count_rows,
    quoted_names,
    select_rows,
    stored_tables,
)
from cadenza.adapters.stores.moves.travelling_secrets import TravellingSecrets
from cadenza.adapters.stores.postgres.connections.server_connector import APPLICATION
from cadenza.adapters.stores.postgres.errors import translated_errors
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.domain.access.move import Move, Row, StoredTable
from cadenza.domain.errors import Conflict, Unavailable

if TYPE_CHECKING:
    import asyncpg

MOVE_LOCK = 7_236_836_946
"""The number of the advisory lock; any that is not used for another lock."""
TAKE = f"SELECT pg_try_advisory_lock({MOVE_LOCK})"
OTHERS = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1"
IN_FLIGHT = "SELECT count(*) FROM leases WHERE until > now()"
COLUMNS = """
SELECT c.relname, a.attname, format_type(a.atttypid, NULL), array_position(i.indkey::int2[], a.attnum) + 1,
    a.attgenerated <> '', pg_get_serial_sequence(c.oid::regclass::text, a.attname) IS NOT NULL
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
ORDER BY c.relname, a.attnum
"""
TABLES = """
SELECT c.relname FROM pg_class c
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
"""
REFERENCES = """
SELECT r.conrelid::regclass::text, r.confrelid::regclass::text FROM pg_constraint r
WHERE r.contype = 'f' AND r.connamespace = current_schema()::regnamespace AND r.conparentid = 0
"""
NUMBER_ON = """
SELECT setval(pg_get_serial_sequence('{table}', '{column}'), greatest(1, coalesce(max({column}), 1)))
FROM {table}
"""
READ = {
    "timestamp with time zone": "(extract(epoch FROM {}) * 1000000)::bigint",
    "boolean": "{}::int",
    "json": "{}::text",
}
"""A value on its way is what SQLite stores: microseconds, 0 and 1, texts."""
SENT = {
    "timestamp with time zone": ("bigint", "timestamptz 'epoch' + {} * interval '1 microsecond'"),
    "boolean": ("bigint", "{} <> 0"),
    "json": ("text", "{}::json"),
    "text": ("text", "{}"),
    "bytea": ("bytea", "{}"),
    "bigint": ("bigint", "{}"),
    "integer": ("bigint", "{}::int"),
}
"""As which type a value is sent, and what makes the column's of it."""


class PostgresEnd:
    """One session, which holds a lock for as long as the move goes on."""

    def __init__(self, pool: PostgresPool, secrets: TravellingSecrets) -> None:
        self.name = f"{pool.address}, database {pool.address.database}"
        self._pool = pool
        self._secrets = secrets
        self._session: asyncpg.Connection[asyncpg.Record] | None = None
        self._kinds: dict[tuple[str, str], str] = {}
        self._numbered: list[tuple[str, str]] = []

    async def check_alone(self) -> None:
        """Conflict if processes of Cadenza are connected."""
        if not (await self._rows(TAKE))[0][0]:
            raise Conflict(f"Another move is in progress in {self.name}.")
        if others := (await self._rows(OTHERS, APPLICATION))[0][0]:
            raise Conflict(f"{others} sessions of Cadenza work in {self.name}: stop its processes first.")

    async def check_idle(self) -> None:
        """A process behind a pooler, or that lost its connection, shows in its leases alone."""
        if running := (await self._rows(IN_FLIGHT))[0][0]:
            raise Conflict(f"{running} leases in {self.name} are not over yet: stop its workers, and wait.")

    async def check_sealing(self) -> None:
        self._secrets.check_sealing()

    async def prepare(self) -> None:
        await migrate(self._pool.url)

    async def tables(self) -> list[StoredTable]:
        if not check_version(await self._version(), self.name):
            return []
        columns = [SchemaColumn(*row) for row in await self._rows(COLUMNS)]
        self._kinds = {(one.table, one.name): one.kind for one in columns}
        self._numbered = [(one.table, one.name) for one in columns if one.numbered]
        references: dict[str, set[str]] = {}
        for child, parent in await self._rows(REFERENCES):
            references.setdefault(child, set()).add(parent)
        return stored_tables(columns, references)

    def condition(self, table: StoredTable) -> str:
        """Which rows of a table belong to the move."""
        return all_rows(table)

    async def count(self, table: StoredTable) -> int:
        return int((await self._rows(count_rows(table, self.condition(table))))[0][0])

    async def read(self, table: StoredTable, after: Row | None, limit: int) -> list[Row]:
        condition = self.condition(table)
        statement = select_rows(table, self._read(table), condition=condition, after=after is not None)
        return self._secrets.opened(table, await self._rows(statement, *(after or ()), limit))

    async def moves(self) -> list[Move]:
        return [read_move(row, row[5]) for row in await self._rows(MOVES)]

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[None]:
        session = await self._connected()
        with translated_errors(self._pool.address):
            async with session.transaction():
                yield

    async def add(self, table: StoredTable, rows: Sequence[Row]) -> None:
        sealed = self._secrets.sealed(table, list(rows))
        columns = dict(zip(table.columns, zip(*sealed, strict=True), strict=True)) if sealed else {}
        carried = [column for column in table.columns if column not in table.numbered]
        await self._rows(self._insert(table.name, carried), *(list(columns[column]) for column in carried))

    async def number_on(self) -> None:
        for table, column in self._numbered:
            await self._rows(NUMBER_ON.format(table=table, column=column))

    async def write_move(self, move: Move) -> None:
        await self._rows(WRITE, *write_move(move), move.began_at)

    async def delete_move(self, move: Move) -> None:
        await self._rows(DELETE, move.id)

    async def fence(self, move: Move) -> None:  # noqa: ARG002 - All changes are refused.
        await self._all(postgres_fence(table.name for table in await self.tables()))

    async def unfence(self) -> None:
        await self._all(postgres_unfence(table.name for table in await self.tables()))

    async def empty(self) -> None:
        tables = await self.tables()
        await self._all([f"TRUNCATE {quoted_names(table.name for table in tables)}"])

    async def close(self) -> None:
        """End the session, and with it the lock."""
        if self._session is not None:
            await self._session.close()

    def _read(self, table: StoredTable) -> list[str]:
        """The columns of a table as they travel."""
        kinds = [(column, self._kinds[table.name, column]) for column in table.columns]
        return [READ.get(kind, "{}").format(f'"{column}"') for column, kind in kinds]

    def _insert(self, table: str, columns: Sequence[str]) -> str:
        """Insert rows that are sent as one list for each column, in their order."""
        sent = [SENT[self._kinds[table, column]] for column in columns]
        lists = ", ".join(f"${place}::{kind}[]" for place, (kind, _) in enumerate(sent, 1))
        empty = sorted(OF_ITS_SERVER.get(table, ()))
        values = [value.format(f'g."{column}"') for column, (_, value) in zip(columns, sent, strict=True)]
        return (
            f'INSERT INTO "{table}" ({quoted_names([*columns, *empty])})'
            f" SELECT {', '.join([*values, *('NULL' for _ in empty)])}"
            f" FROM unnest({lists}) WITH ORDINALITY AS g ({quoted_names(columns)}, place) ORDER BY g.place"
        )

    async def _version(self) -> str | None:
        if (await self._rows("SELECT to_regclass('alembic_version')"))[0][0] is not None:
            found = await self._rows("SELECT version_num FROM alembic_version")
            return found[0][0] if found else None
        if await self._rows(TABLES):
            raise Conflict(f"{self.name} has tables of another program: name a database of its own.")
        return None

    async def _connected(self) -> "asyncpg.Connection[asyncpg.Record]":
        if self._session is None:
            self._session = await self._pool.connect()
            await self._session.execute(f"SET application_name = '{APPLICATION} move'")
        if self._session.is_closed():
            raise Unavailable(f"The connection to {self._pool.address} was lost.")
        return self._session

    async def _all(self, statements: Iterable[str]) -> None:
        session = await self._connected()
        with translated_errors(self._pool.address):
            for statement in statements:
                await session.execute(statement)

    async def _rows(self, statement: str, *values: Any) -> list[Row]:
        session = await self._connected()
        with translated_errors(self._pool.address):
            return cast("list[Row]", [tuple(row) for row in await session.fetch(statement, *values)])
