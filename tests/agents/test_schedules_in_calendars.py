"""Schedules that keep to calendars: when they fire, and which would never."""

from datetime import UTC, datetime
from typing import Any

import pytest
from tests.agents.agent_fixtures import ADA, HELPER, TENANT, AgentFixture
from tests.agents.schedule_fixtures import ANNA, WEEKLY, ScheduleFixture, fixture
from tests.scheduling.calendars.calendar_fixtures import hours
from tests.scheduling.calendars.stored_calendars import put_calendar

from cadenza.domain.access.key import Caller, OnBehalfOf, Scope
from cadenza.domain.agents.schedule import Schedule
from cadenza.domain.agents.schedule_change import ScheduleUpdate
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.scheduling.calendars.named_rules import CLEARED, NO_NAMED_RULES, NamedRules
from cadenza.domain.scheduling.calendars.rules import WhenClosed

__all__ = ["fixture"]

DAILY: dict[str, Any] = {"schedule_type": "recurring", "cron_expression": "0 9 * * *", "timezone": "UTC"}
HOURLY = DAILY | {"cron_expression": "0 * * * *"}
AT_NIGHT = DAILY | {"cron_expression": "0 3 * * *"}
AT_WORK = NamedRules(only_during="work")
AT_END = NamedRules(only_during="work", when_closed=WhenClosed.RUN_AT_END)


@pytest.fixture
async def calendars(fixture: ScheduleFixture) -> ScheduleFixture:
    """The clock stands on a Friday at noon; `work` is open Monday to Friday from 8 to 18."""
    now = fixture.clock.now()
    await put_calendar(fixture.store, "work", now=now, tenant_id="north")
    await put_calendar(fixture.store, "night", hours("20:00", "06:00"), now=now, tenant_id="north")
    await put_calendar(fixture.store, "theirs", now=now, tenant_id="south")
    return fixture


async def update(fixture: ScheduleFixture, schedule_id: str, **changes: Any) -> Schedule:
    return await fixture.schedules.update(ANNA, schedule_id, ScheduleUpdate(**changes), origin="test")


def march(day: int, hour: int) -> datetime:
    return datetime(2030, 3, day, hour, tzinfo=UTC)


async def test_the_confirmed_fires_are_those_that_its_calendar_allows(
    calendars: ScheduleFixture,
) -> None:
    created = await calendars.create(**DAILY, calendar=AT_WORK)
    assert created.next_fires == [march(4, 9), march(5, 9), march(6, 9)]
    assert created.schedule.calendar == AT_WORK


async def test_what_runs_at_the_end_fires_when_its_calendar_opens(calendars: ScheduleFixture) -> None:
    created = await calendars.create(**AT_NIGHT, calendar=AT_END)
    assert created.next_fires == [march(4, 8), march(5, 8), march(6, 8)]


async def test_only_fires_that_come_count_towards_the_limit_of_a_day(calendars: ScheduleFixture) -> None:
    await calendars.limit(schedule_fires_per_day=10)
    assert (await calendars.create(**HOURLY, calendar=AT_WORK)).schedule.enabled


@pytest.mark.parametrize(
    "asked",
    [
        AT_NIGHT,
        {"schedule_type": "one-shot", "run_at": "2030-03-02T09:00:00Z"},
        {
            "schedule_type": "recurring",
            "interval_seconds": 7 * 86_400,
            "calendar": NamedRules(only_during="night"),
        },
    ],
    ids=["cron", "once", "interval"],
)
async def test_a_schedule_that_would_never_fire_is_refused_with_what_to_do(
    calendars: ScheduleFixture, asked: dict[str, Any]
) -> None:
    with pytest.raises(InvalidRequest, match=r"would never fire, since .* never lets? it: choose") as no:
        await calendars.create(**({"calendar": AT_WORK} | asked))
    assert no.value.field == "calendar"
    assert await calendars.schedules.schedules(ANNA) == []


