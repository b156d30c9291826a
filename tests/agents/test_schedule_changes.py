"""Users change, pause, resume, snooze and run their schedules, and look into them."""

from datetime import timedelta
from typing import Any

import pytest
from tests.agents.agent_fixtures import ADA, BEN, DAY, HELPER, MINUTE, MONDAY, TENANT, AgentFixture
from tests.agents.scripted_agent import make_agents

from cadenza.domain.access.key import OnBehalfOf
from cadenza.domain.access.tenant import Limits, Tenant
from cadenza.domain.errors import Conflict, InvalidRequest, LimitReached, NotFound
from cadenza.domain.scheduling.baseline import Cron, Every, Once
from cadenza.domain.scheduling.hint import HintKind
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.run import RunStatus

ADA_SPEAKS = OnBehalfOf(ADA)
IN_A_TURN = OnBehalfOf(ADA, HELPER, "turn-1")
HOURLY: dict[str, Any] = {"schedule_type": "recurring", "cron_expression": "0 * * * *", "timezone": "UTC"}
"""It fires next at 10:00, in 42.5 minutes."""
TEN = MONDAY.replace(hour=10, minute=0, second=0)
FORTY_TWO_AND_A_HALF = 42.5 * MINUTE


@pytest.fixture
async def agents() -> AgentFixture:
    return await AgentFixture().open()


@pytest.fixture(params=[None, ADA_SPEAKS, IN_A_TURN], ids=["key", "user", "agent"])
def speaker(request: pytest.FixtureRequest) -> OnBehalfOf | None:
    speaker: OnBehalfOf | None = request.param
    return speaker


