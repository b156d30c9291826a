"""A configuration means the same on every store."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from tests.operation_fixtures import A_TARGET, ApplicationFixture
from tests.postgres import Databases, databases
from tests.scheduling.config.test_apply import FILE, altered, told
from tests.scheduling.config.test_prune import a_file, jobs, live

from cadenza.adapters.stores.memory.store import MemoryStore
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.domain.errors import NotAllowed
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.ports.store import Store
from cadenza.testing.fakes import FakeIds

__all__ = ["databases"]


class OnAStore:
    """An office over a store."""

    @pytest.fixture
    def app_on_store(self, app: ApplicationFixture, store: Store) -> ApplicationFixture:
        app.application.dependencies = replace(app.application.dependencies, store=store)
        app.store = store  # type: ignore[assignment]
        return app

    async def test_a_file_is_applied_once_and_then_changes_nothing(
        self, app_on_store: ApplicationFixture
    ) -> None:
        tried = await app_on_store.ask("apply_config", **FILE, dry_run=True)
        assert (await jobs(app_on_store), await live(app_on_store)) == ([], [])
        assert (await app_on_store.ask("apply_config", **FILE))["changes"] == tried["changes"]
        assert (await app_on_store.ask("apply_config", **FILE, prune=True))["changes"] == []

    async def test_a_run_in_flight_outlives_an_update_and_a_return(
        self, app_on_store: ApplicationFixture
    ) -> None:
        await app_on_store.ask("apply_config", **FILE)
        await app_on_store.clock.sleep(60_000)
        now = app_on_store.clock.now()
        (claim,) = await app_on_store.store.endpoints.claim_due(
            now=now, within=timedelta(0), lease_until=now + timedelta(minutes=1), limit=10
        )
        await app_on_store.ask("apply_config", **altered(baseline="every 2m", labels={"team": "web"}))
        assert told(await app_on_store.ask("apply_config", **a_file(checkout=["orders"]), prune=True))[
            -1
        ] == (
            "delete",
            "endpoint",
            "traffic",
        )
        assert ("revive", "endpoint", "traffic") in told(await app_on_store.ask("apply_config", **FILE))
        traffic = await app_on_store.store.endpoints.get(EndpointKey("default", "traffic"))
        assert traffic.lease is not None
        assert traffic.lease.run_id == claim.run_id
        assert await app_on_store.store.endpoints.renew([claim], now + timedelta(minutes=2)) == {claim.run_id}

    async def test_pruned_jobs_take_their_endpoints_along(self, app_on_store: ApplicationFixture) -> None:
        await app_on_store.ask("apply_config", **a_file(a=["one"], b=["two", "three"]))
        await app_on_store.job("hand")
        await app_on_store.endpoint("manual", job_id="hand")
        answer = await app_on_store.ask("apply_config", **a_file(a=["one", "three"]), prune=True)
        assert told(answer) == [
            ("update", "endpoint", "three"),
            ("delete", "job", "b"),
            ("delete", "endpoint", "two"),
        ]
        assert (await jobs(app_on_store), await live(app_on_store)) == (
            ["a", "hand"],
            ["manual", "one", "three"],
        )

    async def test_what_was_exported_changes_nothing(self, app_on_store: ApplicationFixture) -> None:
        await app_on_store.ask("apply_config", **FILE)
        await app_on_store.job("hand")
        await app_on_store.endpoint(
            "manual",
            job_id="hand",
            target=A_TARGET | {"headers": {"X-Key": "${secret:KEY}"}, "body": {"a": [1, None, "Zoë"]}},
            labels={"team": "web"},
            policy={"timeout_ms": 1_000, "misfire": "skip"},
            baseline={"kind": "once", "at": "2030-01-01T00:00:00.000001+02:00"},
        )
        await app_on_store.ask("pause_job", job_id="hand")
        document = await app_on_store.ask("export_config")
        answer = await app_on_store.ask("apply_config", **document, prune=True)
        assert (answer["changes"], answer["counts"]["unchanged"]) == ([], 7)

    @pytest.mark.parametrize("by_file", [False, True])
    async def test_endpoints_that_are_switched_on_with_their_job_are_planned_from_now(
        self, app_on_store: ApplicationFixture, *, by_file: bool
    ) -> None:
        await app_on_store.ask("apply_config", **a_file(a=["one", "two"]))
        await app_on_store.ask("pause_job", job_id="a")
        await app_on_store.clock.sleep(120_000)
        if by_file:
            await app_on_store.ask("apply_config", version=1, jobs=[{"id": "a", "name": "a", "active": True}])
        else:
            await app_on_store.ask("resume_job", job_id="a")
        for one in (await app_on_store.ask("list_endpoints"))["items"]:
            assert (one["job_active"], one["next_source"]) == (True, "resume")
            assert datetime.fromisoformat(one["next_run_at"]) >= app_on_store.clock.now()

    async def test_an_endpoint_that_leaves_a_paused_job_is_planned_from_now(
        self, app_on_store: ApplicationFixture
    ) -> None:
        await app_on_store.ask("apply_config", **a_file(a=["one"], b=["two"]))
        await app_on_store.ask("pause_job", job_id="a")
        await app_on_store.clock.sleep(120_000)
        moved = await app_on_store.ask("update_endpoint", endpoint_id="one", job_id="b")
        assert (moved["job_active"], moved["next_source"]) == (True, "resume")
        assert datetime.fromisoformat(moved["next_run_at"]) >= app_on_store.clock.now()

    async def test_a_refused_file_leaves_nothing_behind(self, app_on_store: ApplicationFixture) -> None:
        await app_on_store.ask("set_limits", tenant_id="default", endpoints=2)
        with pytest.raises(NotAllowed):
            await app_on_store.ask("apply_config", **FILE)
        assert (await jobs(app_on_store), await live(app_on_store)) == ([], [])


class TestOnMemory(OnAStore):
    @pytest.fixture
    def store(self) -> Store:
        return MemoryStore(FakeIds())


class TestOnSqlite(OnAStore):
    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[Store]:
        await migrate(f"sqlite:///{tmp_path / 'cadenza.db'}")
        store = SqliteStore(SqliteFile(tmp_path / "cadenza.db"), FakeIds())
        yield store
        await store.close()


class TestOnPostgres(OnAStore):
    @pytest.fixture
    def url(self, databases: Databases) -> str:
        return databases.clean()

    @pytest.fixture
    async def store(self, url: str) -> AsyncIterator[Store]:
        store = PostgresStore(PostgresPool(url, size=2), FakeIds())
        yield store
        await store.close()
