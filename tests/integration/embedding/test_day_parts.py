"""Functions with another cadence while a calendar is open."""

from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cadenza import Cadenza, Cron
from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.ids import TimeOrderedIds
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.scheduling.baseline import DayPart, DayParts, Every
from cadenza.domain.scheduling.calendars.calendar import calendar_of
from cadenza.domain.scheduling.calendars.compile import CompiledCalendar
from cadenza.domain.scheduling.calendars.definition import CalendarDefinition, CalendarParts, WeeklyHours
from cadenza.domain.scheduling.calendars.following import follow_calendar
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.ports.store import Store
from cadenza.roots.settings import Settings
from cadenza.roots.wiring.stores import open_store
from cadenza.testing import FakeLog

ALWAYS = CalendarParts(weekly=(WeeklyHours(("mon",), "00:00", "24:00"),))
URL = "sqlite:///cadenza.db"


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cadenza:
    monkeypatch.chdir(tmp_path)
    return Cadenza(URL)


async def put_work(store: Store, begin: datetime) -> DayPart:
    """A calendar that is open for a day; the part of it that tests declare."""
    calendar = calendar_of("work", "UTC", [(begin, begin + timedelta(days=1))])
    definition = CalendarDefinition(tenant_id="default", id="work", open_during=ALWAYS)
    compiled = CompiledCalendar(definition, calendar, begin + timedelta(days=1))
    follow = partial(follow_calendar, calendar=calendar, now=begin, cron=CronsimCron())
    await store.calendars.put_calendar(compiled, follow)
    return DayPart(calendar, Every(60_000))


def declare(app: Cadenza) -> None:
    @app.day_parts({"work": "1m"}, otherwise=Cron("0 3 * * *", "Europe/Berlin"))
    def check_orders() -> None:
        """Its name is that of the endpoint."""


async def test_a_function_has_the_cadences_of_its_tenants_calendars(app: Cadenza) -> None:
    declare(app)
    async with open_store(Settings(database_url=URL), ids=TimeOrderedIds(), log=FakeLog()) as store:
        work = await put_work(store, datetime.now(UTC).replace(microsecond=0))
        async with app:
            stored = await store.endpoints.get(EndpointKey("default", "check_orders"))
    assert stored.baseline == DayParts((work,), Cron("0 3 * * *", "Europe/Berlin"))


async def test_a_program_that_names_no_calendar_of_its_tenant_does_not_start(app: Cadenza) -> None:
    declare(app)
    with pytest.raises(InvalidRequest, match="There is no calendar work"):
        async with app:
            pass


async def test_a_program_whose_day_part_would_never_run_does_not_start(app: Cadenza) -> None:
    declare(app)
    async with open_store(Settings(database_url=URL), ids=TimeOrderedIds(), log=FakeLog()) as store:
        await put_work(store, datetime.now(UTC) - timedelta(days=9))
        with pytest.raises(InvalidRequest, match="The day part work would never run"):
            async with app:
                pass


async def test_a_program_starts_again_when_the_calendar_of_a_day_part_is_over(app: Cadenza) -> None:
    declare(app)
    async with open_store(Settings(database_url=URL), ids=TimeOrderedIds(), log=FakeLog()) as store:
        await put_work(store, datetime.now(UTC).replace(microsecond=0))
        async with app:
            pass
        past = await put_work(store, datetime.now(UTC) - timedelta(days=9))
        again = Cadenza(URL)
        declare(again)
        async with again:
            stored = await store.endpoints.get(EndpointKey("default", "check_orders"))
    assert stored.baseline == DayParts((past,), Cron("0 3 * * *", "Europe/Berlin"))


@pytest.mark.parametrize(
    ("parts", "otherwise", "problem"),
    [
        ({"work": "often"}, "1m", "parts must be a span"),
        ({"work": Cron("61 * * * *")}, "1m", "61"),
        ({"at work": "1m"}, "1m", "parts must"),
        ({"work": "1m"}, "0s", "otherwise must be"),
    ],
)
def test_what_is_wrong_is_told_where_the_program_says_it(
    app: Cadenza, parts: dict[str, Any], otherwise: str, problem: str
) -> None:
    with pytest.raises(InvalidRequest, match=problem):
        app.day_parts(parts, otherwise=otherwise)
