"""Calendars are compiled anew before their times run out."""

from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest
from tests.scheduling.calendars.calendar_fixtures import a_definition, compiled, dates

from cadenza.adapters.calendars.sources import LibrarySources
from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.stores.memory.store import MemoryStore
from cadenza.domain.scheduling.calendars.compile import CompiledCalendar, horizon
from cadenza.domain.scheduling.calendars.definition import CalendarDefinition
from cadenza.domain.scheduling.calendars.following import follow_calendar
from cadenza.domain.scheduling.calendars.rules import CalendarRules
from cadenza.engine.calendar_upkeep import CalendarUpkeep
from cadenza.testing.builders import an_endpoint
from cadenza.testing.clock import FakeClock
from cadenza.testing.fakes import FakeIds, FakeLog

YEAR = timedelta(days=366)


class Fixture:
    """A store with calendars of the tenant acme, and their upkeep."""

    def __init__(self) -> None:
        self.store, self.clock, self.cron = MemoryStore(FakeIds()), FakeClock(), CronsimCron()
        self.upkeep = CalendarUpkeep(
            calendars=self.store.calendars,
            sources=LibrarySources(),
            cron=self.cron,
            clock=self.clock,
            log=FakeLog(),
        )

    async def put(self, definition: CalendarDefinition, *, ahead: timedelta) -> CompiledCalendar:
        """Write a calendar that is compiled for so long."""
        over = horizon(self.clock.now())
        over = over._replace(until=self.clock.now() + ahead)
        one = CompiledCalendar(definition, compiled(definition, over), over.until)
        follow = partial(follow_calendar, calendar=one.calendar, now=self.clock.now(), cron=self.cron)
        await self.store.calendars.put_calendar(one, follow)
        return one


@pytest.fixture
def fixture() -> Fixture:
    return Fixture()


async def test_a_calendar_is_compiled_anew_a_month_after_it_was(fixture: Fixture) -> None:
    short = await fixture.put(a_definition(), ahead=12 * YEAR - timedelta(days=31))
    rules = CalendarRules(only_during=short.calendar)
    endpoint = an_endpoint("one", tenant_id="acme", calendar_rules=rules)
    await fixture.store.endpoints.add(endpoint)
    assert await fixture.upkeep.compile_anew() == 1
    one = await fixture.store.calendars.calendar("acme", "work")
    assert one.until == horizon(fixture.clock.now()).until
    assert one.calendar.boundaries[-1] > short.until
    kept = await fixture.store.endpoints.get(endpoint.key)
    assert kept.calendar_rules.only_during == one.calendar
    assert await fixture.upkeep.compile_anew() == 0


async def test_a_calendar_that_was_compiled_lately_stays(fixture: Fixture) -> None:
    await fixture.put(a_definition(), ahead=12 * YEAR - timedelta(days=29))
    assert await fixture.upkeep.compile_anew() == 0


async def test_a_calendar_that_is_over_keeps_its_old_times(fixture: Fixture) -> None:
    over = a_definition(dates("2024-12-01"))
    old = await fixture.put(over, ahead=YEAR)
    assert await fixture.upkeep.compile_anew() == 1
    assert (await fixture.store.calendars.calendar("acme", "work")).calendar == old.calendar
    assert await fixture.upkeep.compile_anew() == 0


async def test_what_its_owner_changes_meanwhile_is_not_undone(
    fixture: Fixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = await fixture.put(a_definition(), ahead=YEAR)
    changed = a_definition(dates("2025-03-01"))

    async def stale(*_: object) -> list[CompiledCalendar]:
        return [old._replace(definition=replace(old.definition))]

    await fixture.put(changed, ahead=YEAR)
    monkeypatch.setattr(fixture.store.calendars, "compiled_until", stale)
    await fixture.upkeep.compile_anew()
    assert (await fixture.store.calendars.calendar("acme", "work")).definition == changed
