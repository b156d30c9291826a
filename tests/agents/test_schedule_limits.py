"""Limits of schedules and turns, ids of schedules, and moments as text."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.agents.schedule_fixtures import (
    ANNA,
    BERT,
    NOW,
    ONCE,
    WEEKLY,
    ScheduleFixture,
    a_requester,
    fixture,
)

from cadenza.domain.access.tenant import Limits
from cadenza.domain.agents.schedule import format_moment
from cadenza.domain.agents.schedule_request import (
    NewSchedule,
    daily_limit_reached,
    request_digest,
    schedule_id,
    tomorrow,
)
from cadenza.domain.errors import InvalidRequest, LimitReached

__all__ = ["fixture"]


async def test_a_user_has_so_many_active_schedules(fixture: ScheduleFixture) -> None:
    await fixture.limit(schedules_per_user=2)
    made = await fixture.create(**ONCE, name="first")
    await fixture.create(**ONCE, name="second")
    with pytest.raises(LimitReached, match="has 2 active schedules, and the limit is 2: delete one first"):
        await fixture.create(**ONCE)
    await fixture.create(a_requester(BERT), **ONCE)
    await fixture.schedules.delete(ANNA, made.schedule.id)
    await fixture.create(**ONCE)


async def test_fifty_are_active_by_default(fixture: ScheduleFixture) -> None:
    for number in range(50):
        await fixture.create(**ONCE, name=f"{number}")
    with pytest.raises(LimitReached, match="the limit is 50"):
        await fixture.create(**ONCE)


async def test_a_recurring_schedule_leaves_time_between_two_firings(fixture: ScheduleFixture) -> None:
    await fixture.limit(schedule_min_interval_ms=600_000)
    with pytest.raises(InvalidRequest, match="fires more often than every 10 minutes: leave more") as caught:
        await fixture.create(schedule_type="recurring", cron_expression="0,9 8 * * *")
    assert caught.value.field == "cron_expression"
    await fixture.create(schedule_type="recurring", cron_expression="0,10 8 * * *")


async def test_the_time_between_firings_does_not_depend_on_when_one_asks(fixture: ScheduleFixture) -> None:
    await fixture.limit(schedule_min_interval_ms=600_000)
    fixture.clock.jump(5 * 60_000)
    hour = fixture.clock.now().hour
    with pytest.raises(InvalidRequest, match="fires more often"):
        await fixture.create(schedule_type="recurring", cron_expression=f"0,9 {hour} * * *", timezone="UTC")


async def test_all_schedules_of_a_user_together_fire_so_often_a_day(fixture: ScheduleFixture) -> None:
    await fixture.limit(schedule_fires_per_day=25)
    await fixture.create(schedule_type="recurring", cron_expression="0 * * * *")
    await fixture.create(**ONCE)
    with pytest.raises(LimitReached, match="more than 25 times a day"):
        await fixture.create(**WEEKLY)
    await fixture.limit(schedule_fires_per_day=None)
    await fixture.create(schedule_type="recurring", cron_expression="* * * * *")


async def test_a_reminder_may_come_every_minute_by_default(fixture: ScheduleFixture) -> None:
    await fixture.create(schedule_type="recurring", cron_expression="* * * * *")
    with pytest.raises(LimitReached, match="more than 1,440 times a day: make it fire less often"):
        await fixture.create(**ONCE)
    await fixture.create(a_requester(BERT), schedule_type="recurring", cron_expression="*/5 * * * *")


def test_a_day_ends_for_who_has_spent_it() -> None:
    limits = Limits()
    assert daily_limit_reached(1_439, 199_999, limits=limits) is None
    assert daily_limit_reached(1_440, 0, limits=limits) == "the user's schedules have fired 1,440 times today"
    assert (
        daily_limit_reached(0, 200_000, limits=limits) == "the user's turns have spent 200,000 tokens today"
    )
    endless = Limits(schedule_fires_per_day=None, schedule_tokens_per_day=None)
    assert daily_limit_reached(10**9, 10**9, limits=endless) is None
    assert tomorrow(NOW) == datetime(2030, 3, 2, tzinfo=UTC)
    assert tomorrow(datetime(2030, 3, 2, tzinfo=UTC)) == datetime(2030, 3, 3, tzinfo=UTC)


@given(st.text(), st.text(), st.integers(5, 24))
def test_an_id_depends_on_the_turn_and_the_request_and_on_nothing_else(
    name: str, turn: str, length: int
) -> None:
    wanted = NewSchedule(name=name, prompt="p", **ONCE)
    caller = a_requester(turn=turn)
    request = request_digest(caller, wanted)
    assert request_digest(caller, replace(wanted)) == request
    assert request_digest(replace(caller, turn_id=f"{turn}x"), wanted) != request
    assert request_digest(replace(caller, user=BERT), wanted) != request
    assert request_digest(caller, replace(wanted, name=f"{name}x")) != request
    letters = schedule_id(request, length).removeprefix("sched-")
    assert len(letters) == length
    assert letters.isalnum()
    assert schedule_id(request, length + 1).startswith(f"sched-{letters}")


@given(st.datetimes(NOW.replace(tzinfo=None), NOW.replace(tzinfo=None, year=2060)))
def test_a_moment_is_formatted_with_weekday_year_and_zone(moment: datetime) -> None:
    text = format_moment(moment.replace(tzinfo=UTC), "UTC")
    assert f"{moment:%A}" in text
    assert f" {moment.year}," in text
    assert text.endswith(" UTC")