class TestUpdate:
    """`update_schedule`."""

    async def test_what_is_not_given_stays(self, agents: AgentFixture, speaker: OnBehalfOf | None) -> None:
        made = await agents.schedule(**HOURLY)
        (before,) = await agents.schedules()
        after = await agents.ask(
            "update_schedule", schedule_id=made["id"], name="Pasta", prompt="stir it", on_behalf_of=speaker
        )
        assert after == before | {"name": "Pasta", "prompt": "stir it"}
        assert await agents.schedules() == [after]

    @pytest.mark.parametrize(
        ("given", "baseline", "next_run_at"),
        [
            ({"cron_expression": "30 10 * * *"}, Cron("30 10 * * *", "UTC"), TEN.replace(minute=30)),
            (
                {"timezone": "Asia/Kolkata"},
                Cron("0 * * * *", "Asia/Kolkata"),
                MONDAY.replace(minute=30, second=0),
            ),
            ({"interval_seconds": 600}, Every(600_000), MONDAY + timedelta(minutes=10)),
            ({"delay_seconds": 600}, Once(MONDAY + timedelta(minutes=10)), MONDAY + timedelta(minutes=10)),
            (
                {"run_at": "2026-11-16T12:00", "timezone": "UTC"},
                Once(TEN.replace(hour=12)),
                TEN.replace(hour=12),
            ),
        ],
    )
    async def test_a_new_time_is_planned_at_once(
        self, agents: AgentFixture, given: dict[str, Any], baseline: Any, next_run_at: Any
    ) -> None:
        made = await agents.schedule(**HOURLY)
        await agents.ask("update_schedule", schedule_id=made["id"], **given)
        endpoint = await agents.endpoint(made["id"])
        assert (endpoint.baseline, endpoint.next_run_at) == (baseline, next_run_at)

    async def test_a_new_time_ends_a_snooze_and_a_new_name_does_not(self, agents: AgentFixture) -> None:
        made = await agents.schedule(**HOURLY)
        await agents.ask("snooze_schedule", schedule_id=made["id"], for_seconds=7_200)
        view = await agents.ask("update_schedule", schedule_id=made["id"], name="Pasta")
        assert view["paused_until"] is not None
        view = await agents.ask("update_schedule", schedule_id=made["id"], cron_expression="30 * * * *")
        assert (view["paused_until"], view["next_run_at"]) == (None, "2026-11-16T09:30:00Z")
        endpoint = await agents.endpoint(made["id"])
        assert endpoint.in_force(agents.clock.now()) == []
        newest, *_ = await agents.store.runs.hints(endpoint.key)
        assert (newest.kind, newest.origin) == (HintKind.CLEAR, "test")

    async def test_a_bound_is_set_kept_and_taken_away(self, agents: AgentFixture) -> None:
        made = await agents.schedule(**HOURLY)

        async def update(**words: Any) -> tuple[Any, Any]:
            view = await agents.ask("update_schedule", schedule_id=made["id"], **words)
            return view["min_interval_seconds"], view["max_interval_seconds"]

        assert await update(min_interval_seconds=300, max_interval_seconds=7_200) == (300, 7_200)
        assert await update(max_interval_seconds=3_600) == (300, 3_600)
        assert await update(min_interval_seconds=None) == (None, 3_600)
        assert await update(run_at="2026-11-17T09:00:00Z") == (None, None)

    @pytest.mark.parametrize(
        ("given", "refusal"),
        [
            ({"cron_expression": "99 * * * *"}, "its minute is wrong"),
            ({"cron_expression": "0 9 * * *", "interval_seconds": 60}, "not both"),
            ({"run_at": "2026-11-16T12:00:00Z", "interval_seconds": 60}, "leave interval_seconds out"),
            ({"run_at": "2020-01-01T00:00:00Z"}, "is in the past"),
            ({"run_at": "2026-11-16T12:00:00Z", "may_pace": True}, "leave may_pace out"),
            ({"interval_seconds": 30}, "interval_seconds may not be less than 1 minute"),
            ({"min_interval_seconds": 30}, "min_interval_seconds may not be less than 1 minute"),
            ({"min_interval_seconds": 900, "max_interval_seconds": 600}, "must not exceed"),
            ({"interval_seconds": 60, "min_interval_seconds": 300}, "must lie between"),
            ({"prompt": "  "}, "prompt"),
            ({"timezone": "Mars/Base"}, "not a time zone"),
        ],
    )
    async def test_what_a_new_one_could_not_be_is_refused(
        self, agents: AgentFixture, given: dict[str, Any], refusal: str
    ) -> None:
        made = await agents.schedule(**HOURLY)
        before = await agents.endpoint(made["id"])
        with pytest.raises(InvalidRequest, match=refusal):
            await agents.ask("update_schedule", schedule_id=made["id"], **given)
        assert await agents.endpoint(made["id"]) == before

    async def test_the_limits_of_its_user_hold(self, agents: AgentFixture) -> None:
        made = await agents.schedule(**HOURLY)
        await agents.store.tenants.put_tenant(
            Tenant(id=TENANT, name=TENANT, limits=Limits(schedule_fires_per_day=30))
        )
        with pytest.raises(LimitReached, match="more than 30 times a day"):
            await agents.ask("update_schedule", schedule_id=made["id"], interval_seconds=600)

    @pytest.mark.parametrize("first", ["pause_schedule", "list_schedule_runs"])
    async def test_the_longest_interval_is_counted_also_while_it_is_paused(
        self, agents: AgentFixture, first: str
    ) -> None:
        made = await agents.schedule(**HOURLY)
        await agents.ask(first, schedule_id=made["id"])
        longest = 315_359_999
        view = await agents.ask("update_schedule", schedule_id=made["id"], interval_seconds=longest)
        assert view["interval_seconds"] == longest

    async def test_what_is_done_is_active_again_with_a_new_time_if_there_is_room(
        self, agents: AgentFixture
    ) -> None:
        made = await agents.schedule()
        await agents.fire()
        assert await agents.schedules() == []
        await agents.ask("update_schedule", schedule_id=made["id"], delay_seconds=600)
        assert len(await agents.fire(10 * MINUTE)) == 1
        await agents.ask("update_schedule", schedule_id=made["id"], interval_seconds=600)
        assert len(await agents.fire(10 * MINUTE)) == 1
        once = await agents.schedule(delay_seconds=60)
        await agents.fire(MINUTE)
        await agents.store.tenants.put_tenant(
            Tenant(id=TENANT, name=TENANT, limits=Limits(schedules_per_user=1))
        )
        with pytest.raises(LimitReached, match="1 active schedules"):
            await agents.ask("update_schedule", schedule_id=once["id"], delay_seconds=600)

    async def test_another_agent_answers_if_there_is_one(self, agents: AgentFixture) -> None:
        made = await agents.schedule()
        with pytest.raises(NotFound, match="Agent nobody not found"):
            await agents.ask("update_schedule", schedule_id=made["id"], agent_id="nobody")
        await agents.ask("put_agent", agent_id="second", name="Second")
        view = await agents.ask("update_schedule", schedule_id=made["id"], agent_id="second")
        assert view["agent_id"] == "second"


