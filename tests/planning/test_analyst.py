"""What deserves thought is thought about: new runs, failures, siblings, looks that are due."""

import asyncio

from tests.planning.analyst_fixtures import Scripted, Study
from tests.scheduling.worker.worker_fixtures import MINUTE

from cadenza.domain.errors import Unavailable
from cadenza.domain.planning.analysis import Trigger
from cadenza.engine.planning.feed import NOTES_OF, PLACE
from cadenza.ports.planning import Briefing, CallTool, PlannerResult

ALONE = 60 * MINUTE


async def test_a_new_run_is_thought_about_with_its_response() -> None:
    study, planner = Study(), Scripted()
    await study.corridor.add(in_ms=ALONE)
    async with study.watched_by(planner):
        await study.run(response={"load": 7})
    (briefing,) = planner.told
    assert briefing.trigger is Trigger.RUN
    assert [run.response for run in briefing.recent] == [{"load": 7}]
    assert briefing.endpoint.last_run_at is not None


async def test_what_ran_before_the_first_start_is_left_alone() -> None:
    study, planner = Study(), Scripted()
    await study.corridor.add(in_ms=ALONE)
    await study.run()
    async with study.watched_by(planner):
        await study.settle()
    assert planner.seen == []


async def test_a_new_failure_says_so_and_the_next_one_is_a_run() -> None:
    study, planner = Study(), Scripted()
    await study.corridor.add(in_ms=ALONE)
    async with study.watched_by(planner):
        for ok in (True, False, False, True, False):
            await study.run(ok=ok)
    assert [trigger for _, trigger in planner.seen] == ["run", "failure", "run", "run", "failure"]


async def test_the_siblings_of_a_changed_response_are_looked_at_also_when_they_are_paused() -> None:
    study, planner = Study(), Scripted()
    await study.corridor.add("watched", in_ms=ALONE)
    await study.corridor.add("paused", in_ms=ALONE, paused_until=study.corridor.at(ALONE))
    await study.corridor.add("elsewhere", in_ms=ALONE, job_id="another")
    async with study.watched_by(planner):
        await study.run("watched", {"body": 1, "headers": {"date": "one"}})
        await study.run("watched", {"body": 1, "headers": {"date": "two"}})
        await study.run("watched", {"body": 2, "headers": {"date": "two"}})
    assert planner.seen == [
        ("watched", "run"),
        ("paused", "sibling"),
        ("watched", "run"),
        ("watched", "run"),
        ("paused", "sibling"),
    ]
    assert planner.told[-1].latest["watched"].response == {"body": 2, "headers": {"date": "two"}}


async def test_siblings_of_a_steered_endpoint_are_looked_at_once_and_not_for_ever() -> None:
    async def steers(briefing: Briefing, call: CallTool) -> PlannerResult:
        for sibling in briefing.siblings.values():
            await call(sibling, "propose_interval", {"intervalMs": 30_000})
        return PlannerResult("tightened")

    study, planner = Study(), Scripted(steers)
    await study.corridor.add("one", in_ms=ALONE)
    await study.corridor.add("two", in_ms=ALONE)
    async with study.watched_by(planner):
        await study.run("one", "same")
        await study.run("one", "same")
    assert planner.seen == [("one", "run"), ("two", "sibling")] * 2


async def test_a_look_comes_when_it_was_wanted_to_the_planner_who_wanted_it() -> None:
    async def again_later(_: Briefing, __: CallTool) -> PlannerResult:
        return PlannerResult(look_again_ms=5 * MINUTE if len(patient.told) < 3 else None)

    study, patient, other = Study(), Scripted(again_later, name="patient"), Scripted(name="other")
    await study.corridor.add(in_ms=ALONE, paused_until=study.corridor.at(ALONE))
    async with study.watched_by(patient, other):
        await study.corridor.change(paused_until=None)
        await study.run()
        await study.corridor.change(paused_until=study.corridor.at(ALONE))
        await study.settle(4 * MINUTE)
        assert patient.seen == [("endpoint", "run")]
        await study.settle(30 * MINUTE)
    assert patient.seen == [("endpoint", "run"), ("endpoint", "due"), ("endpoint", "due")]
    assert other.seen == [("endpoint", "run")]
    assert await study.analyses() == []


