"""Calendars of endpoints in configuration files, on every store."""

from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.operation_fixtures import A_TARGET, ApplicationFixture
from tests.postgres import Databases, databases
from tests.scheduling.calendars.calendar_fixtures import hours
from tests.scheduling.calendars.stored_calendars import put_calendar

from cadenza.adapters.stores.memory.store import MemoryStore
from cadenza.adapters.stores.postgres.pool import PostgresPool
from cadenza.adapters.stores.postgres.store import PostgresStore
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.domain.errors import Conflict, InvalidRequest
from cadenza.domain.scheduling.endpoint import EndpointKey, evolve
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.ports.calendars.calendar_store import CalendarUse
from cadenza.ports.store import Store
from cadenza.testing.fakes import FakeIds

__all__ = ["databases"]

AT_END = {"only_during": "work", "when_closed": "run-at-end"}


def a_file(**fields: Any) -> dict[str, Any]:
    endpoint = {"id": "traffic", "target": A_TARGET, "baseline": "cron 0 3 * * *"} | fields
    return {"version": 1, "jobs": [{"id": "checkout", "endpoints": [endpoint]}]}


class FilesWithCalendars:
    """Files that name calendars, over a store."""

    @pytest.fixture
    async def over_store(self, app: ApplicationFixture, store: Store) -> ApplicationFixture:
        app.application.dependencies = replace(app.application.dependencies, store=store)
        app.store = store  # type: ignore[assignment]
        now = app.clock.now()
        await put_calendar(store, "work", now=now)
        await put_calendar(store, "night", hours("20:00", "06:00"), now=now)
        return app

    async def test_a_file_names_calendars_and_is_exported_with_them(
        self, over_store: ApplicationFixture
    ) -> None:
        await over_store.ask("apply_config", **a_file(calendar=AT_END))
        shown = await over_store.ask("get_endpoint", endpoint_id="traffic")
        assert (shown["next_run_at"], shown["next_source"]) == ("2025-01-01T08:00:00Z", "calendar")
        exported = await over_store.ask("export_config")
        written = exported["jobs"][0]["endpoints"][0]["calendar"]
        assert written | AT_END == written
        again = {"version": 1, "jobs": exported["jobs"]}
        assert (await over_store.ask("apply_config", **again, dry_run=True))["changes"] == []

    async def test_a_changed_calendar_is_told_and_plans_the_endpoint_anew(
        self, over_store: ApplicationFixture
    ) -> None:
        await over_store.ask("apply_config", **a_file(calendar=AT_END))
        applied = await over_store.ask("apply_config", **a_file(calendar={"only_during": "night"}))
        (change,) = applied["changes"]
        assert change["fields"] == [
            {"field": "calendar", "before": AT_END, "after": {"only_during": "night"}}
        ]
        applied = await over_store.ask("apply_config", **a_file())
        assert applied["changes"][0]["fields"][0]["after"] is None
        shown = await over_store.ask("get_endpoint", endpoint_id="traffic")
        assert (shown["calendar"], shown["next_run_at"]) == (None, "2025-01-01T03:00:00Z")
        assert await over_store.store.calendars.uses("default", "night") == []

    async def test_an_endpoint_that_is_created_again_uses_calendars_that_there_are(
        self, over_store: ApplicationFixture
    ) -> None:
        store, key = over_store.store, EndpointKey("default", "traffic")
        await over_store.ask("apply_config", **a_file(calendar=AT_END))
        await over_store.ask("delete_endpoint", endpoint_id="traffic")
        await over_store.ask("delete_calendar", calendar_id="work")
        with pytest.raises(InvalidRequest, match="There is no calendar work"):
            await over_store.ask("apply_config", **a_file(calendar=AT_END))
        with pytest.raises(Conflict, match="The calendar work was changed meanwhile; try again"):
            await store.endpoints.amend(key, lambda one: ChangedEndpoint(evolve(one, archived=False)))
        await put_calendar(store, "work", now=over_store.clock.now())
        await over_store.ask("apply_config", **a_file(calendar=AT_END))
        assert await store.calendars.uses("default", "work") == [CalendarUse("endpoint", "traffic")]

    async def test_wrong_rules_are_told_by_their_path_and_change_nothing(
        self, over_store: ApplicationFixture
    ) -> None:
        path = "jobs.0.endpoints.0.calendar"
        for rules, field in (
            ({"only_during": "none-such"}, f"{path}.only_during"),
            ({"only_during": "work", "never_during": "work"}, path),
            ({"starts_at": "2030-01-02T00:00:00Z", "ends_at": "2030-01-01T00:00:00Z"}, f"{path}.ends_at"),
        ):
            with pytest.raises(InvalidRequest) as refused:
                await over_store.ask("apply_config", **a_file(calendar=rules))
            assert [fault.field for fault in refused.value.faults] == [field]
        assert await over_store.store.catalog.find("default") == []


class TestFilesInMemory(FilesWithCalendars):
    """In memory."""

    @pytest.fixture
    def store(self) -> Store:
        return MemoryStore(FakeIds())


class TestFilesOnSqlite(FilesWithCalendars):
    """On SQLite."""

    @pytest.fixture
    async def store(self, tmp_path: Path) -> AsyncIterator[Store]:
        await migrate(f"sqlite:///{tmp_path / 'cadenza.db'}")
        store = SqliteStore(SqliteFile(tmp_path / "cadenza.db"), FakeIds())
        yield store
        await store.close()


class TestFilesOnPostgres(FilesWithCalendars):
    """On PostgreSQL."""

    @pytest.fixture
    def url(self, databases: Databases) -> str:
        return databases.clean()

    @pytest.fixture
    async def store(self, url: str) -> AsyncIterator[Store]:
        store = PostgresStore(PostgresPool(url, size=2), FakeIds())
        yield store
        await store.close()
