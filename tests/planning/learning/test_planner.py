"""The planner that learns: when it acts, what it leaves alone, what it says, and what it remembers."""

import re
from datetime import timedelta
from typing import Any

import pytest
from tests.planning.learning.learning_fixtures import MINUTE_MS, ON, Table

from cadenza.adapters.planners.learning.cache import LearnedMemory, Memory, Scope
from cadenza.adapters.planners.learning.planner import LearnedPlanner
from cadenza.domain.errors import InvalidRequest, Unavailable
from cadenza.domain.planning.analysis import Trigger
from cadenza.domain.planning.planner_settings import Learning, Planning
from cadenza.domain.scheduling.baseline import Cron, Every, Once
from cadenza.domain.scheduling.endpoint import Endpoint, EndpointKey, evolve
from cadenza.domain.scheduling.hint import HintMode
from cadenza.domain.scheduling.policy import Guard
from cadenza.domain.scheduling.run import RunStatus
from cadenza.domain.scheduling.steer import Amended
from cadenza.ports.planning import EMPTY_RESULT
from cadenza.testing.clock import NEW_YEAR

NUMBERS = re.compile(r"\d+(?:\.\d+)?")


@pytest.fixture
def table() -> Table:
    return Table()


async def test_it_looks_more_often_where_more_changes(table: Table) -> None:
    await table.lay("busy", "calm")
    for number in range(120):
        table.clock.jump(MINUTE_MS)
        await table.look(number // 2, "busy")
        await table.look("the same", "calm")
    busy, calm = [(await table.at(name)).interval_hint for name in ("busy", "calm")]
    assert busy is not None
    assert calm is not None
    assert busy.interval_ms < MINUTE_MS < calm.interval_ms
    assert calm.interval_ms > 1.5 * busy.interval_ms


async def test_in_the_shadow_it_only_says_what_it_would_do_and_what_that_would_have_won(table: Table) -> None:
    await table.lay(planning=Planning())
    said = []
    for number in range(30):
        table.clock.jump(MINUTE_MS)
        said.append(await table.look(number))
    assert table.tools() == []
    assert (await table.at()).interval_hint is None
    told = [sitting for sitting in said if sitting.reasoning]
    assert len(told) == 3, "one in ten minutes"
    assert all(sitting.shadow for sitting in told)
    words = told[-1].reasoning
    assert "would look again after" in words
    assert "changes would have been seen after" in words
    assert "without learning they were after 30 s" in words
    assert len(NUMBERS.findall(words)) > 15


async def test_it_explains_what_it_does_in_numbers(table: Table) -> None:
    await table.lay()
    await table.live(40, every=4)
    (line, *_) = await table.store.hints(table.key())
    assert line.origin == "planner:learned"
    assert re.search(r"^[\d.e-]+ changes an hour are expected; a look is worth [\d.e-]+$", line.reason or "")
    said = []
    for number in range(30):
        table.clock.jump(MINUTE_MS)
        said.append(await table.look(("new", number)))
    sitting = [one for one in said if one.reasoning][-1]
    assert "± " in sitting.reasoning
    assert "the price of a look is" in sitting.reasoning
    assert "without signs" in sitting.reasoning
    assert not sitting.shadow


@pytest.mark.parametrize(
    "fields",
    [
        {"planning": Planning(learning=Learning.OFF)},
        {"baseline": Cron("0 9 * * *")},
        {"baseline": Once(NEW_YEAR + timedelta(days=2))},
    ],
    ids=["off", "cron", "once"],
)
async def test_it_leaves_alone_what_is_not_its_own(table: Table, fields: dict[str, Any]) -> None:
    await table.lay(**fields)
    assert await table.live(30, every=1) == EMPTY_RESULT
    assert table.tools() == []


@pytest.mark.parametrize("every", [1, 1_000])
async def test_it_stays_within_the_guard(table: Table, every: int) -> None:
    await table.lay(guard=Guard(55_000, 70_000))
    await table.live(60, every=every)
    intervals = [arguments["intervalMs"] for _, _, arguments in table.called]
    assert intervals
    assert all(55_000 <= interval <= 70_000 for interval in intervals)


async def test_a_baseline_of_months_is_not_too_long_for_its_hints(table: Table) -> None:
    months_ms = 60 * 24 * 60 * MINUTE_MS
    await table.lay(baseline=Every(months_ms))
    await table.live(20, every=1_000, gap_ms=months_ms)
    hint = (await table.at()).interval_hint
    assert hint is not None
    assert hint.interval_ms > months_ms / 2


async def test_where_a_hint_may_only_tighten_it_does_not_spend_what_it_cannot_save(table: Table) -> None:
    await table.lay(hint_mode=HintMode.TIGHTEN)
    await table.live(100, every=3)
    assert all(arguments["intervalMs"] <= MINUTE_MS for _, _, arguments in table.called)


async def test_a_hint_that_holds_is_not_written_again(table: Table) -> None:
    await table.lay()
    await table.live(200, every=1_000)
    table.tools()
    await table.live(20, every=1_000)
    assert len(table.tools()) <= 5


async def test_somebody_elses_hint_stands_and_its_author_is_judged(table: Table) -> None:
    await table.lay()
    await table.live(30, every=1_000)
    table.tools()
    for number in range(25):
        await table.steer("propose_interval", {"intervalMs": 30_000, "ttlMinutes": 2}, "planner:llm")
        for turn in range(2):
            table.clock.jump(30_000)
            await table.look(("news", number, turn))
        assert table.tools() == []
        table.clock.jump(15 * MINUTE_MS)
        for _ in range(8):
            table.clock.jump(MINUTE_MS)
            await table.look(("news", number, 1))
        table.tools()
    pool = table.planner._memory.pool(Scope("default", "on"))
    loud = pool.record("hint planner:llm")[-1]
    assert loud.came > 20
    assert loud.times > 3


async def test_it_knows_its_own_hint_again_after_a_restart(table: Table) -> None:
    await table.lay()
    await table.live(40, every=1)
    table.planner = LearnedPlanner(table.store)
    table.tools()
    await table.live(40, every=1_000)
    assert "propose_interval" in table.tools()
    assert (await table.at()).interval_hint is not None


async def test_what_was_learned_survives_a_restart(table: Table) -> None:
    await table.lay()
    await table.live(150, every=3)
    before = table.planner._memory.of(table.key()).known
    table.planner = LearnedPlanner(table.store)
    await table.live(1, every=1)
    after = table.planner._memory.of(table.key()).known
    assert after.tally.changes >= before.tally.changes - 1
    assert after.long_run.beats == pytest.approx(before.long_run.beats, rel=0.1)


async def test_a_crash_costs_nothing_that_recent_runs_can_tell(table: Table) -> None:
    await table.lay()
    await table.live(50, every=2)
    table.planner = LearnedPlanner(table.store)
    for number in range(10):
        table.clock.jump(MINUTE_MS)
        await table.run(("unseen", number))
    await table.think()
    memory = table.planner._memory.of(table.key())
    assert memory.known.at_s == table.clock.now().timestamp()
    assert memory.known.tally.changes == pytest.approx(24 + 10, abs=2)


async def test_a_run_that_is_told_twice_is_learned_from_once(table: Table) -> None:
    await table.lay()
    await table.live(10, every=2)
    before = table.planner._memory.of(table.key()).known
    await table.think()
    assert table.planner._memory.of(table.key()).known == before


async def test_a_siblings_change_brings_the_next_look_forward_once_that_was_right_often(table: Table) -> None:
    await table.lay("front", "back")
    for number in range(12):
        for _ in range(20):
            table.clock.jump(MINUTE_MS)
            await table.look(number, "back")
            await table.look(number, "front")
        table.clock.jump(MINUTE_MS // 4)
        await table.look(number + 1, "back")
        await table.think("front", Trigger.SIBLING)
        table.clock.jump(MINUTE_MS // 4)
        await table.look(number + 1, "front")
    for _ in range(20):
        table.clock.jump(MINUTE_MS)
        await table.look(12, "front")
    table.clock.jump(MINUTE_MS // 10)
    await table.look("news", "back")
    table.tools()
    await table.think("front", Trigger.SIBLING)
    assert table.tools() == ["propose_next_time"]
    next_run_at = (await table.at()).next_run_at
    assert next_run_at is not None
    assert next_run_at < table.clock.now() + timedelta(minutes=0.85)


async def test_it_does_not_take_the_place_of_a_one_shot(table: Table) -> None:
    await test_a_siblings_change_brings_the_next_look_forward_once_that_was_right_often(table)
    soon = table.clock.now() + timedelta(seconds=50)
    await table.steer("propose_next_time", {"nextRunAtIso": soon.isoformat()})
    table.clock.jump(1_000)
    await table.look("more news", "back")
    table.tools()
    await table.think("front", Trigger.SIBLING)
    assert table.tools() == []


async def test_nothing_is_done_about_a_paused_endpoint(table: Table) -> None:
    await table.lay()
    await table.live(20, every=1)
    until = table.clock.now() + timedelta(days=1)
    await table.steer("pause_until", {"untilIso": until.isoformat()})
    table.tools()
    await table.look("after all")
    assert table.tools() == []


async def test_while_it_is_down_its_recovery_is_what_counts(table: Table) -> None:
    await table.lay()
    sittings = []
    for _ in range(20):
        for _ in range(10):
            table.clock.jump(MINUTE_MS)
            await table.look("up")
        for _ in range(2):
            table.clock.jump(MINUTE_MS)
            sittings.append(await table.look("down", status=RunStatus.FAILURE))
    down = (await table.at()).interval_hint
    assert sittings[-1].reasoning == "" or "It recovers" in sittings[-1].reasoning
    for _ in range(12):
        table.clock.jump(MINUTE_MS)
        await table.look("up")
    up = (await table.at()).interval_hint
    assert down is not None
    assert up is not None
    assert down.interval_ms < up.interval_ms


@pytest.mark.parametrize(("runs_per_hour", "expected"), [(30.0, 2.0), (120.0, 0.5)])
async def test_a_budget_is_spent_whatever_the_baseline(
    table: Table, runs_per_hour: float, expected: float
) -> None:
    planning = Planning(learning=Learning.ON, runs_per_hour=runs_per_hour)
    await table.lay(planning=planning)
    gap, gaps = float(MINUTE_MS), []
    for number in range(400):
        table.clock.jump(gap)
        await table.look(number // 5)
        hint = (await table.at()).interval_hint
        gap = float(MINUTE_MS if hint is None else hint.interval_ms)
        gaps.append(gap)
    assert sum(gaps[100:]) / 300 == pytest.approx(expected * MINUTE_MS, rel=0.1)


@pytest.mark.parametrize("runs", [0, -1, float("nan"), float("inf"), True, "many"])
def test_a_budget_that_makes_no_sense_is_refused(runs: Any) -> None:
    with pytest.raises(InvalidRequest):
        Planning(runs_per_hour=runs)


async def test_another_baseline_is_learned_anew(table: Table) -> None:
    await table.lay()
    await table.live(50, every=2)
    assert table.planner._memory.of(table.key()).beat_s == 60
    await table.store.amend(table.key(), lambda old: _paced(old, 120_000))
    await table.live(1, every=1)
    memory = table.planner._memory.of(table.key())
    assert memory.beat_s == 120
    assert memory.known.tally.changes <= 11, "what its recent runs tell"


async def test_what_cannot_be_written_now_is_written_later(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    await table.lay()
    save_notes = table.store.save_notes

    async def down(*_: Any) -> None:
        raise Unavailable("The store is down.")

    monkeypatch.setattr(table.store, "save_notes", down)
    await table.live(20, every=2)
    assert await table.store.notes("learned", [table.key()]) == {}
    monkeypatch.setattr(table.store, "save_notes", save_notes)
    await table.live(2, every=2)
    note = (await table.store.notes("learned", [table.key()]))[table.key()]
    assert Memory.of(note).known.tally.changes > 8


async def test_what_is_at_hand_is_bounded_and_what_let_go_is_known_to_the_store(table: Table) -> None:
    memory, now = LearnedMemory(table.store, most=10), table.clock.now()
    for number in range(100):
        key = EndpointKey("default", f"endpoint-{number}")
        await memory.recall(key, Scope("default", "on"))
        memory.keep(key, Memory(beat_s=float(number)))
        now += timedelta(minutes=2)
        await memory.write(now)
    assert sum(memory.has(EndpointKey("default", f"endpoint-{number}")) for number in range(100)) <= 10
    first = EndpointKey("default", "endpoint-1")
    await memory.recall(first, Scope("default", "on"))
    assert memory.of(first).beat_s == 1.0


async def test_it_has_no_opinion_before_the_first_look(table: Table) -> None:
    await table.lay(planning=ON)
    assert await table.think() == EMPTY_RESULT
    assert await table.think(trigger=Trigger.SIBLING) == EMPTY_RESULT


def _paced(old: Endpoint, interval_ms: int) -> Amended:
    return Amended(evolve(old, baseline=Every(interval_ms)))
