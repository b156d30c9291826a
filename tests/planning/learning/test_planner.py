"""The planner that learns: when it acts, what it leaves alone, what it says, and what it remembers."""

import re
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests.planning.learning.learning_fixtures import MINUTE_MS, ON, LearningHarness

from cadenza.adapters.planners.learning.cache import LearnedState, LearningCache, LearningScope
from cadenza.adapters.planners.learning.planner import LearningPlanner
from cadenza.domain.errors import InvalidRequest, Unavailable
from cadenza.domain.planning.analysis import Trigger
from cadenza.domain.planning.learning.recent_rate import JobRate
from cadenza.domain.planning.planner_settings import Learning, Planning
from cadenza.domain.scheduling.baseline import Cron, Every, Once
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey, evolve
from cadenza.domain.scheduling.hint import HintMode
from cadenza.domain.scheduling.policy import Guard
from cadenza.domain.scheduling.run import RunStatus
from cadenza.domain.scheduling.steer import ChangedEndpoint
from cadenza.ports.planning import EMPTY_RESULT
from cadenza.testing.clock import NEW_YEAR

NUMBERS = re.compile(r"\d+(?:\.\d+)?")
PAYING_MS = MINUTE_MS * 11 // 10
"""Between runs that pay for others that came early."""


@pytest.fixture
def harness() -> LearningHarness:
    return LearningHarness()


