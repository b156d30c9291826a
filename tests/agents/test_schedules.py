"""Schedules are made, listed and deleted by their own user, and refused in sentences that help."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
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

from cadenza.domain.agents.schedule import ScheduleType
from cadenza.domain.agents.schedule_request import (
    NewSchedule,
    request_digest,
    schedule_id,
)
from cadenza.domain.agents.users import UserKey
from cadenza.domain.errors import CadenzaError, InvalidRequest, NotAllowed, NotFound
from cadenza.domain.scheduling.abandon import OWN_ORIGIN
from cadenza.domain.scheduling.baseline import Once
from cadenza.domain.scheduling.due import FOREVER
from cadenza.domain.scheduling.endpoint import EndpointKey, evolve
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.domain.scheduling.target import PromptTarget
from cadenza.testing.builders import an_endpoint

__all__ = ["fixture"]


async def test_a_one_shot_is_kept_as_an_endpoint_that_fires_once(fixture: ScheduleFixture) -> None:
    made = await fixture.create(**ONCE)
    at = datetime(2030, 3, 2, 9, tzinfo=UTC)
    endpoint = await fixture.store.endpoints.get(EndpointKey("north", made.schedule.id))
    assert (endpoint.job_id, endpoint.baseline, endpoint.next_run_at) == ("agenda", Once(at), at)
    assert endpoint.policy.max_attempts == 3
    assert isinstance(endpoint.target, PromptTarget)
    assert (endpoint.target.user_id, endpoint.target.agent_id) == ("anna", "tutor")
    assert endpoint.target.prompt == made.schedule.prompt == "Ask me about chapter 2."
    assert made.schedule.schedule_type is ScheduleType.ONE_SHOT
    assert (made.schedule.run_at, made.schedule.enabled, made.schedule.created_at) == (at, True, NOW)
    assert made.next_fires_text == ["Saturday, 2 March 2030, 10:00 Europe/Berlin"]
    assert (await fixture.store.catalog.job("north", "agenda")).active


async def test_a_recurring_one_fires_by_its_line_in_the_users_zone(fixture: ScheduleFixture) -> None:
    made = await fixture.create(**WEEKLY)
    assert made.next_fires == [datetime(2030, 3, day, 16, tzinfo=UTC) for day in (4, 11, 18)]
    assert made.next_fires_text[0] == "Monday, 4 March 2030, 17:00 Europe/Berlin"
    assert made.schedule.timezone == "Europe/Berlin"
    other = await fixture.create(**WEEKLY, timezone="America/New_York")
    assert other.next_fires[0] == datetime(2030, 3, 4, 22, tzinfo=UTC)


async def test_a_recurrence_needs_a_zone() -> None:
    fixture = await ScheduleFixture().open(timezone=None)
    with pytest.raises(
        InvalidRequest, match="needs a time zone, and the user has none: ask where"
    ) as refusal:
        await fixture.create(**WEEKLY)
    assert refusal.value.field == "timezone"
    assert await fixture.schedules.schedules(ANNA) == []
    made = await fixture.create(**WEEKLY, timezone="UTC")
    assert made.next_fires_text[0] == "Monday, 4 March 2030, 17:00 UTC"


@pytest.mark.parametrize("line", ["61 * * * *", "0 0 30 2 *", "@reboot", "* *", "@noon"])
async def test_a_refused_line_is_named_as_it_was_given(fixture: ScheduleFixture, line: str) -> None:
    with pytest.raises(InvalidRequest) as refusal:
        await fixture.create(schedule_type="recurring", cron_expression=line)
    assert refusal.value.field == "cron_expression"
    assert [fault.field for fault in refusal.value.faults] == ["cron_expression"]


@pytest.mark.parametrize(
    ("run_at", "timezone", "expected"),
    [
        ("2030-03-02T09:00:00+05:30", None, datetime(2030, 3, 2, 3, 30, tzinfo=UTC)),
        ("2030-03-02 09:00", None, datetime(2030, 3, 2, 8, tzinfo=UTC)),
        ("2030-07-02T09:00", None, datetime(2030, 7, 2, 7, tzinfo=UTC)),
        ("2030-03-02T09:00", "Asia/Tokyo", datetime(2030, 3, 2, 0, tzinfo=UTC)),
        ("2030-03-31T02:30", None, datetime(2030, 3, 31, 1, 30, tzinfo=UTC)),  # Skipped by daylight saving.
        ("2030-10-27T02:30", None, datetime(2030, 10, 27, 0, 30, tzinfo=UTC)),  # Comes twice: the first.
        (datetime(2030, 3, 2, 9, tzinfo=UTC), None, datetime(2030, 3, 2, 9, tzinfo=UTC)),
    ],
    ids=["offset", "local", "summer", "named", "skipped", "repeated", "moment"],
)
async def test_a_moment_is_meant_where_it_says_or_where_the_user_is(
    fixture: ScheduleFixture, run_at: Any, timezone: str | None, expected: datetime
) -> None:
    made = await fixture.create(schedule_type="one-shot", run_at=run_at, timezone=timezone)
    assert made.next_fires == [expected]


async def test_a_delay_counts_from_now(fixture: ScheduleFixture) -> None:
    made = await fixture.create(schedule_type="one-shot", delay_seconds=90)
    assert made.next_fires == [NOW + timedelta(seconds=90)]


REFUSED: dict[str, tuple[dict[str, Any], type[CadenzaError], str]] = {
    "no moment": (
        {"schedule_type": "one-shot"},
        InvalidRequest,
        "A one-shot schedule needs a moment: either run_at, such as 2030-01-31T09:00:00+01:00, or delay_sec",
    ),
    "two moments": ({**ONCE, "delay_seconds": 5}, InvalidRequest, "needs a moment: either run_at"),
    "no line": (
        {"schedule_type": "recurring"},
        InvalidRequest,
        "A recurring schedule needs cron_expression: five fields, such as 0 17 * * 1 for Mondays at 17:00.",
    ),
    "both, once": (
        {**ONCE, **WEEKLY, "schedule_type": "one-shot"},
        InvalidRequest,
        "leave cron_expression out",
    ),
    "both, weekly": (
        {**ONCE, **WEEKLY},
        InvalidRequest,
        "leave run_at and delay_seconds out, or make it one-shot",
    ),
    "past": (
        {**ONCE, "run_at": "2029-03-02T09:00:00Z"},
        InvalidRequest,
        "run_at 2029-03-02T09:00:00Z is in the past: it is 2030-03-01T12:00:00Z now. Give a time in the",
    ),
    "now": ({**ONCE, "run_at": NOW}, InvalidRequest, "is in the past"),
    "far": (
        {**ONCE, "run_at": "2130-01-01T00:00:00Z"},
        InvalidRequest,
        "more than ten years ahead: check the year",
    ),
    "unreadable": (
        {**ONCE, "run_at": "tomorrow"},
        InvalidRequest,
        "run_at must be an ISO date and time, such as",
    ),
    "no delay": (
        {"schedule_type": "one-shot", "delay_seconds": 0},
        InvalidRequest,
        "delay_seconds must be a whole number of seconds from 1",
    ),
    "bad line": ({**WEEKLY, "cron_expression": "61 * * * *"}, InvalidRequest, "cannot be read"),
    "never": ({**WEEKLY, "cron_expression": "0 0 30 2 *"}, InvalidRequest, "never fires"),
    "bad zone": ({**ONCE, "timezone": "Mars/Olympus"}, InvalidRequest, "is not a time zone"),
    "bad zone, weekly": ({**WEEKLY, "timezone": "Mars/Olympus"}, InvalidRequest, "is not a time zone"),
    "bad type": ({**ONCE, "schedule_type": "often"}, InvalidRequest, "must be one of one-shot, recurring"),
    "two lines": ({**ONCE, "name": "a\nb"}, InvalidRequest, "name must be one line"),
    "no name": ({**ONCE, "name": " "}, InvalidRequest, "name must be one line"),
    "no prompt": ({**ONCE, "prompt": " \n"}, InvalidRequest, "prompt must not be empty"),
    "long prompt": ({**ONCE, "prompt": "x" * 8_001}, InvalidRequest, "the maximum is 8,000"),
    "no such agent": ({**ONCE, "agent_id": "nobody"}, NotFound, "Agent nobody not found"),
    "not their agent": ({**ONCE, "agent_id": "stranger"}, NotFound, "Agent stranger not found"),
}


@pytest.mark.parametrize("asked", REFUSED)
async def test_what_cannot_be_is_refused_with_a_sentence_that_helps(
    fixture: ScheduleFixture, asked: str
) -> None:
    arguments, kind, sentence = REFUSED[asked]
    with pytest.raises(kind) as refusal:
        await fixture.create(**arguments)
    assert sentence in refusal.value.message
    assert await fixture.schedules.schedules(ANNA, enabled_only=False) == []


async def test_a_moment_without_an_offset_needs_a_zone() -> None:
    fixture = await ScheduleFixture().open(timezone=None)
    with pytest.raises(InvalidRequest, match="run_at has no offset and the user has no time zone: ask where"):
        await fixture.create(schedule_type="one-shot", run_at="2030-03-02T09:00:00")
    made = await fixture.create(schedule_type="one-shot", run_at="2030-03-02T09:00", timezone="Asia/Tokyo")
    assert made.next_fires == [datetime(2030, 3, 2, 0, tzinfo=UTC)]


async def test_who_names_no_agent_is_told_to() -> None:
    fixture = await ScheduleFixture().open()
    with pytest.raises(InvalidRequest, match="agent_id must say which agent answers"):
        await fixture.create(a_requester(agent_id=None), **ONCE)


async def test_an_unknown_user_has_no_schedules(fixture: ScheduleFixture) -> None:
    with pytest.raises(NotFound, match="User nobody not found"):
        await fixture.create(a_requester(UserKey("north", "nobody")), **ONCE)


async def test_a_scheduled_turn_makes_no_schedules_unless_it_may_and_then_one_level_deep(
    fixture: ScheduleFixture,
) -> None:
    with pytest.raises(NotAllowed, match="cannot make schedules: ask the user in your answer"):
        await fixture.create(a_requester(scheduled=True, may_schedule=False), **ONCE)
    allowed = a_requester(scheduled=True, may_schedule=True)
    with pytest.raises(NotAllowed, match="leave may_schedule out"):
        await fixture.create(allowed, **ONCE, may_schedule=True)
    made = await fixture.create(allowed, **ONCE)
    assert not made.schedule.may_schedule
    assert (await fixture.create(**ONCE, may_schedule=True)).schedule.may_schedule


async def test_the_same_thing_asked_for_twice_in_one_turn_is_made_once(fixture: ScheduleFixture) -> None:
    asked: dict[str, Any] = {"schedule_type": "one-shot", "delay_seconds": 60}
    first = await fixture.create(**asked)
    fixture.clock.jump(5_000)
    assert (await fixture.create(**asked)).schedule == first.schedule
    again = await fixture.create(a_requester(turn="turn-2"), **asked)
    other = await fixture.create(**asked, name="Another")
    assert len({first.schedule.id, again.schedule.id, other.schedule.id}) == 3
    assert len(await fixture.schedules.schedules(ANNA)) == 3


async def test_what_was_made_and_deleted_in_one_turn_can_be_made_again(fixture: ScheduleFixture) -> None:
    first = await fixture.create(**ONCE)
    await fixture.schedules.delete(ANNA, first.schedule.id)
    second = await fixture.create(**ONCE)
    assert second.schedule.id != first.schedule.id
    assert second.schedule.id.startswith(first.schedule.id)
    assert [one.id for one in await fixture.schedules.schedules(ANNA, enabled_only=False)] == [
        second.schedule.id
    ]


async def test_an_id_is_longer_where_a_shorter_one_is_taken(fixture: ScheduleFixture) -> None:
    wanted = NewSchedule(name="Revise", prompt="Ask me about chapter 2.", **ONCE)
    request = request_digest(a_requester(), wanted)
    for length in (5, 6):
        await fixture.store.endpoints.add(an_endpoint(schedule_id(request, length), tenant_id="north"))
    made = await fixture.create(**ONCE)
    assert made.schedule.id == schedule_id(request, 7)
    assert len(made.schedule.id) == len("sched-") + 7


async def test_schedules_are_seen_and_deleted_by_their_own_user_alone(fixture: ScheduleFixture) -> None:
    made = await fixture.create(**ONCE)
    await fixture.store.endpoints.add(an_endpoint("plain", tenant_id="north"))
    for user, schedule_id_ in (
        (BERT, made.schedule.id),
        (UserKey("south", "anna"), made.schedule.id),
        (ANNA, "plain"),
        (ANNA, "sched-00000"),
    ):
        with pytest.raises(NotFound, match=f"Schedule {schedule_id_} not found"):
            await fixture.schedules.delete(user, schedule_id_)
    assert await fixture.schedules.schedules(BERT) == []
    assert [one.id for one in await fixture.schedules.schedules(ANNA)] == [made.schedule.id]
    await fixture.schedules.delete(ANNA, made.schedule.id)
    with pytest.raises(NotFound):
        await fixture.schedules.delete(ANNA, made.schedule.id)


async def give_up(fixture: ScheduleFixture, schedule_id: str) -> None:
    """Pause a schedule as it is when its processes died again and again."""
    forever = {"paused_until": FOREVER, "pause_origin": OWN_ORIGIN, "next_run_at": FOREVER}
    await fixture.store.endpoints.amend(
        EndpointKey("north", schedule_id), lambda endpoint: ChangedEndpoint(evolve(endpoint, **forever))
    )


async def test_a_schedule_that_was_given_up_can_be_resumed_by_its_user(fixture: ScheduleFixture) -> None:
    made = await fixture.create(**WEEKLY)
    await give_up(fixture, made.schedule.id)
    (paused,) = await fixture.schedules.schedules(ANNA)
    assert paused.paused
    with pytest.raises(NotFound):
        await fixture.schedules.resume(BERT, made.schedule.id, origin="test")
    resumed = await fixture.schedules.resume(ANNA, made.schedule.id, origin="test")
    assert (resumed.paused, resumed.next_run_at) == (False, made.next_fires[0])
    assert await fixture.schedules.resume(ANNA, made.schedule.id, origin="test") == resumed


async def test_a_one_shot_that_was_given_up_fires_at_once_when_it_is_resumed(
    fixture: ScheduleFixture,
) -> None:
    made = await fixture.create(**ONCE)
    fixture.clock.jump(2 * 86_400_000)
    await give_up(fixture, made.schedule.id)
    resumed = await fixture.schedules.resume(ANNA, made.schedule.id, origin="test")
    assert (resumed.next_run_at, resumed.enabled) == (fixture.clock.now(), True)
