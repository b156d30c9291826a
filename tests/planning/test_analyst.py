"""What is analyzed: new runs, failures, siblings, analyses that are due."""

import asyncio

from tests.planning.analyst_fixtures import AnalystHarness, ScriptedPlanner
from tests.scheduling.worker.worker_fixtures import MINUTE

from cadenza.domain.errors import Unavailable
from cadenza.domain.planning.analysis import Trigger
from cadenza.engine.planning.feed import FEED_KEY, NOTES_OWNER
from cadenza.ports.planning import Briefing, CallTool, PlannerResult

ALONE = 60 * MINUTE


async def test_a_new_run_is_analyzed_with_its_response() -> None:
    harness, planner = AnalystHarness(), ScriptedPlanner()
    await harness.fixture.add(in_ms=ALONE)
    async with harness.watched_by(planner):
        await harness.run(response={"load": 7})
    (briefing,) = planner.briefings
    assert briefing.trigger is Trigger.RUN
    assert [run.response for run in briefing.recent] == [{"load": 7}]
    assert briefing.endpoint.last_run_at is not None


async def test_what_ran_before_the_first_start_is_left_alone() -> None:
    harness, planner = AnalystHarness(), ScriptedPlanner()
    await harness.fixture.add(in_ms=ALONE)
    await harness.run()
    async with harness.watched_by(planner):
        await harness.settle()
    assert planner.seen == []


async def test_a_new_failure_says_so_and_the_next_one_is_a_run() -> None:
    harness, planner = AnalystHarness(), ScriptedPlanner()
    await harness.fixture.add(in_ms=ALONE)
    async with harness.watched_by(planner):
        for ok in (True, False, False, True, False):
            await harness.run(ok=ok)
    assert [trigger for _, trigger in planner.seen] == ["run", "failure", "run", "run", "failure"]


async def test_the_siblings_of_a_changed_response_are_analyzed_also_when_they_are_paused() -> None:
    harness, planner = AnalystHarness(), ScriptedPlanner()
    await harness.fixture.add("watched", in_ms=ALONE)
    await harness.fixture.add("paused", in_ms=ALONE, paused_until=harness.fixture.at(ALONE))
    await harness.fixture.add("elsewhere", in_ms=ALONE, job_id="another")
    async with harness.watched_by(planner):
        await harness.run("watched", {"body": 1, "headers": {"date": "one"}})
        await harness.run("watched", {"body": 1, "headers": {"date": "two"}})
        await harness.run("watched", {"body": 2, "headers": {"date": "two"}})
    assert planner.seen == [
        ("watched", "run"),
        ("paused", "sibling"),
        ("watched", "run"),
        ("watched", "run"),
        ("paused", "sibling"),
    ]
    assert planner.briefings[-1].latest["watched"].response == {"body": 2, "headers": {"date": "two"}}


async def test_siblings_of_a_steered_endpoint_are_analyzed_once_and_not_for_ever() -> None:
    async def steers(briefing: Briefing, call: CallTool) -> PlannerResult:
        for sibling in briefing.siblings.values():
            await call(sibling, "propose_interval", {"intervalMs": 30_000})
        return PlannerResult("tightened")

    harness, planner = AnalystHarness(), ScriptedPlanner(steers)
    await harness.fixture.add("one", in_ms=ALONE)
    await harness.fixture.add("two", in_ms=ALONE)
    async with harness.watched_by(planner):
        await harness.run("one", "same")
        await harness.run("one", "same")
    assert planner.seen == [("one", "run"), ("two", "sibling")] * 2


async def test_an_analysis_comes_when_it_was_asked_for_to_the_planner_that_asked() -> None:
    async def again_later(_: Briefing, __: CallTool) -> PlannerResult:
        return PlannerResult(look_again_ms=5 * MINUTE if len(patient.briefings) < 3 else None)

    harness, patient, other = (
        AnalystHarness(),
        ScriptedPlanner(again_later, name="patient"),
        ScriptedPlanner(name="other"),
    )
    await harness.fixture.add(in_ms=ALONE, paused_until=harness.fixture.at(ALONE))
    async with harness.watched_by(patient, other):
        await harness.fixture.change(paused_until=None)
        await harness.run()
        await harness.fixture.change(paused_until=harness.fixture.at(ALONE))
        await harness.settle(4 * MINUTE)
        assert patient.seen == [("endpoint", "run")]
        await harness.settle(30 * MINUTE)
    assert patient.seen == [("endpoint", "run"), ("endpoint", "due"), ("endpoint", "due")]
    assert other.seen == [("endpoint", "run")]
    assert await harness.analyses() == []


