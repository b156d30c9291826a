"""What stands in the database can be read by who knows the tables, and is found by its indexes."""

import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from tests.postgres import database_url, newest_databases

from cadenza.adapters.stores.postgres.connections.session_settings import QUERY_OPTIONS
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.adapters.stores.sql.agents import deliveries, schedules, users_agents
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.dialect import for_sqlite
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.domain.scheduling.baseline import Once
from cadenza.domain.scheduling.endpoint import evolve
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.domain.validation import iso
from cadenza.testing import FakeIds
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.contracts.agents.conversation_fixtures import ANNA, ConversationFixture, a_schedule
from cadenza.testing.contracts.harness import Bench

__all__ = ["database_url", "newest_databases"]

Store = SqliteStore | PostgresStore


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'cadenza.db'}"
    return str(request.getfixturevalue("database_url"))


@pytest.fixture
async def store(url: str) -> AsyncIterator[Store]:
    await migrate(url)
    store: Store
    if url.startswith("sqlite"):
        store = SqliteStore(SqliteFile(Path(url.removeprefix("sqlite:///"))), FakeIds())
    else:
        store = PostgresStore(PostgresPool(url, size=2), FakeIds())
    yield store
    await store.close()


async def rows(url: str, statement: str, *arguments: Any) -> list[dict[str, Any]]:
    if url.startswith("sqlite"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"))
        connection.row_factory = sqlite3.Row
        found = [dict(row) for row in connection.execute(statement, arguments)]
        connection.close()
        return found
    server = await asyncpg.connect(url)
    await server.execute("; ".join(f"SET {name} = {value}" for name, value in QUERY_OPTIONS.items()))
    found = [dict(row) for row in await server.fetch(statement, *arguments)]
    await server.close()
    return found


async def test_the_view_shows_schedules_by_the_names_that_people_know(url: str, store: Store) -> None:
    bench = Bench(store)
    talk = ConversationFixture(bench)
    await talk.add_users_and_agents()
    once = a_schedule("sched-bbbbb", baseline=Once(NEW_YEAR), name="Stand up")
    await store.endpoints.add(a_schedule(next_run_at=bench.ms(1_500), created_at=NEW_YEAR))
    await store.endpoints.add(once)
    await bench.run_once()
    await bench.add("plain", tenant_id="north")
    gone = a_schedule("sched-ccccc")
    await store.endpoints.add(gone)
    await store.endpoints.amend(gone.key, lambda endpoint: ChangedEndpoint(evolve(endpoint, archived=True)))
    shown = {row["id"]: row for row in await rows(url, "SELECT * FROM schedules")}
    assert shown.keys() == {"sched-aaaaa", "sched-bbbbb"}
    first, second = shown["sched-aaaaa"], shown["sched-bbbbb"]
    assert (first["user_id"], first["agent_id"], first["prompt"]) == ("anna", "tutor", "Go on.")
    assert (first["schedule_type"], first["cron_expression"], first["run_at"]) == (
        "recurring",
        "0 9 * * *",
        None,
    )
    assert first["next_run_at"] == iso(bench.ms(1_500)) == "2025-01-01T00:00:01.500000Z"
    assert (first["enabled"], first["created_at"]) == (1, iso(NEW_YEAR)) == (1, "2025-01-01T00:00:00Z")
    assert (second["name"], second["schedule_type"], second["enabled"]) == ("Stand up", "one-shot", 0)
    assert (second["run_at"], second["next_run_at"]) == ("2025-01-01T00:00:00Z", None)
    assert second["timezone"] == "UTC"


async def test_pending_messages_say_what_was_delivered(url: str, store: Store) -> None:
    talk = ConversationFixture(Bench(store))
    await talk.add_users_and_agents()
    for text in ("a", "b"):
        await talk.say(text, firing=f"run-{text}", schedule_id="sched-aaaaa")
    await store.deliveries.acknowledge(ANNA, 1)
    found = await rows(
        url, "SELECT user_id, agent_id, schedule_id, delivered FROM pending_messages ORDER BY seq"
    )
    owner = {"user_id": "anna", "agent_id": "tutor", "schedule_id": "sched-aaaaa"}
    assert found == [{**owner, "delivered": 1}, {**owner, "delivered": 0}]


async def test_a_users_schedules_and_messages_are_found_by_their_indexes(url: str, store: Store) -> None:
    asked: dict[str, tuple[str, tuple[Any, ...]]] = {
        schedules.LIST: ("endpoints_of_user", (*ANNA, "", True, 10)),
        users_agents.ENDPOINTS_OF_USER: ("endpoints_of_user", ANNA),
        deliveries.MISSED: ("pending_messages_owed", ANNA),
        deliveries.ACKNOWLEDGE: ("pending_messages_owed", (*ANNA, 5)),
    }
    for statement, (index, arguments) in asked.items():
        if url.startswith("sqlite"):
            plan = await rows(url, f"EXPLAIN QUERY PLAN {for_sqlite(statement).text}", *arguments)
        else:
            plan = await rows(url, f"EXPLAIN {statement}", *arguments)
        assert index in str(plan), (statement, plan)
