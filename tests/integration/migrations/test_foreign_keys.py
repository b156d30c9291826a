"""Foreign keys: added to a database with data and orphans in it, and kept by every connection."""

import sqlite3
from pathlib import Path

import asyncpg
import pytest
from tests.integration.migrations.test_migrate import execute, stop_at

from cadenza.adapters.stores.sql.migrate import Migrated, migrate
from cadenza.adapters.stores.sql.migrations import HEAD
from cadenza.adapters.stores.sqlite.database import SqliteFile

BEFORE = "0014"
SCHEDULE = '{"target": {"kind": "prompt", "user_id": "%s", "agent_id": "%s", "prompt": "x"}, "baseline": {}}'
MOMENT = {"sqlite": "1", "postgresql": "to_timestamp(1)"}
ENDPOINT = (
    "INSERT INTO endpoints (tenant_id, id, job_id, name, definition)"
    " VALUES ('t', '{id}', 'job', 'x', '{definition}')"
)
STATE = (
    "INSERT INTO endpoint_states (tenant_id, endpoint_id, {rank_column} version, next_source, missed_slots,"
    " failure_count, abandoned_count, enabled, archived, job_active)"
    " VALUES ('t', '{id}', {rank} 3, 'first', 0, 7, 0, true, false, true)"
)
ROWS = {
    "pending_messages": "'t', '{user}', 1, 'm', 'gone', null, null, '{{}}', {at}{dropped}, false{added}",
    "conversations": "'t', '{user}', '{agent}', 4, null, null",
    "conversation_messages": "'t', '{user}', '{agent}', 4, 'm', 'user', 'x', {at}, {at}, '{{}}', null",
    "agent_usage": "'t', '2025-01-01', '{user}', 1, 2",
    "keys": "'key-{user}', 't', 'token', '', 'read', {at}, null, '{user}'{added}",
    "sessions": "'{user}', 'session', 't', 'read', {at}, {at}, 'key-{user}'",
    "rules": "'t', 'rule-{job}', '{job}', null, 'x', '{{}}', null",
    "hints": "{number}, 't', '{endpoint}', 'interval', {at}, 'x', null, null, 1, null{added}",
    "endpoint_labels": "'t', 'team', 'web', '{endpoint}'",
    "analyses": "'t', '{endpoint}', 'a', 'job', 'p', 'x', {at}, 1, 'x', null, 1, 1, null, false, null",
    "looks": "'t', '{endpoint}', 'p', {at}",
}
"""A row of each table with a foreign key."""
THERE = {"user": "ada", "agent": "tutor", "job": "job", "endpoint": "check", "number": "1"}
GONE = {"user": "gone", "agent": "gone", "job": "gone", "endpoint": "gone", "number": "2"}


def rows_of(url: str, names: dict[str, str], *, now: bool = False) -> list[str]:
    """The rows in the schema from before, or as it is now."""
    at = MOMENT[url.partition(":")[0]]
    columns = {"dropped": "", "added": ", null"} if now else {"dropped": f", {at}", "added": ""}
    rows = {table: row.format(at=at, **columns, **names) for table, row in ROWS.items()}
    return [f"INSERT INTO {table} VALUES ({row})" for table, row in rows.items()]


def endpoint(url: str, id_: str, definition: str = "{}") -> list[str]:
    rank = ("rank,", "1,") if url.startswith("sqlite") else ("", "")
    return [
        ENDPOINT.format(id=id_, definition=definition),
        STATE.format(id=id_, rank_column=rank[0], rank=rank[1]),
    ]


async def old_database(url: str) -> None:
    """A database from before, with owners, what belongs to them, and what belonged to others."""
    await stop_at(url, BEFORE)
    await execute(
        url,
        "INSERT INTO users (tenant_id, id) VALUES ('t', 'ada')",
        "INSERT INTO agents (tenant_id, id, name, instructions) VALUES ('t', 'tutor', 'x', '')",
        "INSERT INTO jobs (tenant_id, id, name, active) VALUES ('t', 'job', 'x', true)",
        *endpoint(url, "check"),
        *endpoint(url, "sched-ada", SCHEDULE % ("ada", "tutor")),
        *endpoint(url, "sched-gone", SCHEDULE % ("gone", "tutor")),
        *endpoint(url, "sched-agentless", SCHEDULE % ("ada", "gone")),
        *rows_of(url, THERE),
        *rows_of(url, GONE),
    )


async def test_what_has_an_owner_stays_and_orphans_are_deleted_and_counted(url: str) -> None:
    await old_database(url)
    migrated = await migrate(url)
    assert migrated[:2] == (BEFORE, HEAD)
    assert migrated.deleted == {**dict.fromkeys(ROWS, 1), "endpoints": 2, "endpoint_states": 2}
    for table in ROWS:
        assert await execute(url, f"SELECT count(*) FROM {table}") == [(1,)], table
    assert await execute(url, "SELECT id FROM endpoints ORDER BY id") == [("check",), ("sched-ada",)]
    assert await execute(url, "SELECT user_id, agent_id, enabled FROM schedules") == [("ada", "tutor", 0)]
    assert await execute(url, "SELECT last_number FROM conversations") == [(4,)]
    assert await migrate(url) == Migrated(HEAD, HEAD)


async def test_the_database_refuses_what_belongs_to_nothing(url: str) -> None:
    await old_database(url)
    await migrate(url)
    refused = [*rows_of(url, GONE, now=True), endpoint(url, "new", SCHEDULE % ("gone", "tutor"))[0]]
    for statement in [*refused, endpoint(url, "new", SCHEDULE % ("ada", "gone"))[0]]:
        with pytest.raises((sqlite3.IntegrityError, asyncpg.ForeignKeyViolationError)):
            await with_foreign_keys(url, statement)


async def test_with_an_owner_goes_all_that_is_theirs(url: str) -> None:
    await old_database(url)
    await migrate(url)
    with pytest.raises((sqlite3.IntegrityError, asyncpg.ForeignKeyViolationError)):
        await with_foreign_keys(url, "DELETE FROM users")  # Their schedule is still there.
    for owner in ("endpoints", "jobs", "agents", "users"):
        await with_foreign_keys(url, f"DELETE FROM {owner}")
    for table in ROWS:
        assert await execute(url, f"SELECT count(*) FROM {table}") == [(0,)], table


async def with_foreign_keys(url: str, statement: str) -> None:
    """Carry out a statement as the stores do: every connection of theirs to SQLite looks at foreign keys."""
    if not url.startswith("sqlite"):
        await execute(url, statement)
        return
    connection = SqliteFile(Path(url.removeprefix("sqlite:///"))).connect()
    try:
        connection.execute(statement)
    finally:
        connection.close()