async def test_a_due_analysis_of_an_endpoint_that_is_gone_is_forgotten() -> None:
    async def again(_: Briefing, __: CallTool) -> PlannerResult:
        return PlannerResult(look_again_ms=MINUTE)

    harness, planner = AnalystHarness(), ScriptedPlanner(again)
    await harness.fixture.add(in_ms=ALONE)
    async with harness.watched_by(planner):
        await harness.run()
        await harness.fixture.change(archived=True)
        await harness.settle(20 * MINUTE)
    far = harness.fixture.at(ALONE * 24)
    assert len(planner.briefings) == 1
    assert await harness.store.port.analyses.due_analyses(far, again_at=far, limit=10) == []


async def test_runs_that_end_while_planners_are_busy_are_analyzed_once_with_the_newest() -> None:
    free = asyncio.Event()

    async def slowly(_: Briefing, __: CallTool) -> PlannerResult:
        await free.wait()
        return PlannerResult("done")

    harness, planner = AnalystHarness(), ScriptedPlanner(slowly)
    await harness.fixture.add(in_ms=ALONE)
    async with harness.watched_by(planner):
        for number in range(4):
            await harness.run(response=number)
        free.set()
        await harness.settle()
    assert [briefing.recent[0].response for briefing in planner.briefings] == [0, 3]
    assert planner.most_at_once == 1


async def test_a_slow_planner_has_its_own_pool_and_keeps_no_other_waiting() -> None:
    async def never(_: Briefing, __: CallTool) -> PlannerResult:
        await asyncio.Event().wait()
        raise AssertionError

    harness, slow, quick = (
        AnalystHarness(),
        ScriptedPlanner(never, name="slow"),
        ScriptedPlanner(name="quick"),
    )
    await harness.fixture.add(in_ms=ALONE)
    async with harness.working(harness.analyst([quick], [slow])):
        for _ in range(3):
            await harness.run()
    assert len(quick.briefings) == 3
    assert len(slow.briefings) == 1


async def test_skipped_and_cancelled_runs_are_not_analyzed() -> None:
    harness, planner = AnalystHarness(), ScriptedPlanner()
    await harness.fixture.add()
    harness.fixture.quota.close(harness.fixture.at(ALONE))
    async with harness.watched_by(planner):
        await harness.fixture.tick()
        await harness.settle()
    assert len(await harness.fixture.runs()) == 1
    assert planner.seen == []


async def test_a_restarted_analyst_goes_on_where_the_last_one_was() -> None:
    harness, planner = AnalystHarness(), ScriptedPlanner()
    await harness.fixture.add(in_ms=ALONE)
    async with harness.watched_by(planner):
        await harness.run(response="seen")
        await harness.settle(20_000)
    await harness.run(response="missed")
    async with harness.watched_by(planner):
        await harness.settle()
    assert [briefing.recent[0].response for briefing in planner.briefings] == ["seen", "missed"]


async def test_after_an_hour_history_is_not_replayed() -> None:
    harness, planner = AnalystHarness(), ScriptedPlanner()
    await harness.fixture.add(in_ms=ALONE)
    async with harness.watched_by(planner):
        await harness.settle(20_000)
    await harness.run()
    harness.clock.jump(61 * MINUTE)
    async with harness.watched_by(planner):
        await harness.settle()
    assert planner.seen == []


async def test_the_saved_cursor_waits_for_what_is_still_being_analyzed() -> None:
    """Who is killed between a hint and its record finds the run again, and thinks once more."""

    async def never(briefing: Briefing, call: CallTool) -> PlannerResult:
        await call(briefing.endpoint, "propose_interval", {"intervalMs": 30_000})
        await asyncio.Event().wait()
        raise AssertionError

    harness, killed, next_one = AnalystHarness(), ScriptedPlanner(never), ScriptedPlanner()
    await harness.fixture.add(in_ms=ALONE)
    async with harness.watched_by(killed):
        await harness.run()
        await harness.settle(MINUTE)
    hinted = await harness.fixture.endpoint()
    assert hinted.interval_hint is not None
    assert await harness.analyses() == []
    async with harness.watched_by(next_one):
        await harness.settle()
    assert next_one.seen == [("endpoint", "run")]