async def test_it_looks_more_often_where_more_changes(harness: LearningHarness) -> None:
    await harness.add_endpoints("busy", "calm")
    for number in range(120):
        harness.clock.jump(MINUTE_MS)
        await harness.run_and_analyze(number // 2, "busy")
        await harness.run_and_analyze("the same", "calm")
    busy, calm = [(await harness.at(name)).interval_hint for name in ("busy", "calm")]
    assert busy is not None
    assert calm is not None
    assert busy.interval_ms < MINUTE_MS < calm.interval_ms
    assert calm.interval_ms > 1.1 * busy.interval_ms


async def test_in_the_shadow_it_only_says_what_it_would_do_and_what_that_would_have_won(
    harness: LearningHarness,
) -> None:
    await harness.add_endpoints(planning=Planning())
    said = []
    for number in range(30):
        harness.clock.jump(MINUTE_MS)
        said.append(await harness.run_and_analyze(number))
    assert harness.tools() == []
    assert (await harness.at()).interval_hint is None
    told = [result for result in said if result.reasoning]
    assert len(told) == 3, "one in ten minutes"
    assert all(result.shadow for result in told)
    words = told[-1].reasoning
    assert "would run again after" in words
    assert "changes would have been seen after" in words
    assert "without learning they were after 30 s" in words
    assert len(NUMBERS.findall(words)) > 15


async def test_it_explains_what_it_does_in_numbers(harness: LearningHarness) -> None:
    await harness.add_endpoints()
    await harness.run_repeatedly(40, every=4)
    (line, *_) = await harness.store.runs.hints(harness.key())
    assert line.origin == "planner:learned"
    assert re.search(
        r"^[\d.e-]+ changes an hour are expected; a run must be worth [\d.e-]+$", line.reason or ""
    )
    said = []
    for number in range(30):
        harness.clock.jump(MINUTE_MS)
        said.append(await harness.run_and_analyze(("new", number)))
    result = [one for one in said if one.reasoning][-1]
    assert "± " in result.reasoning
    assert "the price of a run is" in result.reasoning
    assert "without signals" in result.reasoning
    assert not result.shadow


@pytest.mark.parametrize(
    "fields",
    [
        {"planning": Planning(learning=Learning.OFF)},
        {"baseline": Cron("0 9 * * *")},
        {"baseline": Once(NEW_YEAR + timedelta(days=2))},
    ],
    ids=["off", "cron", "once"],
)
async def test_it_leaves_alone_what_is_not_its_own(harness: LearningHarness, fields: dict[str, Any]) -> None:
    await harness.add_endpoints(**fields)
    assert await harness.run_repeatedly(30, every=1) == EMPTY_RESULT
    assert harness.tools() == []


@pytest.mark.parametrize("every", [1, 1_000])
async def test_it_stays_within_the_guard(harness: LearningHarness, every: int) -> None:
    await harness.add_endpoints(guard=Guard(55_000, 70_000))
    await harness.run_repeatedly(60, every=every)
    intervals = [arguments["intervalMs"] for _, _, arguments in harness.called]
    assert intervals
    assert all(55_000 <= interval <= 70_000 for interval in intervals)


async def test_a_baseline_of_months_is_not_too_long_for_its_hints(harness: LearningHarness) -> None:
    months_ms = 60 * 24 * 60 * MINUTE_MS
    await harness.add_endpoints(baseline=Every(months_ms))
    await harness.run_repeatedly(20, every=1_000, gap_ms=months_ms)
    hint = (await harness.at()).interval_hint
    assert hint is not None
    assert hint.interval_ms > months_ms / 2


async def test_where_a_hint_may_only_tighten_it_does_not_spend_what_it_cannot_save(
    harness: LearningHarness,
) -> None:
    await harness.add_endpoints(hint_mode=HintMode.TIGHTEN)
    await harness.run_repeatedly(100, every=3)
    assert all(arguments["intervalMs"] <= MINUTE_MS for _, _, arguments in harness.called)


async def test_a_hint_that_holds_is_not_written_again(harness: LearningHarness) -> None:
    await harness.add_endpoints()
    await harness.run_repeatedly(200, every=1_000)
    harness.tools()
    await harness.run_repeatedly(20, every=1_000)
    assert len(harness.tools()) <= 5


async def test_somebody_elses_hint_stands_and_its_author_is_judged(harness: LearningHarness) -> None:
    await harness.add_endpoints(planning=replace(ON, llm=True))
    await harness.run_repeatedly(30, every=1_000)
    harness.tools()
    for number in range(25):
        await harness.steer("propose_interval", {"intervalMs": 30_000, "ttlMinutes": 2}, "planner:llm")
        for turn in range(2):
            harness.clock.jump(30_000)
            await harness.run_and_analyze(("news", number, turn))
        assert harness.tools() == []
        harness.clock.jump(15 * MINUTE_MS)
        for _ in range(8):
            harness.clock.jump(MINUTE_MS)
            await harness.run_and_analyze(("news", number, 1))
        harness.tools()
    shared = harness.planner._cache.shared(LearningScope("default", "on", "default"))
    loud = shared.record("hint llm")[-1]
    assert loud.changes > 20
    assert loud.rate_ratio > 3


async def test_it_knows_its_own_hint_again_after_a_restart(harness: LearningHarness) -> None:
    await harness.add_endpoints()
    await harness.run_repeatedly(40, every=1)
    harness.planner = LearningPlanner(harness.store)
    harness.tools()
    await harness.run_repeatedly(40, every=1_000)
    assert "propose_interval" in harness.tools()
    assert (await harness.at()).interval_hint is not None


async def test_what_was_learned_survives_a_restart(harness: LearningHarness) -> None:
    await harness.add_endpoints()
    await harness.run_repeatedly(150, every=3)
    before = harness.planner._cache.get(harness.key()).model
    harness.planner = LearningPlanner(harness.store)
    await harness.run_repeatedly(1, every=1)
    after = harness.planner._cache.get(harness.key()).model
    assert after.gains.changes >= before.gains.changes - 1
    assert after.long_run.periods == pytest.approx(before.long_run.periods, rel=0.1)


async def test_a_crash_costs_nothing_that_recent_runs_can_tell(harness: LearningHarness) -> None:
    await harness.add_endpoints()
    await harness.run_repeatedly(50, every=2)
    harness.planner = LearningPlanner(harness.store)
    for number in range(10):
        harness.clock.jump(MINUTE_MS)
        await harness.run(("unseen", number))
    await harness.analyze()
    state = harness.planner._cache.get(harness.key())
    assert state.model.at_s == harness.clock.now().timestamp()
    assert state.model.gains.changes == pytest.approx(24 + 10, abs=2)


async def test_a_run_that_is_told_twice_is_learned_from_once(harness: LearningHarness) -> None:
    await harness.add_endpoints()
    await harness.run_repeatedly(10, every=2)
    before = harness.planner._cache.get(harness.key()).model
    await harness.analyze()
    assert harness.planner._cache.get(harness.key()).model == before


async def test_a_siblings_change_brings_the_next_run_forward_once_that_was_right_often(
    harness: LearningHarness,
) -> None:
    await harness.add_endpoints("front", "back")
    for number in range(12):
        for _ in range(20):
            harness.clock.jump(PAYING_MS)
            await harness.run_and_analyze(number, "back")
            await harness.run_and_analyze(number, "front")
        harness.clock.jump(MINUTE_MS // 4)
        await harness.run_and_analyze(number + 1, "back")
        await harness.analyze("front", Trigger.SIBLING)
        harness.clock.jump(MINUTE_MS // 4)
        await harness.run_and_analyze(number + 1, "front")
    for _ in range(20):
        harness.clock.jump(MINUTE_MS)
        await harness.run_and_analyze(12, "front")
    harness.clock.jump(MINUTE_MS // 10)
    await harness.run_and_analyze("news", "back")
    harness.tools()
    await harness.analyze("front", Trigger.SIBLING)
    assert harness.tools() == ["propose_next_time"]
    next_run_at = (await harness.at()).next_run_at
    assert next_run_at is not None
    assert next_run_at < harness.clock.now() + timedelta(minutes=0.85)


async def test_it_does_not_take_the_place_of_a_one_shot(harness: LearningHarness) -> None:
    await test_a_siblings_change_brings_the_next_run_forward_once_that_was_right_often(harness)
    soon = harness.clock.now() + timedelta(seconds=50)
    await harness.steer("propose_next_time", {"nextRunAtIso": soon.isoformat()})
    harness.clock.jump(1_000)
    await harness.run_and_analyze("more news", "back")
    harness.tools()
    await harness.analyze("front", Trigger.SIBLING)
    assert harness.tools() == []


async def test_nothing_is_done_about_a_paused_endpoint(harness: LearningHarness) -> None:
    await harness.add_endpoints()
    await harness.run_repeatedly(20, every=1)
    until = harness.clock.now() + timedelta(days=1)
    await harness.steer("pause_until", {"untilIso": until.isoformat()})
    harness.tools()
    await harness.run_and_analyze("after all")
    assert harness.tools() == []


async def test_while_it_is_down_its_recovery_is_what_counts(harness: LearningHarness) -> None:
    await harness.add_endpoints()
    results = []
    for _ in range(20):
        for _ in range(10):
            harness.clock.jump(MINUTE_MS)
            await harness.run_and_analyze("up")
        for _ in range(2):
            harness.clock.jump(MINUTE_MS)
            results.append(await harness.run_and_analyze("down", status=RunStatus.FAILURE))
    down = (await harness.at()).interval_hint
    assert results[-1].reasoning == "" or "It recovers" in results[-1].reasoning
    for _ in range(12):
        harness.clock.jump(MINUTE_MS)
        await harness.run_and_analyze("up")
    up = (await harness.at()).interval_hint
    assert down is not None
    assert up is not None
    assert down.interval_ms < up.interval_ms


@pytest.mark.parametrize(("runs_per_hour", "expected"), [(30.0, 2.0), (120.0, 0.5)])
async def test_a_budget_is_spent_whatever_the_baseline(
    harness: LearningHarness, runs_per_hour: float, expected: float
) -> None:
    planning = Planning(learning=Learning.ON, runs_per_hour=runs_per_hour)
    await harness.add_endpoints(planning=planning)
    gap, gaps = float(MINUTE_MS), []
    for number in range(400):
        harness.clock.jump(gap)
        await harness.run_and_analyze(number // 5)
        hint = (await harness.at()).interval_hint
        gap = float(MINUTE_MS if hint is None else hint.interval_ms)
        gaps.append(gap)
    assert sum(gaps[100:]) / 300 == pytest.approx(expected * MINUTE_MS, rel=0.1)


@pytest.mark.parametrize("runs", [0, -1, float("nan"), float("inf"), True, "many"])
def test_a_budget_that_makes_no_sense_is_refused(runs: Any) -> None:
    with pytest.raises(InvalidRequest):
        Planning(runs_per_hour=runs)


async def test_another_baseline_is_learned_anew(harness: LearningHarness) -> None:
    await harness.add_endpoints()
    await harness.run_repeatedly(50, every=2)
    assert harness.planner._cache.get(harness.key()).period_s == 60
    await harness.store.endpoints.amend(harness.key(), lambda old: _paced(old, 120_000))
    await harness.run_repeatedly(1, every=1)
    state = harness.planner._cache.get(harness.key())
    assert state.period_s == 120
    assert state.model.gains.changes <= 11, "what its recent runs tell"


async def test_what_cannot_be_written_now_is_written_later(
    harness: LearningHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    await harness.add_endpoints()
    save_notes = harness.store.analyses.save_notes

    async def down(*_: Any) -> None:
        raise Unavailable("The store is down.")

    monkeypatch.setattr(harness.store.analyses, "save_notes", down)
    await harness.run_repeatedly(20, every=2)
    assert await harness.store.analyses.notes("learned", [harness.key()]) == {}
    monkeypatch.setattr(harness.store.analyses, "save_notes", save_notes)
    await harness.run_repeatedly(2, every=2)
    note = (await harness.store.analyses.notes("learned", [harness.key()]))[harness.key()]
    assert LearnedState.from_note(note).model.gains.changes > 8


async def test_what_is_at_hand_is_bounded_and_what_let_go_is_known_to_the_store(
    harness: LearningHarness,
) -> None:
    state, now = LearningCache(harness.store.analyses, most=10), harness.clock.now()
    for number in range(100):
        key = EndpointKey("default", f"endpoint-{number}")
        await state.load(key, LearningScope("default", "on", "default"))
        state.put(key, LearnedState(period_s=float(number)))
        now += timedelta(minutes=2)
        await state.save(now)
    assert sum(state.has(EndpointKey("default", f"endpoint-{number}")) for number in range(100)) <= 10
    first = EndpointKey("default", "endpoint-1")
    await state.load(first, LearningScope("default", "on", "default"))
    assert state.get(first).period_s == 1.0


async def test_it_has_no_opinion_before_the_first_look(harness: LearningHarness) -> None:
    await harness.add_endpoints(planning=ON)
    assert await harness.analyze() == EMPTY_RESULT
    assert await harness.analyze(trigger=Trigger.SIBLING) == EMPTY_RESULT


def _paced(old: Endpoint, interval_ms: int) -> ChangedEndpoint:
    return ChangedEndpoint(evolve(old, baseline=Every(interval_ms)))


async def test_a_job_is_followed_as_a_whole_also_after_a_restart(harness: LearningHarness) -> None:
    await harness.add_endpoints("front", "back")
    scope = LearningScope("default", "on", "default")
    for number in range(20):
        harness.clock.jump(MINUTE_MS)
        for name in ("front", "back"):
            await harness.run_and_analyze(number // 4, name)
    before = harness.planner._cache.shared(scope).job
    harness.clock.jump(5 * MINUTE_MS)
    await harness.run_and_analyze(19 // 4, "back")
    job = harness.planner._cache.shared(scope).job
    assert job.at_s == harness.clock.now().timestamp()
    shares = harness.planner._cache.shared(scope).population.shares
    assert job.mean(shares, job.at_s, period_s=60.0) < before.mean(shares, before.at_s, period_s=60.0), (
        "a run without a change lowers it"
    )
    harness.planner = LearningPlanner(harness.store)
    await harness.planner._cache.load(harness.key("front"), scope)
    restored = harness.planner._cache.shared(scope).job
    assert restored.support == pytest.approx(job.support)
    assert restored.at_s == job.at_s
    await harness.planner._cache.load(harness.key("front"), LearningScope("default", "on", "other"))
    assert harness.planner._cache.shared(LearningScope("default", "on", "other")).job == JobRate()
