"""Schedules are made, listed and deleted by their own user, and refused in sentences that help."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadenza.adapters.cron import CronsimCron
from cadenza.adapters.stores.memory import MemoryStore
from cadenza.domain.access.tenant import Limits, Tenant
from cadenza.domain.agents.schedule import ScheduleType, format_moment
from cadenza.domain.agents.schedule_request import (
    NewSchedule,
    ScheduleRequester,
    daily_limit_reached,
    request_digest,
    schedule_id,
    tomorrow,
)
from cadenza.domain.agents.users import Agent, User, UserKey
from cadenza.domain.errors import CadenzaError, InvalidRequest, NotAllowed, NotFound
from cadenza.domain.scheduling.baseline import Once
from cadenza.domain.scheduling.endpoint import EndpointKey
from cadenza.domain.scheduling.target import PromptTarget
from cadenza.engine.agents.schedules import CreatedSchedule, Schedules
from cadenza.testing import FakeClock, FakeIds
from cadenza.testing.builders import an_endpoint

NOW = datetime(2030, 3, 1, 12, tzinfo=UTC)
ANNA, BERT = UserKey("north", "anna"), UserKey("north", "bert")
ONCE: dict[str, Any] = {"schedule_type": "one-shot", "run_at": "2030-03-02T09:00:00Z"}
WEEKLY: dict[str, Any] = {"schedule_type": "recurring", "cron_expression": "0 17 * * 1"}


class Diary:
    """An agenda of two users, and one of another tenant."""

    def __init__(self) -> None:
        self.clock = FakeClock(NOW)
        self.cron = CronsimCron()
        self.store = MemoryStore(FakeIds())
        self.agenda = Schedules(store=self.store, clock=self.clock, cron=self.cron)

    async def open(self, timezone: str | None = "Europe/Berlin") -> "Diary":
        for user in (ANNA, BERT):
            await self.store.users.put_user(User(tenant_id="north", id=user.id, timezone=timezone))
        await self.store.agents.put_agent(Agent(tenant_id="north", id="tutor", name="Tutor"))
        await self.store.agents.put_agent(Agent(tenant_id="south", id="stranger", name="Stranger"))
        return self

    async def create(self, caller: ScheduleRequester | None = None, **asked: Any) -> CreatedSchedule:
        wanted = NewSchedule(**({"name": "Revise", "prompt": "Ask me about chapter 2."} | asked))
        return await self.agenda.create(caller or a_caller(), wanted)

    async def limit(self, **limits: Any) -> None:
        await self.store.tenants.put_tenant(Tenant(id="north", name="north", limits=Limits(**limits)))


def a_caller(user: UserKey = ANNA, turn: str = "turn-1", **fields: Any) -> ScheduleRequester:
    return ScheduleRequester(**({"user": user, "turn_id": turn, "agent_id": "tutor"} | fields))


@pytest.fixture
async def diary() -> Diary:
    return await Diary().open()


async def test_a_one_shot_is_kept_as_an_endpoint_that_fires_once(diary: Diary) -> None:
    made = await diary.create(**ONCE)
    at = datetime(2030, 3, 2, 9, tzinfo=UTC)
    endpoint = await diary.store.endpoints.get(EndpointKey("north", made.schedule.id))
    assert (endpoint.job_id, endpoint.baseline, endpoint.next_run_at) == ("agenda", Once(at), at)
    assert endpoint.policy.max_attempts == 3
    assert isinstance(endpoint.target, PromptTarget)
    assert (endpoint.target.user_id, endpoint.target.agent_id) == ("anna", "tutor")
    assert endpoint.target.prompt == made.schedule.prompt == "Ask me about chapter 2."
    assert made.schedule.schedule_type is ScheduleType.ONE_SHOT
    assert (made.schedule.run_at, made.schedule.enabled, made.schedule.created_at) == (at, True, NOW)
    assert made.next_fires_text == ["Saturday, 2 March 2030, 10:00 Europe/Berlin"]
    assert (await diary.store.catalog.job("north", "agenda")).active


async def test_a_recurring_one_fires_by_its_line_in_the_users_zone(diary: Diary) -> None:
    made = await diary.create(**WEEKLY)
    assert made.next_fires == [datetime(2030, 3, day, 16, tzinfo=UTC) for day in (4, 11, 18)]
    assert made.next_fires_text[0] == "Monday, 4 March 2030, 17:00 Europe/Berlin"
    assert made.schedule.timezone == "Europe/Berlin"
    other = await diary.create(**WEEKLY, timezone="America/New_York")
    assert other.next_fires[0] == datetime(2030, 3, 4, 22, tzinfo=UTC)


async def test_without_any_zone_a_line_is_meant_in_utc_and_says_so() -> None:
    diary = await Diary().open(timezone=None)
    made = await diary.create(**WEEKLY)
    assert made.next_fires_text[0] == "Monday, 4 March 2030, 17:00 UTC"


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
    diary: Diary, run_at: Any, timezone: str | None, expected: datetime
) -> None:
    made = await diary.create(schedule_type="one-shot", run_at=run_at, timezone=timezone)
    assert made.next_fires == [expected]


async def test_a_delay_counts_from_now(diary: Diary) -> None:
    made = await diary.create(schedule_type="one-shot", delay_seconds=90)
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
        "run_at 2029-03-02T09:00:00Z is in the past: it is 2030-03-01T12:00:00Z now. Give a moment that is",
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
        "delay_seconds must be from 1",
    ),
    "bad line": ({**WEEKLY, "cron_expression": "61 * * * *"}, InvalidRequest, "cannot be read"),
    "never": ({**WEEKLY, "cron_expression": "0 0 30 2 *"}, InvalidRequest, "never fires"),
    "bad zone": ({**ONCE, "timezone": "Mars/Olympus"}, InvalidRequest, "names no time zone"),
    "bad zone, weekly": ({**WEEKLY, "timezone": "Mars/Olympus"}, InvalidRequest, "names no time zone"),
    "bad type": ({**ONCE, "schedule_type": "often"}, InvalidRequest, "must be one of one-shot, recurring"),
    "two lines": ({**ONCE, "name": "a\nb"}, InvalidRequest, "name must be one line"),
    "no name": ({**ONCE, "name": " "}, InvalidRequest, "name must be one line"),
    "no prompt": ({**ONCE, "prompt": " \n"}, InvalidRequest, "prompt must say what is to be done"),
    "long prompt": ({**ONCE, "prompt": "x" * 8_001}, InvalidRequest, "at most 8000 are taken"),
    "no such agent": ({**ONCE, "agent_id": "nobody"}, NotFound, "There is no agent nobody"),
    "not their agent": ({**ONCE, "agent_id": "stranger"}, NotFound, "There is no agent stranger"),
    "too often": (
        {**WEEKLY, "cron_expression": "*/5 * * * *"},
        NotAllowed,
        "With this one, the user's schedules would fire more than 200 times a day: make it fire less often",
    ),
}


@pytest.mark.parametrize("asked", REFUSED)
async def test_what_cannot_be_is_refused_with_a_sentence_that_helps(diary: Diary, asked: str) -> None:
    arguments, kind, sentence = REFUSED[asked]
    with pytest.raises(kind) as refusal:
        await diary.create(**arguments)
    assert sentence in refusal.value.message
    assert await diary.agenda.schedules(ANNA, enabled_only=False) == []


async def test_a_moment_without_an_offset_needs_a_zone() -> None:
    diary = await Diary().open(timezone=None)
    with pytest.raises(InvalidRequest, match="run_at has no offset and the user has no time zone: ask where"):
        await diary.create(schedule_type="one-shot", run_at="2030-03-02T09:00:00")
    made = await diary.create(schedule_type="one-shot", run_at="2030-03-02T09:00", timezone="Asia/Tokyo")
    assert made.next_fires == [datetime(2030, 3, 2, 0, tzinfo=UTC)]


async def test_who_names_no_agent_is_told_to() -> None:
    diary = await Diary().open()
    with pytest.raises(InvalidRequest, match="agent_id must say which agent answers"):
        await diary.create(a_caller(agent_id=None), **ONCE)


async def test_a_user_who_is_not_there_has_no_agenda(diary: Diary) -> None:
    with pytest.raises(NotFound, match="There is no user nobody"):
        await diary.create(a_caller(UserKey("north", "nobody")), **ONCE)


async def test_a_fired_turn_makes_no_schedules_unless_it_may_and_then_one_level_deep(diary: Diary) -> None:
    with pytest.raises(NotAllowed, match="cannot make schedules: ask the user in your answer"):
        await diary.create(a_caller(scheduled=True, may_schedule=False), **ONCE)
    allowed = a_caller(scheduled=True, may_schedule=True)
    with pytest.raises(NotAllowed, match="leave may_schedule out"):
        await diary.create(allowed, **ONCE, may_schedule=True)
    made = await diary.create(allowed, **ONCE)
    assert not made.schedule.may_schedule
    assert (await diary.create(**ONCE, may_schedule=True)).schedule.may_schedule


async def test_the_same_thing_asked_for_twice_in_one_turn_is_made_once(diary: Diary) -> None:
    asked: dict[str, Any] = {"schedule_type": "one-shot", "delay_seconds": 60}
    first = await diary.create(**asked)
    diary.clock.jump(5_000)
    assert (await diary.create(**asked)).schedule == first.schedule
    again = await diary.create(a_caller(turn="turn-2"), **asked)
    other = await diary.create(**asked, name="Another")
    assert len({first.schedule.id, again.schedule.id, other.schedule.id}) == 3
    assert len(await diary.agenda.schedules(ANNA)) == 3


async def test_what_was_made_and_deleted_in_one_turn_can_be_made_again(diary: Diary) -> None:
    first = await diary.create(**ONCE)
    await diary.agenda.delete(ANNA, first.schedule.id)
    second = await diary.create(**ONCE)
    assert second.schedule.id != first.schedule.id
    assert second.schedule.id.startswith(first.schedule.id)
    assert [one.id for one in await diary.agenda.schedules(ANNA, enabled_only=False)] == [second.schedule.id]


async def test_an_id_is_longer_where_a_shorter_one_is_taken(diary: Diary) -> None:
    wanted = NewSchedule(name="Revise", prompt="Ask me about chapter 2.", **ONCE)
    request = request_digest(a_caller(), wanted)
    for length in (5, 6):
        await diary.store.endpoints.add(an_endpoint(schedule_id(request, length), tenant_id="north"))
    made = await diary.create(**ONCE)
    assert made.schedule.id == schedule_id(request, 7)
    assert len(made.schedule.id) == len("sched-") + 7


async def test_schedules_are_seen_and_deleted_by_their_own_user_alone(diary: Diary) -> None:
    made = await diary.create(**ONCE)
    await diary.store.endpoints.add(an_endpoint("plain", tenant_id="north"))
    for user, schedule_id_ in (
        (BERT, made.schedule.id),
        (UserKey("south", "anna"), made.schedule.id),
        (ANNA, "plain"),
        (ANNA, "sched-00000"),
    ):
        with pytest.raises(NotFound, match=f"There is no schedule {schedule_id_}"):
            await diary.agenda.delete(user, schedule_id_)
    assert await diary.agenda.schedules(BERT) == []
    assert [one.id for one in await diary.agenda.schedules(ANNA)] == [made.schedule.id]
    await diary.agenda.delete(ANNA, made.schedule.id)
    with pytest.raises(NotFound):
        await diary.agenda.delete(ANNA, made.schedule.id)


async def test_a_user_has_so_many_active_schedules(diary: Diary) -> None:
    await diary.limit(schedules_per_user=2)
    made = await diary.create(**ONCE, name="first")
    await diary.create(**ONCE, name="second")
    with pytest.raises(NotAllowed, match="has 2 active schedules, and may have 2: delete one first"):
        await diary.create(**ONCE)
    await diary.create(a_caller(BERT), **ONCE)
    await diary.agenda.delete(ANNA, made.schedule.id)
    await diary.create(**ONCE)


async def test_fifty_are_active_by_default(diary: Diary) -> None:
    for number in range(50):
        await diary.create(**ONCE, name=f"{number}")
    with pytest.raises(NotAllowed, match="may have 50"):
        await diary.create(**ONCE)


async def test_what_recurs_leaves_time_between_its_fires(diary: Diary) -> None:
    await diary.limit(schedule_min_interval_ms=600_000)
    with pytest.raises(NotAllowed, match="fires more often than every 600 seconds: leave more time"):
        await diary.create(schedule_type="recurring", cron_expression="0,9 8 * * *")
    await diary.create(schedule_type="recurring", cron_expression="0,10 8 * * *")


async def test_all_schedules_of_a_user_together_fire_so_often_a_day(diary: Diary) -> None:
    await diary.limit(schedule_fires_per_day=25)
    await diary.create(schedule_type="recurring", cron_expression="0 * * * *")
    await diary.create(**ONCE)
    with pytest.raises(NotAllowed, match="more than 25 times a day"):
        await diary.create(**WEEKLY)
    await diary.limit(schedule_fires_per_day=None)
    await diary.create(schedule_type="recurring", cron_expression="* * * * *")


def test_a_day_ends_for_who_has_spent_it() -> None:
    limits = Limits()
    assert daily_limit_reached(199, 199_999, limits=limits) is None
    assert daily_limit_reached(200, 0, limits=limits) == "the user's schedules have fired 200 times today"
    assert daily_limit_reached(0, 200_000, limits=limits) == "the user's turns have spent 200000 tokens today"
    endless = Limits(schedule_fires_per_day=None, schedule_tokens_per_day=None)
    assert daily_limit_reached(10**9, 10**9, limits=endless) is None
    assert tomorrow(NOW) == datetime(2030, 3, 2, tzinfo=UTC)
    assert tomorrow(datetime(2030, 3, 2, tzinfo=UTC)) == datetime(2030, 3, 3, tzinfo=UTC)


@given(st.text(), st.text(), st.integers(5, 24))
def test_an_id_depends_on_the_turn_and_the_request_and_on_nothing_else(
    name: str, turn: str, length: int
) -> None:
    wanted = NewSchedule(name=name, prompt="p", **ONCE)
    caller = a_caller(turn=turn)
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