async def test_an_idle_analyst_saves_its_cursor_again() -> None:
    harness = AnalystHarness()
    async with harness.watched_by(ScriptedPlanner()):
        await harness.settle()
        first = (await harness.store.port.analyses.notes(NOTES_OWNER, [FEED_KEY]))[FEED_KEY]
        await harness.settle(16 * MINUTE)
        second = (await harness.store.port.analyses.notes(NOTES_OWNER, [FEED_KEY]))[FEED_KEY]
    assert first["mark"] == second["mark"]
    assert first["at"] < second["at"]


async def test_many_tenants_take_turns() -> None:
    harness, planner = AnalystHarness(concurrency=1), ScriptedPlanner()
    for number in range(6):
        await harness.fixture.add(f"large-{number}", tenant_id="large")
    await harness.fixture.add("small", tenant_id="small")
    async with harness.watched_by(planner):
        await harness.fixture.tick()
        await harness.settle()
    order = [briefing.endpoint.tenant_id for briefing in planner.briefings if briefing.trigger is Trigger.RUN]
    assert order.index("small") <= 1
    assert len(order) == 7


async def test_no_more_endpoints_are_analyzed_at_a_time_than_settings_allow() -> None:
    async def yields(_: Briefing, __: CallTool) -> PlannerResult:
        await harness.clock.sleep(100)
        return PlannerResult()

    harness = AnalystHarness(concurrency=3)
    planner = ScriptedPlanner(yields)
    for number in range(9):
        await harness.fixture.add(f"endpoint-{number}", job_id=f"job-{number}")
    async with harness.watched_by(planner):
        await harness.fixture.tick()
        await harness.settle()
    assert len(planner.briefings) == 9
    assert planner.most_at_once == 3


async def test_a_briefing_stays_within_its_budget() -> None:
    harness, planner = AnalystHarness(), ScriptedPlanner()
    for number in range(60):
        await harness.fixture.add(f"sibling-{number:02}", in_ms=ALONE)
    await harness.fixture.add(in_ms=ALONE)
    async with harness.watched_by(planner):
        for _ in range(30):
            await harness.run(response="x" * 9_000)
    last = [briefing for briefing in planner.briefings if briefing.endpoint.id == "endpoint"][-1]
    assert len(last.siblings) == 50
    assert sum(len(str(run.response)) for run in last.recent) <= harness.budget.response_bytes
    assert len(last.recent) == 7


async def test_the_store_may_go_away_and_come_back() -> None:
    harness, planner = AnalystHarness(), ScriptedPlanner()
    await harness.fixture.add(in_ms=ALONE)
    async with harness.watched_by(planner):
        for method in ("ended_since", "with_siblings", "recent_runs", "due_analyses"):
            harness.store.fail(method, Unavailable("It is away."))
            await harness.run(response=method)
            harness.store.restore(method)
            await harness.settle(10_000)
            assert planner.briefings[-1].recent[0].response == method
    assert "a dependency is unavailable, retrying" in harness.log.events("debug")


async def test_analyses_are_recorded_when_the_store_is_back() -> None:
    async def speaks(_: Briefing, __: CallTool) -> PlannerResult:
        return PlannerResult("something")

    harness = AnalystHarness()
    await harness.fixture.add(in_ms=ALONE)
    async with harness.watched_by(ScriptedPlanner(speaks)):
        harness.store.fail("add_analyses", Unavailable("It is away."))
        await harness.run()
        assert await harness.analyses() == []
        harness.store.restore("add_analyses")
        await harness.settle(10_000)
    assert [one.reasoning for one in await harness.analyses()] == ["something"]


async def test_a_run_that_comes_twice_is_analyzed_once() -> None:
    harness, planner = AnalystHarness(), ScriptedPlanner()
    await harness.fixture.add(in_ms=ALONE)
    feed = harness.store.port.analyses._tables.feed
    async with harness.watched_by(planner):
        await harness.run()
        feed.append(feed[-1])
        await harness.settle()
    assert len(feed) == 2
    assert planner.seen == [("endpoint", "run")]


async def test_how_far_behind_it_is_goes_to_telemetry() -> None:
    harness = AnalystHarness()
    await harness.fixture.add(in_ms=ALONE)
    async with harness.watched_by(ScriptedPlanner()):
        await harness.run()
    (event,) = [event for event in harness.fixture.telemetry.events if event.name == "planner.feed.stop"]
    assert event.measurements["runs"] == 1
    assert 0 <= event.measurements["lag_ms"] <= 1_000
    assert event.metadata == {}
