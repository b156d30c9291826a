"""Functions and endpoints of a program that keep to calendars, by their names."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.scheduling.calendars.calendar_fixtures import EVERY_DAY, hours
from tests.scheduling.calendars.stored_calendars import put_calendar

from cadenza import Cadenza, Endpoint, Every, HttpTarget
from cadenza.adapters.stores.sql.migrate import migrate
from cadenza.adapters.stores.sqlite.database import SqliteFile
from cadenza.adapters.stores.sqlite.store import SqliteStore
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.scheduling.calendars.named_rules import NamedRules, named_rules
from cadenza.domain.scheduling.calendars.rules import WhenClosed
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.testing.fakes import FakeIds

ENDS = datetime(2099, 1, 1, tzinfo=UTC)
PAGE = Endpoint(id="page", name="page", target=HttpTarget("https://example.com"), baseline=Every(3_600_000))


@pytest.fixture
async def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[SqliteStore]:
    monkeypatch.setenv("CADENZA_JITTER_MS", "0")
    monkeypatch.chdir(tmp_path)
    await migrate(f"sqlite:///{tmp_path / 'cadenza.db'}")
    store = SqliteStore(SqliteFile(tmp_path / "cadenza.db"), FakeIds())
    yield store
    await store.close()


@pytest.fixture
async def app(store: SqliteStore) -> Cadenza:
    now = datetime.now(UTC)
    await put_calendar(store, "work", now=now)
    await put_calendar(store, "maintenance", hours("03:00", "04:00", EVERY_DAY), now=now)
    return Cadenza("sqlite:///cadenza.db")


async def rules_of(store: SqliteStore, endpoint_id: str) -> NamedRules:
    return named_rules((await store.endpoints.get(EndpointKey("default", endpoint_id))).calendar_rules)


async def test_a_program_names_calendars(app: Cadenza, store: SqliteStore) -> None:
    app.every("1h", name="often", only_during="work", never_during="maintenance")(print)
    app.cron("0 9 * * *", name="daily", only_during="work", when_closed="run-at-end", ends_at=ENDS)(print)
    app.add(PAGE, never_during="maintenance")
    async with app:
        assert await rules_of(store, "often") == NamedRules(only_during="work", never_during="maintenance")
        assert await rules_of(store, "daily") == NamedRules(
            only_during="work", when_closed=WhenClosed.RUN_AT_END, ends_at=ENDS
        )
        assert await rules_of(store, "page") == NamedRules(never_during="maintenance")


async def test_a_changed_declaration_changes_the_rules(app: Cadenza, store: SqliteStore) -> None:
    app.add(PAGE, only_during="work")
    async with app:
        pass
    again = Cadenza("sqlite:///cadenza.db")
    again.add(PAGE)
    async with again:
        assert await rules_of(store, "page") == NamedRules()


async def test_a_calendar_that_does_not_exist_is_told_before_anything_is_made(
    app: Cadenza, store: SqliteStore
) -> None:
    app.add(PAGE)
    app.every("1h", name="often", only_during="none-such")(print)
    with pytest.raises(InvalidRequest, match="There is no calendar none-such"):
        await app.__aenter__()
    assert await store.catalog.find("default") == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"only_during": "two words"}, "only_during must be"),
        ({"only_during": 7}, "only_during must be a text"),
        ({"when_closed": "later"}, "when_closed must be one of skip, run-at-end"),
        ({"starts_at": "2030-01-01"}, "starts_at must be a moment"),
        ({"ends_at": datetime(2030, 1, 1)}, "ends_at must carry a time zone"),  # noqa: DTZ001 - what is refused
        ({"during": "work"}, "Unknown option 'during'"),
    ],
)
def test_what_cannot_be_is_refused_where_the_program_says_it(
    tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    app = Cadenza(f"sqlite:///{tmp_path / 'cadenza.db'}")
    with pytest.raises(InvalidRequest, match=message):
        app.every("1h", name="often", **options)(print)
    with pytest.raises(InvalidRequest, match=message):
        app.add(PAGE, **options)