async def test_one_whose_end_is_before_its_first_fire_is_refused(calendars: ScheduleFixture) -> None:
    with pytest.raises(InvalidRequest, match="its start and end leave no time for it"):
        await calendars.create(**DAILY, calendar=NamedRules(ends_at=march(2, 9)))


@pytest.mark.parametrize("calendar_id", ["none-such", "theirs"])
async def test_only_calendars_of_the_tenant_are_taken(calendars: ScheduleFixture, calendar_id: str) -> None:
    with pytest.raises(InvalidRequest, match=f"There is no calendar {calendar_id}"):
        await calendars.create(**DAILY, calendar=NamedRules(never_during=calendar_id))
    before = (await calendars.create(**DAILY)).schedule
    with pytest.raises(InvalidRequest, match=f"There is no calendar {calendar_id}"):
        await update(calendars, before.id, calendar={"only_during": calendar_id})
    assert await calendars.schedules.schedules(ANNA) == [before]


async def test_a_change_of_its_calendar_plans_it_anew_and_leaves_the_rest(calendars: ScheduleFixture) -> None:
    before = (await calendars.create(**AT_NIGHT)).schedule
    assert before.next_run_at == march(2, 3)
    moved = await update(calendars, before.id, calendar={"only_during": "work", "when_closed": "run-at-end"})
    assert (moved.next_run_at, moved.calendar) == (march(4, 8), AT_END)
    renamed = await update(calendars, before.id, name="Early")
    assert renamed == moved._replace(name="Early")
    beside = await update(calendars, before.id, calendar={"never_during": "night"})
    assert beside.calendar == NamedRules(
        only_during="work", never_during="night", when_closed=WhenClosed.RUN_AT_END
    )
    cleared = await update(calendars, before.id, calendar=CLEARED)
    assert (cleared.next_run_at, cleared.calendar) == (march(2, 3), NO_NAMED_RULES)


async def test_a_change_after_which_it_would_never_fire_changes_nothing(calendars: ScheduleFixture) -> None:
    before = (await calendars.create(**DAILY, calendar=AT_WORK)).schedule
    for changes in ({"cron_expression": "0 3 * * *"}, {"calendar": {"never_during": "work"}}):
        with pytest.raises(InvalidRequest, match="would never fire"):
            await update(calendars, before.id, **changes)
    assert await calendars.schedules.schedules(ANNA) == [before]


async def test_one_that_is_paused_may_change_its_calendar(calendars: ScheduleFixture) -> None:
    before = (await calendars.create(**WEEKLY)).schedule
    await calendars.schedules.pause(ANNA, before.id, None, None, origin="test")
    changed = await update(calendars, before.id, calendar={"only_during": "work"})
    assert (changed.calendar, changed.paused) == (AT_WORK, True)


async def test_an_agent_names_calendars_and_is_told_what_it_can_do() -> None:
    """Its clock stands on a Monday morning."""
    agents = await AgentFixture().open()
    await put_calendar(agents.store, "work", now=agents.clock.now(), tenant_id=TENANT)
    caller = Caller(TENANT, frozenset({Scope.WRITE}), "agent:helper", OnBehalfOf(ADA, HELPER, "turn-1"))
    asked: dict[str, Any] = {
        "name": "Stock",
        "prompt": "look",
        **AT_NIGHT,
        "calendar": {"only_during": "work"},
    }
    with pytest.raises(InvalidRequest, match="with when_closed run-at-end"):
        await agents.tools.call(caller, "create_schedule", asked)
    asked["calendar"]["when_closed"] = "run-at-end"
    made: Any = await agents.tools.call(caller, "create_schedule", asked)
    assert made["next_run_at"] == "2026-11-17T08:00:00Z"
    change = {"schedule_id": made["id"], "calendar": None}
    changed: Any = await agents.tools.call(caller, "update_schedule", change)
    assert (changed["calendar"], changed["next_run_at"]) == (None, "2026-11-17T03:00:00Z")
