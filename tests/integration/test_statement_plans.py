"""The statements that both databases share go by an index on each of them."""

import sqlite3
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest
from tests.postgres import database_url, newest_databases

from cadenza.adapters.stores.postgres.pool import Connection, PostgresPool
from cadenza.adapters.stores.sql.access import idempotency, keys, secrets, sessions, tenants
from cadenza.adapters.stores.sql.agents import (
    agent_turns,
    conversations,
    deliveries,
    schedules,
    turns,
    user_channels,
    users_agents,
)
from cadenza.adapters.stores.sql.daily import programmes
from cadenza.adapters.stores.sql.daily import statistics as daily_statistics
from cadenza.adapters.stores.sql.daily import users as daily_users
from cadenza.adapters.stores.sql.database import ADVISORY_LOCK, NOTIFY, Dialect
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sql.monitoring import (
    alert_messages,
    alert_routes,
    conditions,
    slo_alerts,
    statistics,
)
from cadenza.adapters.stores.sql.planning import analyses, rules
from cadenza.adapters.stores.sql.scheduling import (
    catalog,
    endpoint_store,
    endpoints,
    functions,
    jobs,
    run_search,
)
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.dialect import for_sqlite

__all__ = ["database_url", "newest_databases"]

MODULES = (
    agent_turns, alert_messages, alert_routes, analyses, catalog, conditions, conversations, daily_statistics,
    daily_users, deliveries, endpoint_store, endpoints, functions, idempotency, jobs, keys,
    programmes, rules,
    run_search, schedules, secrets, sessions, slo_alerts, statistics, tenants, turns, user_channels,
    users_agents,
)  # fmt: skip
ON_NO_TABLE = (ADVISORY_LOCK, NOTIFY)
FRAGMENTS = ("LIST_SOME", "MOVED_TO", "SELECT_ENDPOINT", "REQUIREMENTS_PRESENT")
VERBS = ("SELECT", "INSERT", "UPDATE", "DELETE", "WITH")
LARGE = (
    "agent_turns", "agents", "alert_conditions", "alert_messages", "alert_routes", "alerts", "analyses",
    "conversation_messages", "conversations", "daily_gaps", "daily_programmes", "daily_tallies",
    "daily_users", "daily_verdicts", "endpoint_labels", "endpoint_states", "endpoints", "hints", "jobs",
    "keys", "looks", "notes", "pending_messages", "rates", "replies", "runs", "runs_default", "secrets",
    "sessions", "tenants", "usage", "user_channels", "users",
)  # fmt: skip
ALIASES = ("a", "c", "e", "l", "m", "n", "o", "r", "s", "t", "u", "v")
"""What these tables are called in statements; SQLite names them so."""


def statements(module: ModuleType, dialect: Dialect) -> dict[str, str]:
    """All statements of a module for a database, by their names."""
    found: dict[str, object] = {}
    for name, value in vars(module).items():
        if isinstance(value, dict):
            by_key = {dialect: value[dialect]} if dialect in value else value
            found |= {f"{name} {key}": text for key, text in by_key.items()}
        else:
            found[name] = value
    return {
        name: text
        for name, text in found.items()
        if name[0].isupper()
        and name not in FRAGMENTS
        and isinstance(text, str)
        and text.strip().startswith(VERBS)
        and not text.startswith(ON_NO_TABLE)
    }


@pytest.mark.parametrize("module", MODULES, ids=lambda module: ".".join(module.__name__.split(".")[-2:]))
async def test_sqlite_reads_no_large_table_whole(tmp_path: Path, module: ModuleType) -> None:
    await migrate(f"sqlite:///{tmp_path / 'cadenza.db'}")
    file = SqliteFile(tmp_path / "cadenza.db")
    for name, statement in statements(module, Dialect.SQLITE).items():
        steps = await file.read(partial(_steps, statement=statement))
        read_whole = [
            step
            for step in steps
            for table in LARGE + ALIASES
            if step == f"SCAN {table}" and f"CO-ROUTINE {table}" not in steps
        ]
        assert not read_whole, (name, steps)
    await file.close()


def _steps(connection: sqlite3.Connection, statement: str) -> list[str]:
    text, _, _, parameters = for_sqlite(statement)
    return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {text}", [None] * parameters)]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: ".".join(module.__name__.split(".")[-2:]))
async def test_postgres_reads_no_large_table_whole(database_url: str, module: ModuleType) -> None:
    pool = PostgresPool(database_url)

    async def work(connection: Connection) -> None:
        for name, statement in statements(module, Dialect.POSTGRES).items():
            plan = await _plan(connection, statement)
            for table in LARGE:
                assert f"Seq Scan on {table} " not in plan, f"{name}:\n{plan}"
            assert "Hash Join" not in plan, f"{name}:\n{plan}"

    await pool.write(work)
    await pool.close()


async def _plan(connection: Connection, statement: str) -> str:
    await connection.execute(f"PREPARE planned AS {statement}")
    count = await connection.fetchval(
        "SELECT cardinality(parameter_types) FROM pg_prepared_statements WHERE name = 'planned'"
    )
    values = f"({', '.join(['NULL'] * count)})" if count else ""
    lines = await connection.fetch(f"EXPLAIN EXECUTE planned {values}")
    await connection.execute("DEALLOCATE planned")
    return "\n".join(line[0] for line in lines)
