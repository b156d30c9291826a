"""What the badge and the list of conditions read, with ten thousand endpoints that fail."""

import sqlite3
from pathlib import Path

from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sql.monitoring import conditions
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.dialect import for_sqlite


async def test_counts_and_pages_are_read_from_an_index(tmp_path: Path) -> None:
    await migrate(f"sqlite:///{tmp_path / 'cadenza.db'}")
    file = SqliteFile(tmp_path / "cadenza.db")

    def plan(connection: sqlite3.Connection, statement: str, values: int) -> str:
        text = for_sqlite(statement).text
        rows = connection.execute(f"EXPLAIN QUERY PLAN {text}", ["x"] * values)
        return " | ".join(row[3] for row in rows)

    count = await file.read(lambda connection: plan(connection, conditions.COUNT, 1))
    assert "USING COVERING INDEX alert_conditions_by_state" in count
    for wanted, index in (
        ("", "alert_conditions_by_time"),
        ("AND state = $3", "alert_conditions_by_state"),
        ("AND job_id = $3", "alert_conditions_by_job"),
        ("AND endpoint_id = $3", "alert_conditions_by_endpoint"),
    ):
        text = conditions.LIST_SOME.format(wanted=wanted)
        found = await file.read(
            lambda connection, text=text, values=2 + bool(wanted): plan(connection, text, values)  # type: ignore[misc]
        )
        assert f"USING INDEX {index}" in found, found
    await file.close()