async def test_a_look_at_an_endpoint_that_is_gone_is_forgotten() -> None:
    async def again(_: Briefing, __: CallTool) -> PlannerResult:
        return PlannerResult(look_again_ms=MINUTE)

    study, planner = Study(), Scripted(again)
    await study.corridor.add(in_ms=ALONE)
    async with study.watched_by(planner):
        await study.run()
        await study.corridor.change(archived=True)
        await study.settle(20 * MINUTE)
    far = study.corridor.at(ALONE * 24)
    assert len(planner.told) == 1
    assert await study.store.port.analyses.due_analyses(far, again_at=far, limit=10) == []


async def test_runs_that_end_while_planners_are_busy_are_thought_about_once_with_the_newest() -> None:
    free = asyncio.Event()

    async def slowly(_: Briefing, __: CallTool) -> PlannerResult:
        await free.wait()
        return PlannerResult("done")

    study, planner = Study(), Scripted(slowly)
    await study.corridor.add(in_ms=ALONE)
    async with study.watched_by(planner):
        for number in range(4):
            await study.run(response=number)
        free.set()
        await study.settle()
    assert [briefing.recent[0].response for briefing in planner.told] == [0, 3]
    assert planner.most_at_once == 1


async def test_a_slow_planner_has_its_own_panel_and_keeps_nobody_waiting() -> None:
    async def never(_: Briefing, __: CallTool) -> PlannerResult:
        await asyncio.Event().wait()
        raise AssertionError

    study, slow, quick = Study(), Scripted(never, name="slow"), Scripted(name="quick")
    await study.corridor.add(in_ms=ALONE)
    async with study.working(study.analyst([quick], [slow])):
        for _ in range(3):
            await study.run()
    assert len(quick.told) == 3
    assert len(slow.told) == 1


async def test_skipped_and_cancelled_runs_are_no_news() -> None:
    study, planner = Study(), Scripted()
    await study.corridor.add()
    study.corridor.quota.close(study.corridor.at(ALONE))
    async with study.watched_by(planner):
        await study.corridor.tick()
        await study.settle()
    assert len(await study.corridor.runs()) == 1
    assert planner.seen == []


async def test_a_restarted_analyst_goes_on_where_the_last_one_was() -> None:
    study, planner = Study(), Scripted()
    await study.corridor.add(in_ms=ALONE)
    async with study.watched_by(planner):
        await study.run(response="seen")
        await study.settle(20_000)
    await study.run(response="missed")
    async with study.watched_by(planner):
        await study.settle()
    assert [briefing.recent[0].response for briefing in planner.told] == ["seen", "missed"]


async def test_after_an_hour_history_is_not_replayed() -> None:
    study, planner = Study(), Scripted()
    await study.corridor.add(in_ms=ALONE)
    async with study.watched_by(planner):
        await study.settle(20_000)
    await study.run()
    study.clock.jump(61 * MINUTE)
    async with study.watched_by(planner):
        await study.settle()
    assert planner.seen == []


async def test_the_kept_mark_waits_for_what_is_still_being_thought_about() -> None:
    """Who is killed between a hint and its record finds the run again, and thinks once more."""

    async def never(briefing: Briefing, call: CallTool) -> PlannerResult:
        await call(briefing.endpoint, "propose_interval", {"intervalMs": 30_000})
        await asyncio.Event().wait()
        raise AssertionError

    study, killed, next_one = Study(), Scripted(never), Scripted()
    await study.corridor.add(in_ms=ALONE)
    async with study.watched_by(killed):
        await study.run()
        await study.settle(MINUTE)
    hinted = await study.corridor.endpoint()
    assert hinted.interval_hint is not None
    assert await study.analyses() == []
    async with study.watched_by(next_one):
        await study.settle()
    assert next_one.seen == [("endpoint", "run")]


