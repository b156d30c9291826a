"""Schedules that are changed: what is not given stays, and limits hold."""

from datetime import UTC, datetime
from typing import Any

import pytest
from tests.agents.schedule_fixtures import ANNA, BERT, ONCE, WEEKLY, ScheduleFixture, fixture

from cadenza.domain.agents.schedule import Schedule, ScheduleType
from cadenza.domain.agents.schedule_change import ScheduleUpdate
from cadenza.domain.errors import InvalidRequest, LimitReached, NotFound

__all__ = ["fixture"]


async def update(fixture: ScheduleFixture, schedule_id: str, **changes: Any) -> Schedule:
    return await fixture.schedules.update(ANNA, schedule_id, ScheduleUpdate(**changes), origin="test")


async def test_what_is_not_given_stays(fixture: ScheduleFixture) -> None:
    before = (await fixture.create(**WEEKLY)).schedule
    changed = await update(fixture, before.id, name="Repeat", prompt="Ask about chapter 3.")
    assert changed == before._replace(name="Repeat", prompt="Ask about chapter 3.")
    assert await fixture.schedules.schedules(ANNA) == [changed]


async def test_another_time_is_planned_at_once(fixture: ScheduleFixture) -> None:
    before = (await fixture.create(**WEEKLY)).schedule
    later = await update(fixture, before.id, cron_expression="0 18 * * 1")
    assert (later.timezone, later.next_run_at) == ("Europe/Berlin", datetime(2030, 3, 4, 17, tzinfo=UTC))
    elsewhere = await update(fixture, before.id, timezone="Asia/Tokyo")
    assert (elsewhere.cron_expression, elsewhere.timezone) == ("0 18 * * 1", "Asia/Tokyo")
    once = await update(fixture, before.id, run_at="2030-03-05T09:00:00", timezone="UTC")
    assert once.schedule_type is ScheduleType.ONE_SHOT
    assert once.next_run_at == datetime(2030, 3, 5, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"run_at": "2020-01-01T00:00:00Z"}, "run_at"),
        ({"cron_expression": "61 * * * *"}, "cron_expression"),
        ({"run_at": "2030-03-05T09:00:00Z", "cron_expression": "0 9 * * *"}, "cron_expression"),
        ({"timezone": "Mars/Base"}, "timezone"),
        ({"prompt": "  "}, "prompt"),
    ],
)
async def test_what_cannot_be_is_refused_and_changes_nothing(
    fixture: ScheduleFixture, changes: dict[str, str], field: str
) -> None:
    before = (await fixture.create(**WEEKLY)).schedule
    with pytest.raises(InvalidRequest) as refused:
        await update(fixture, before.id, **changes)
    assert refused.value.field == field
    assert await fixture.schedules.schedules(ANNA) == [before]


async def test_an_agent_that_is_not_there_answers_nothing(fixture: ScheduleFixture) -> None:
    before = (await fixture.create(**ONCE)).schedule
    with pytest.raises(NotFound):
        await update(fixture, before.id, agent_id="stranger")


async def test_limits_hold_for_changes(fixture: ScheduleFixture) -> None:
    await fixture.limit(schedules_per_user=2, schedule_fires_per_day=24, schedule_min_interval_ms=600_000)
    before = (await fixture.create(**WEEKLY)).schedule
    await fixture.create(**ONCE)
    await update(fixture, before.id, cron_expression="0 6-20 * * *")
    with pytest.raises(LimitReached, match="more than 24 times a day"):
        await update(fixture, before.id, cron_expression="0 * * * *")
    with pytest.raises(InvalidRequest, match="fires more often"):
        await update(fixture, before.id, cron_expression="0,9 8 * * *")


async def test_a_schedule_is_changed_for_its_own_user_alone(fixture: ScheduleFixture) -> None:
    before = (await fixture.create(**ONCE)).schedule
    with pytest.raises(NotFound):
        await fixture.schedules.update(BERT, before.id, ScheduleUpdate(name="mine"), origin="test")