class TestPause:
    """`pause_schedule` and `resume_schedule`."""

    async def test_it_does_not_fire_until_it_is_resumed(
        self, agents: AgentFixture, speaker: OnBehalfOf | None
    ) -> None:
        made = await agents.schedule(**HOURLY)
        view = await agents.ask("pause_schedule", schedule_id=made["id"], reason="away", on_behalf_of=speaker)
        assert (view["paused"], view["paused_until"], view["pause_reason"]) == (True, None, "away")
        assert await agents.fire(3 * DAY) == []
        view = await agents.ask("resume_schedule", schedule_id=made["id"], on_behalf_of=speaker)
        assert (view["paused"], view["next_run_at"]) == (False, "2026-11-19T10:00:00Z")

    async def test_it_ends_by_itself_at_a_moment_in_the_users_zone(self, agents: AgentFixture) -> None:
        made = await agents.schedule(**HOURLY)
        view = await agents.ask("pause_schedule", schedule_id=made["id"], until="2026-11-16T13:30")
        assert view["paused_until"] == "2026-11-16T12:30:00Z"
        assert await agents.fire(3 * 60 * MINUTE) == []
        assert len(await agents.fire(15 * MINUTE)) == 1

    async def test_a_slot_that_was_due_has_its_verdict(self, agents: AgentFixture) -> None:
        made = await agents.schedule(**HOURLY)
        await agents.clock.advance(FORTY_TWO_AND_A_HALF + MINUTE)
        await agents.ask("pause_schedule", schedule_id=made["id"])
        (run,) = await agents.runs(made["id"])
        assert (run.slot, run.status, run.verdict) == (TEN, RunStatus.SKIPPED, True)

    async def test_what_cannot_be_is_refused(self, agents: AgentFixture) -> None:
        made = await agents.schedule()
        with pytest.raises(InvalidRequest, match="until 2020"):
            await agents.ask("pause_schedule", schedule_id=made["id"], until="2020-01-01T00:00:00Z")
        await agents.fire()
        with pytest.raises(Conflict, match="is done"):
            await agents.ask("pause_schedule", schedule_id=made["id"])


class TestSnooze:
    """`snooze_schedule`."""

    async def test_the_next_firing_is_put_off_once(
        self, agents: AgentFixture, speaker: OnBehalfOf | None
    ) -> None:
        made = await agents.schedule(**HOURLY)
        view = await agents.ask(
            "snooze_schedule", schedule_id=made["id"], for_seconds=7_200, on_behalf_of=speaker
        )
        then = MONDAY + timedelta(hours=2)
        assert view["next_run_at"] == f"{then:%FT%TZ}"
        why = await agents.ask("explain_schedule", schedule_id=made["id"])
        assert (why["reason"], why["by"]) == ("snoozed", "person: test")
        assert await agents.fire(90 * MINUTE) == []
        assert len(await agents.fire(30 * MINUTE)) == 1
        endpoint = await agents.endpoint(made["id"])
        assert (endpoint.next_run_at, endpoint.paused_until) == (TEN.replace(hour=12), None)

    async def test_one_that_has_fired_fires_once_more(self, agents: AgentFixture) -> None:
        made = await agents.schedule()
        await agents.fire()
        await agents.ask("snooze_schedule", schedule_id=made["id"], until="2026-11-16T13:00:00+01:00")
        assert len(await agents.fire(3 * 60 * MINUTE)) == 1
        assert await agents.fire(DAY) == []
        assert len(await agents.undelivered_texts()) == 2
        assert await agents.schedules() == []

    async def test_a_recurring_one_is_heard_again_soon_and_at_its_time(self, agents: AgentFixture) -> None:
        made = await agents.schedule(**HOURLY)
        await agents.fire(FORTY_TWO_AND_A_HALF)
        await agents.ask("snooze_schedule", schedule_id=made["id"], for_seconds=600)
        assert len(await agents.fire(10 * MINUTE)) == 1
        assert len(await agents.fire(50 * MINUTE)) == 1
        assert [run.slot.minute for run in await agents.runs(made["id"])] == [0, 10, 0]

    async def test_while_it_fires_and_again(self, agents: AgentFixture) -> None:
        made = await agents.schedule()
        await agents.clock.advance(20 * MINUTE)
        (claim,) = await agents.store.endpoints.claim_due(
            now=agents.clock.now(),
            within=timedelta(0),
            lease_until=agents.clock.now() + timedelta(minutes=1),
            limit=1,
        )
        assert claim.key.id == made["id"]
        for seconds in (600, 1_200):
            await agents.ask("snooze_schedule", schedule_id=made["id"], for_seconds=seconds)
        endpoint = await agents.endpoint(made["id"])
        assert (endpoint.lease, endpoint.next_source) == (claim.endpoint.lease, Source.AI_ONESHOT)
        assert endpoint.next_run_at == agents.clock.now() + timedelta(minutes=20)

    async def test_what_cannot_be_is_refused(self, agents: AgentFixture) -> None:
        made = await agents.schedule(delay_seconds=86_400)
        for words, refusal in (
            ({}, "either for_seconds or until"),
            ({"for_seconds": 1, "until": "2030-01-01T00:00:00Z"}, "either for_seconds or until"),
            ({"until": "2020-01-01T00:00:00Z"}, "in the past"),
            ({"for_seconds": 60}, "which is later: move it with"),
        ):
            with pytest.raises(InvalidRequest, match=refusal):
                await agents.ask("snooze_schedule", schedule_id=made["id"], **words)
        await agents.ask("pause_schedule", schedule_id=made["id"])
        with pytest.raises(Conflict, match="resume it"):
            await agents.ask("snooze_schedule", schedule_id=made["id"], for_seconds=60)

    async def test_a_resume_ends_it(self, agents: AgentFixture) -> None:
        once, hourly = await agents.schedule(), await agents.schedule(**HOURLY)
        await agents.fire()
        for made in (once, hourly):
            await agents.ask("snooze_schedule", schedule_id=made["id"], for_seconds=36_000)
            await agents.ask("resume_schedule", schedule_id=made["id"])
        assert (await agents.endpoint(hourly["id"])).next_run_at == TEN
        assert (await agents.endpoint(once["id"])).next_run_at is None


