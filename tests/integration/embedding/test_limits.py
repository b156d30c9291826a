"""A tenant's limit holds wherever its endpoints run."""

import asyncio
import time
from pathlib import Path

import pytest

from cadenza import Cadenza
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.domain.access.tenant import Limits, Tenant
from cadenza.domain.scheduling.endpoint import EndpointKey


async def test_a_function_beyond_the_limit_of_its_tenant_waits_for_next_month(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CADENZA_JITTER_MS", "0")
    monkeypatch.chdir(tmp_path)
    await migrate("sqlite:///cadenza.db")
    store = SqliteStore(SqliteFile(Path("cadenza.db")), TimeOrderedIds())
    await store.tenants.put_tenant(Tenant(id="default", name="default", limits=Limits(runs_per_month=2)))
    app = Cadenza("sqlite:///cadenza.db")
    calls: list[float] = []

    @app.every("20ms", start_now=True)
    def count() -> None:
        calls.append(time.monotonic())

    key = EndpointKey("default", "count")
    async with app:
        limit = time.monotonic() + 10
        while not (runs := await store.runs.runs(key)) or runs[0].status != "skipped":
            assert time.monotonic() < limit, "it was not skipped in time"
            await asyncio.sleep(0.02)
    assert [run.status for run in runs] == ["skipped", "success", "success"]
    assert len(calls) == 2
    assert (await store.endpoints.get(key)).next_source == "quota"
    await store.close()
