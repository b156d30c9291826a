"""However many alerts there are, a tenant's are found by an index, and nothing reads them all."""

import sqlite3
from functools import partial
from pathlib import Path

import pytest
from tests.postgres import database_url, newest_databases

from cadenza.adapters.stores.postgres.pool import Connection, PostgresPool
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sql.monitoring.slo_alerts import (
    AMONG_ITS_OWN,
    AMONG_THE_NEWEST,
    NEWEST_READ,
    key_ranges,
)
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.dialect import for_sqlite

__all__ = ["database_url", "newest_databases"]

GIVEN = {
    AMONG_THE_NEWEST: ("north", 20, NEWEST_READ),
    AMONG_ITS_OWN: ("north", 20, *key_ranges("north")),
}
FILL = """
INSERT INTO alerts (key, kind, state, text, raised_at, facts, due_at, attempts)
SELECT 'endpoint:south:e:' || n || ':begun', 'endpoint', 'begun', 'It broke.',
    timestamptz '2025-01-01Z' + n * interval '1 second', '{"tenant_id": "south"}', NULL, 1
FROM generate_series(1, 20000) n
"""


async def planned(connection: Connection, statement: str) -> str:
    """What is really read, by the plan that serves any tenant."""
    await connection.execute(f"PREPARE planned AS {statement}")
    given = ", ".join(f"'{one}'" for one in GIVEN[statement])
    lines = await connection.fetch(f"EXPLAIN (ANALYZE, COSTS OFF) EXECUTE planned ({given})")
    await connection.execute("DEALLOCATE planned")
    return "\n".join(line[0] for line in lines)


@pytest.mark.parametrize("analyzed", [True, False], ids=["analyzed", "just grown"])
async def test_postgres_goes_by_an_index_whatever_the_statistics_say(
    database_url: str, *, analyzed: bool
) -> None:
    pool = PostgresPool(database_url)

    async def work(connection: Connection) -> tuple[str, str]:
        await connection.execute(FILL)
        if analyzed:
            await connection.execute("ANALYZE alerts")
        return await planned(connection, AMONG_THE_NEWEST), await planned(connection, AMONG_ITS_OWN)

    newest, own = await pool.write(work)
    await pool.close()
    assert "alerts_by_age" in newest, newest
    assert "alerts_pkey" in own, own
    assert "alerts_by_age" not in own, own
    assert "Seq Scan" not in newest + own, newest + own


async def test_sqlite_goes_by_an_index(tmp_path: Path) -> None:
    await migrate(f"sqlite:///{tmp_path / 'cadenza.db'}")
    file = SqliteFile(tmp_path / "cadenza.db")
    newest, own = [await file.read(partial(_steps, statement=statement)) for statement in GIVEN]
    await file.close()
    assert "SCAN alerts USING INDEX alerts_by_age" in newest
    assert own.count("SEARCH alerts USING INDEX sqlite_autoindex_alerts_1 (key>? AND key<?)") == 3
    assert not [step for step in own if step.startswith("SCAN alerts")], own


def _steps(connection: sqlite3.Connection, statement: str) -> list[str]:
    rows = connection.execute(f"EXPLAIN QUERY PLAN {for_sqlite(statement).text}", GIVEN[statement])
    return [row[3] for row in rows]