async def test_it_runs_now_beside_its_times(agents: AgentFixture, speaker: OnBehalfOf | None) -> None:
    made = await agents.schedule(**HOURLY)
    await agents.ask("run_schedule", schedule_id=made["id"], on_behalf_of=speaker)
    assert len(await agents.fire(0)) == 1
    assert (await agents.endpoint(made["id"])).next_run_at == TEN
    await agents.ask("snooze_schedule", schedule_id=made["id"], for_seconds=36_000)
    await agents.ask("run_schedule", schedule_id=made["id"])
    assert len(await agents.fire(MINUTE)) == 1
    assert (await agents.endpoint(made["id"])).next_run_at == TEN, "it does not snooze any more"
    await agents.ask("pause_schedule", schedule_id=made["id"])
    with pytest.raises(Conflict, match="cannot run now"):
        await agents.ask("run_schedule", schedule_id=made["id"])


async def test_its_history_says_what_became_of_each_firing() -> None:
    agents, _ = await make_agents()
    made = await agents.schedule(**HOURLY)
    for _ in range(3):
        await agents.fire(60 * MINUTE)
    page = await agents.ask("list_schedule_runs", schedule_id=made["id"], limit=2, on_behalf_of=ADA_SPEAKS)
    rest = await agents.ask("list_schedule_runs", schedule_id=made["id"], cursor=page["next_cursor"])
    runs = [*page["items"], *rest["items"]]
    assert [(one["status"], one["verdict"], one["messages"], one["tokens"]) for one in runs] == [
        ("success", True, 1, 0)
    ] * 3
    assert [one["slot"] for one in runs] == sorted((one["slot"] for one in runs), reverse=True)
    assert "error" not in runs[0], "why a model failed is for the operator"


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        ("update_schedule", {"name": "x"}),
        ("pause_schedule", {}),
        ("resume_schedule", {}),
        ("snooze_schedule", {"for_seconds": 60}),
        ("run_schedule", {}),
        ("list_schedule_runs", {}),
        ("explain_schedule", {}),
    ],
)
async def test_anothers_schedule_and_what_is_none_are_not_there(
    agents: AgentFixture, operation: str, words: dict[str, Any]
) -> None:
    theirs = await agents.schedule(user=BEN)
    before = await agents.endpoint(theirs["id"])
    for speaker in (ADA_SPEAKS, IN_A_TURN):
        with pytest.raises(NotFound, match=f"Schedule {theirs['id']} not found"):
            await agents.ask(operation, schedule_id=theirs["id"], on_behalf_of=speaker, **words)
    with pytest.raises(NotFound, match="Schedule sched-none not found"):
        await agents.ask(operation, schedule_id="sched-none", **words)
    assert await agents.endpoint(theirs["id"]) == before
