"""Statements in PostgreSQL's words, carried out by SQLite."""

import asyncio
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import pytest

from cadenza.adapters.stores.sql.database import ADVISORY_LOCK, NOTIFY
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.dialect import SqliteConnection, SqliteDatabase, for_sqlite

MOMENT = datetime(2025, 1, 31, 23, 59, tzinfo=UTC)
TABLE = """
SELECT g.name, g.size, g.at, $4::int
FROM unnest($1::text[], $2::int[], $3::timestamptz[]) AS g (name, size, at)
"""


async def test_lists_are_the_columns_of_a_table(tmp_path: Path) -> None:
    database = SqliteDatabase(SqliteFile(tmp_path / "any.db"))
    rows = await database.read(TABLE, ["a", "b"], None, (MOMENT, None), 7)
    assert [tuple(row) for row in rows] == [("a", None, 1_738_367_940_000_000, 7), ("b", None, None, 7)]
    assert database.read_moment(rows[0][2]) == MOMENT


@pytest.mark.parametrize("names", [["a"], ["a", "b"], []])
async def test_the_columns_of_a_table_may_be_the_last_values(tmp_path: Path, names: list[str]) -> None:
    database = SqliteDatabase(SqliteFile(tmp_path / "any.db"))
    statement = "SELECT $1, g.name, g.at FROM unnest($2::text[], $3::timestamptz[]) AS g (name, at)"
    rows = await database.read(statement, 7, names, [MOMENT] * len(names))
    assert rows == [(7, name, 1_738_367_940_000_000) for name in names]


async def test_a_table_without_rows_is_empty(tmp_path: Path) -> None:
    database = SqliteDatabase(SqliteFile(tmp_path / "any.db"))
    assert await database.read(TABLE, [], [], [], 7) == []


async def test_days_and_fields_of_documents_are_read(tmp_path: Path) -> None:
    database = SqliteDatabase(SqliteFile(tmp_path / "any.db"))
    statement = """
    SELECT to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD'), facts ->> 'tenant_id' COLLATE "C"
    FROM (SELECT $1::timestamptz AS at, $2::json AS facts) AS given
    """
    assert await database.read(statement, MOMENT, '{"tenant_id": "north"}') == [("2025-01-31", "north")]


@pytest.mark.parametrize("lock", ["FOR UPDATE", "FOR UPDATE OF a, b SKIP LOCKED", "FOR NO KEY UPDATE OF a"])
def test_row_locks_are_left_out(lock: str) -> None:
    assert for_sqlite(f"SELECT a FROM b WHERE c = $1 {lock}").text == "SELECT a FROM b WHERE c = ?1"


def test_the_order_of_joins_is_kept() -> None:
    told = "CROSS JOIN LATERAL (SELECT s.* FROM states s WHERE s.id = e.id OFFSET 0) AS s"
    assert for_sqlite(f"SELECT 1 FROM e {told} WHERE e.id = $1").text == (
        "SELECT 1 FROM e CROSS JOIN states s ON s.id = e.id WHERE e.id = ?1"
    )


async def test_notifications_are_passed_on_after_the_commit_and_locks_do_nothing(tmp_path: Path) -> None:
    notified: list[str] = []
    database = SqliteDatabase(SqliteFile(tmp_path / "any.db"), notified.append)

    async def work(connection: SqliteConnection, *, fail: bool) -> None:
        await connection.fetch(f"{ADVISORY_LOCK}(hashtextextended($1, 0))", "north")
        await connection.fetch(NOTIFY, "failed" if fail else "done")
        assert not notified
        if fail:
            raise ValueError("it failed")

    with pytest.raises(ValueError, match="it failed"):
        await database.write(partial(work, fail=True))
    await database.write(partial(work, fail=False))
    assert notified == ["done"]


async def test_work_that_waits_for_anything_else_is_refused_and_taken_back(tmp_path: Path) -> None:
    database = SqliteDatabase(SqliteFile(tmp_path / "any.db"))
    await database.ask("CREATE TABLE numbers (number)")

    async def work(connection: SqliteConnection) -> None:
        await connection.execute("INSERT INTO numbers VALUES ($1)", 1)
        await asyncio.sleep(timedelta(milliseconds=1).total_seconds())

    with pytest.raises(RuntimeError):
        await database.write(work)
    assert await database.read("SELECT number FROM numbers") == []