async def test_an_idle_analyst_keeps_its_mark_young() -> None:
    study = Study()
    async with study.watched_by(Scripted()):
        await study.settle()
        first = (await study.store.port.analyses.notes(NOTES_OF, [PLACE]))[PLACE]
        await study.settle(16 * MINUTE)
        second = (await study.store.port.analyses.notes(NOTES_OF, [PLACE]))[PLACE]
    assert first["mark"] == second["mark"]
    assert first["at"] < second["at"]


async def test_many_tenants_take_turns() -> None:
    study, planner = Study(concurrency=1), Scripted()
    for number in range(6):
        await study.corridor.add(f"large-{number}", tenant_id="large")
    await study.corridor.add("small", tenant_id="small")
    async with study.watched_by(planner):
        await study.corridor.tick()
        await study.settle()
    order = [briefing.endpoint.tenant_id for briefing in planner.told if briefing.trigger is Trigger.RUN]
    assert order.index("small") <= 1
    assert len(order) == 7


async def test_no_more_endpoints_are_thought_about_at_a_time_than_settings_allow() -> None:
    async def yields(_: Briefing, __: CallTool) -> PlannerResult:
        await study.clock.sleep(100)
        return PlannerResult()

    study = Study(concurrency=3)
    planner = Scripted(yields)
    for number in range(9):
        await study.corridor.add(f"endpoint-{number}", job_id=f"job-{number}")
    async with study.watched_by(planner):
        await study.corridor.tick()
        await study.settle()
    assert len(planner.told) == 9
    assert planner.most_at_once == 3


async def test_a_briefing_stays_within_its_budget() -> None:
    study, planner = Study(), Scripted()
    for number in range(60):
        await study.corridor.add(f"sibling-{number:02}", in_ms=ALONE)
    await study.corridor.add(in_ms=ALONE)
    async with study.watched_by(planner):
        for _ in range(30):
            await study.run(response="x" * 9_000)
    last = [briefing for briefing in planner.told if briefing.endpoint.id == "endpoint"][-1]
    assert len(last.siblings) == 50
    assert sum(len(str(run.response)) for run in last.recent) <= study.budget.response_bytes
    assert len(last.recent) == 7


async def test_the_store_may_go_away_and_come_back() -> None:
    study, planner = Study(), Scripted()
    await study.corridor.add(in_ms=ALONE)
    async with study.watched_by(planner):
        for method in ("ended_since", "with_siblings", "recent_runs", "due_analyses"):
            study.store.breaks(method, Unavailable("It is away."))
            await study.run(response=method)
            study.store.heals(method)
            await study.settle(10_000)
            assert planner.told[-1].recent[0].response == method
    assert "something is unavailable" in study.log.events("warning")


async def test_sittings_are_recorded_when_the_store_is_back() -> None:
    async def speaks(_: Briefing, __: CallTool) -> PlannerResult:
        return PlannerResult("something")

    study = Study()
    await study.corridor.add(in_ms=ALONE)
    async with study.watched_by(Scripted(speaks)):
        study.store.breaks("add_analyses", Unavailable("It is away."))
        await study.run()
        assert await study.analyses() == []
        study.store.heals("add_analyses")
        await study.settle(10_000)
    assert [one.reasoning for one in await study.analyses()] == ["something"]


async def test_a_run_that_is_fed_twice_is_thought_about_once() -> None:
    study, planner = Study(), Scripted()
    await study.corridor.add(in_ms=ALONE)
    feed = study.store.port.tables.feed
    async with study.watched_by(planner):
        await study.run()
        feed.append(feed[-1])
        await study.settle()
    assert len(feed) == 2
    assert planner.seen == [("endpoint", "run")]


async def test_how_far_behind_it_is_goes_to_telemetry() -> None:
    study = Study()
    await study.corridor.add(in_ms=ALONE)
    async with study.watched_by(Scripted()):
        await study.run()
    (event,) = [event for event in study.corridor.telemetry.events if event.name == "planner.feed.stop"]
    assert event.measurements["runs"] == 1
    assert 0 <= event.measurements["lag_ms"] <= 1_000
    assert event.metadata == {}
