"""The tables of both databases after `cadenza migrate`, as the databases themselves describe them."""

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import asyncpg
from tests.public_surface.program import printed
from tests.public_surface.snapshot import Snapshot

SQLITE = "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"
OURS = "n.nspname = 'public' AND NOT c.relispartition"
"""Partitions follow the calendar; what they are parts of is described."""
POSTGRESQL = {
    "relations": f"""
        SELECT c.relname AS name, c.relkind::text AS kind, c.relpersistence::text AS persistence,
               pg_get_partkeydef(c.oid) AS partitioned, array_to_string(c.reloptions, ', ') AS options
        FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
        WHERE {OURS} AND c.relkind <> 'i' AND c.relkind <> 'I'""",
    "columns": f"""
        SELECT c.relname || '.' || a.attname AS name, a.attnum AS place,
               format_type(a.atttypid, a.atttypmod) AS type, a.attnotnull AS required,
               pg_get_expr(d.adbin, d.adrelid) AS "default", a.attidentity::text AS identity,
               a.attgenerated::text AS generated, l.collname AS collation
        FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
        JOIN pg_namespace n ON n.oid = c.relnamespace
        LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        LEFT JOIN pg_collation l ON l.oid = a.attcollation
        WHERE {OURS} AND c.relkind IN ('r', 'p', 'v', 'm') AND a.attnum > 0 AND NOT a.attisdropped""",
    "indexes": f"""
        SELECT c.relname || '.' || i.relname AS name, pg_get_indexdef(i.oid) AS definition
        FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class c ON c.oid = x.indrelid
        JOIN pg_namespace n ON n.oid = c.relnamespace WHERE {OURS}""",
    # From version 18 on, columns that are required are constraints, too (n); the columns tell it.
    "constraints": f"""
        SELECT c.relname || '.' || k.conname AS name, k.contype::text AS kind,
               pg_get_constraintdef(k.oid) AS definition
        FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
        JOIN pg_namespace n ON n.oid = c.relnamespace WHERE {OURS} AND k.contype <> 'n'""",
    "functions": """
        SELECT p.proname AS name, pg_get_functiondef(p.oid) AS definition
        FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = 'public'""",
    "triggers": f"""
        SELECT c.relname || '.' || t.tgname AS name, pg_get_triggerdef(t.oid) AS definition
        FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
        JOIN pg_namespace n ON n.oid = c.relnamespace WHERE {OURS} AND NOT t.tgisinternal""",
}


def collect_sqlite(into: Snapshot) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "cadenza.db"
        version = _migrated(f"sqlite:///{path}")
        with closing(sqlite3.connect(path)) as database:
            found = database.execute(SQLITE).fetchall()
    into.text(
        "shape/sqlite.sql", "\n".join([f"-- version {version}", *(_written(*row) for row in found)]) + "\n"
    )


def _written(kind: str, name: str, table: str, sql: str | None) -> str:
    return f"\n-- {kind} {name} of {table}\n{sql or '-- made by SQLite itself'}"


def collect_postgresql(into: Snapshot, url: str) -> None:
    """From a database that has nothing in it yet."""
    version = _migrated(url)
    into.shape("postgresql", {"version": version} | asyncio.run(_described(url)))


async def _described(url: str) -> dict[str, Any]:
    server = await asyncpg.connect(url)
    try:
        return {part: _by_name(await server.fetch(query)) for part, query in POSTGRESQL.items()}
    finally:
        await server.close()


def _by_name(rows: list[Any]) -> dict[str, Any]:
    return {row["name"]: {key: value for key, value in row.items() if key != "name"} for row in rows}


def _migrated(url: str) -> str:
    """Make the tables; the version that they have then."""
    return str(json.loads(printed("migrate", "--json", database_url=url))["after"])
