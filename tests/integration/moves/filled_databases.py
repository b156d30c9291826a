"""Databases with rows in every table, and what is in them, read without the code that moves them."""

import asyncio
import sqlite3
from collections.abc import Callable, Coroutine
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

import asyncpg

from cadenza.adapters.access.secret_encryption import SecretBox
from cadenza.adapters.access.secret_keys import KeyFile
from cadenza.adapters.stores.moves.tables import NOT_CARRIED
from cadenza.adapters.stores.sql.migrate import migrate

Answer = TypeVar("Answer")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TENANT = {"tenant"}
NAMES = {
    "tenants": "tenant",
    "users": "user",
    "agents": "agent",
    "endpoints": "endpoint",
    "jobs": "job",
    "keys": "key",
}
"""What the `id` of a row in these tables is called elsewhere."""
EACH = 7
JSON, NUL = '{"%s": %d,  "ü": "%s"}', "\\u0000"
"""Two blanks in a document stay two. Columns are computed from those of endpoints, which hold no NUL."""
OF_ALERTS = '{"tenant_id": "tenant-%d"}'
PLAIN: dict[str, Callable[[int], int]] = {
    "timestamp with time zone": lambda number: (1_700_000_000 + number) * 1_000_000 + number,
    "boolean": lambda number: number % 2,
    "bigint": lambda number: number,
    "integer": lambda number: number,
}
KINDS = """
SELECT table_name, column_name, data_type FROM information_schema.columns
WHERE table_schema = 'public' AND is_generated = 'NEVER' AND table_name NOT LIKE 'runs\\_%'
AND table_name NOT IN (SELECT table_name FROM information_schema.views) ORDER BY 1, ordinal_position
"""
EMPTY = {*NOT_CARRIED, "daily_tallies"}
"""Not filled: each database has its own, or fills it by itself."""
NOT_COMPARED = EMPTY - {"daily_tallies"}


def run_async(work: Coroutine[Any, Any, Answer]) -> Answer:
    """Run a coroutine to its end."""
    return asyncio.run(work)


async def kinds_of(url: str) -> dict[str, dict[str, str]]:
    """All columns of a server's tables by table, with their types."""
    server = await asyncpg.connect(url)
    try:
        found: dict[str, dict[str, str]] = {}
        for table, column, kind in await server.fetch(KINDS):
            found.setdefault(table, {})[column] = kind
        return found
    finally:
        await server.close()


def value_of(table: str, column: str, kind: str, number: int) -> Any:
    """A value as SQLite stores it: the same for columns that refer to each other."""
    if kind in PLAIN:
        return PLAIN[kind](number)
    if kind == "bytea":
        return f"{table} {number}".encode()
    if kind == "json":
        nul = "a" if table == "endpoints" else NUL
        return OF_ALERTS % (number % 2) if table == "alerts" else JSON % (column, number, nul)
    if table == "daily_verdicts" and column == "status":
        return "success" if number % 2 else "cutoff_reached"
    name = NAMES.get(table, table) if column == "id" else column.removesuffix("_id")
    return f"{name}-{number % 2 if column == 'tenant_id' else number} ö'".removesuffix(
        " ö'" * (name in TENANT)
    )


def rows_for(table: str, columns: dict[str, str]) -> list[list[Any]]:
    """Some rows of one table."""
    return [
        [value_of(table, column, kind, number) for column, kind in columns.items()] for number in range(EACH)
    ]


async def fill(url: str, like: str) -> None:
    """Make a SQLite file with rows in every table that a server's schema has, as it has them."""
    await migrate(url)
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as file:
        for table, columns in (await kinds_of(like)).items():
            if table in EMPTY:
                continue
            if table == "runs":
                columns.pop("txid", None)
            names = ", ".join(f'"{column}"' for column in columns)
            values = ", ".join("?" * len(columns))
            file.executemany(f'INSERT INTO "{table}" ({names}) VALUES ({values})', rows_for(table, columns))
        _seal(file)
        file.commit()


def _seal(file: sqlite3.Connection) -> None:
    """Seal the secrets with a key in a file of its own."""
    path = file.execute("PRAGMA database_list").fetchone()[2]
    box = KeyFile(Path(f"{path}.key")).sealing_box(first=True)
    for tenant_id, name in file.execute("SELECT tenant_id, name FROM secrets").fetchall():
        sealed = box.seal(f"the secret of {name}", place=(tenant_id, name))
        file.execute(
            "UPDATE secrets SET sealed = ? WHERE tenant_id = ? AND name = ?", (sealed, tenant_id, name)
        )


async def content(url: str, like: str, keys: str) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables, sorted, with secrets opened."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    for table, columns in (await kinds_of(like)).items():
        if table not in NOT_COMPARED:
            wanted = [column for column in columns if (table, column) != ("runs", "txid")]
            rows = await rows_in(url, f'SELECT {", ".join(map(_quoted, wanted))} FROM "{table}"')
            found[table] = sorted((tuple(map(_plain, row)) for row in rows), key=repr)
            if table == "secrets":
                found[table] = [_opened(row, wanted, keys) for row in found[table]]
                found[table].sort(key=repr)
    return found


async def rows_in(url: str, statement: str) -> list[tuple[Any, ...]]:
    """The rows of a statement, on either kind of database."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as file, file:
            return file.execute(statement).fetchall()
    server = await asyncpg.connect(url)
    try:
        return [tuple(row) for row in await server.fetch(statement)]
    finally:
        await server.close()


OF_TENANT = {"tenants": "id = '{0}'", "alerts": "facts ->> 'tenant_id' = '{0}'"}
NUMBERED_ANEW = {
    ("hints", "id"),
    ("endpoint_states", "rank"),
    ("endpoint_states", "version"),
    ("endpoint_states", "tidy_at"),
    ("runs", "txid"),
    ("secrets", "sealed"),
}


async def content_of(url: str, tenant_id: str) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of one tenant in a server's tables, without what each server numbers or seals for itself."""
    found = {}
    for table, columns in (await kinds_of(url)).items():
        own = OF_TENANT.get(table, "tenant_id = '{0}'" if "tenant_id" in columns else None)
        if own is None or table in NOT_COMPARED:
            continue
        wanted = [_quoted(column) for column in columns if (table, column) not in NUMBERED_ANEW]
        statement = f'SELECT {", ".join(wanted)} FROM "{table}" WHERE {own.format(tenant_id)}'
        rows = await rows_in(url, statement)
        found[table] = sorted((tuple(map(_plain, row)) for row in rows), key=repr)
    return found


def _quoted(name: str) -> str:
    return f'"{name}"'


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return (value - EPOCH) // timedelta(microseconds=1)
    return int(value) if isinstance(value, bool) else value


def _opened(row: tuple[Any, ...], columns: list[str], keys: str) -> tuple[Any, ...]:
    facts = dict(zip(columns, row, strict=True))
    place = (facts["tenant_id"], facts["name"])
    return (*place, SecretBox.from_setting(keys).open(facts["sealed"], place=place), facts["created_at"])
