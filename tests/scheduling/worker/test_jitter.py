"""Jitter: a stable delay for each endpoint, and none where a moment was asked for."""

from datetime import timedelta
from typing import Any

import pytest
from tests.scheduling.worker.running_worker import RunningWorker, on_manual_clock
from tests.scheduling.worker.worker_fixtures import MINUTE, WorkerFixture

from cadenza.domain.scheduling.baseline import Cron, Every, Once
from cadenza.domain.scheduling.hint import IntervalHint, OneShotHint
from cadenza.domain.scheduling.nudge import spread
from cadenza.domain.scheduling.plan import Source
from cadenza.testing.clock import NEW_YEAR

JITTER = 3_000
NAMES = [f"endpoint-{number}" for number in range(20)]
BY_CRON: dict[str, Any] = {"baseline": Cron("0 0 * * *"), "next_source": Source.BASELINE_CRON}


async def add_planned(fixture: WorkerFixture, name: str, **fields: Any) -> None:
    """Store an endpoint as it was planned: with its offset, where its plan has one."""
    planned = spread(await fixture.add(name, **fields), JITTER)
    await fixture.change(name, next_run_at=planned.next_run_at)


async def endpoints_due_together(fixture: WorkerFixture, **fields: Any) -> dict[str, list[float]]:
    """Twenty endpoints that would start together, and the moments at which they are dispatched."""
    for name in NAMES:
        await add_planned(fixture, name, **fields)
    return {name: fixture.moments(name) for name in NAMES}


async def starts(fixture: WorkerFixture, **fields: Any) -> list[float]:
    """When each of them is first dispatched."""
    seen = await endpoints_due_together(fixture, **fields)
    async with RunningWorker(fixture, jitter_ms=JITTER):
        await fixture.clock.advance(2 * JITTER)
    return [seen[name][0] for name in NAMES]


async def test_cron_lines_that_fire_together_are_spread() -> None:
    moments = await starts(on_manual_clock(), **BY_CRON)
    assert len(set(moments)) > 15
    assert 0 <= min(moments) < 1_000
    assert 2_000 < max(moments) <= JITTER


async def test_a_wakeup_cuts_no_delay_short() -> None:
    fixture = on_manual_clock()
    seen = await endpoints_due_together(fixture, **BY_CRON)
    async with RunningWorker(fixture, jitter_ms=JITTER):
        for number in range(10):
            await fixture.add(f"other-{number}", in_ms=MINUTE)
            await fixture.clock.advance(JITTER / 10)
    assert [seen[name][0] for name in NAMES] == await starts(on_manual_clock(), **BY_CRON)


async def test_the_delay_of_an_endpoint_is_always_the_same() -> None:
    assert await starts(on_manual_clock(), **BY_CRON) == await starts(on_manual_clock(), **BY_CRON)


async def test_without_jitter_everything_starts_at_its_moment() -> None:
    fixture = on_manual_clock()
    seen = await endpoints_due_together(fixture, **BY_CRON)
    async with RunningWorker(fixture):
        await fixture.clock.advance(JITTER)
    assert {moments[0] for moments in seen.values()} == {0}


@pytest.mark.parametrize("claim_ahead_ms", [0, 500, MINUTE])
async def test_claiming_ahead_changes_no_delay(claim_ahead_ms: int) -> None:
    late = await starts(on_manual_clock(claim_ahead_ms=claim_ahead_ms), in_ms=2_000, **BY_CRON)
    assert late == pytest.approx([2_000 + moment for moment in await starts(on_manual_clock(), **BY_CRON)])


async def test_an_interval_is_spread_on_its_first_run_by_at_most_a_tenth() -> None:
    every: dict[str, Any] = {"baseline": Every(10_000), "next_source": Source.BASELINE_INTERVAL}
    moments = await starts(on_manual_clock(), **every)
    assert len(set(moments)) > 15
    assert max(moments) <= 1_000


async def test_an_interval_keeps_its_pace_after_its_first_run() -> None:
    fixture = on_manual_clock()
    seen = await endpoints_due_together(fixture, baseline=Every(10_000), next_source=Source.BASELINE_INTERVAL)
    async with RunningWorker(fixture, jitter_ms=JITTER):
        await fixture.clock.advance(MINUTE)
    for moments in seen.values():
        assert moments == [moments[0] + 10_000 * number for number in range(len(moments))]


async def test_after_downtime_endpoints_are_spread_from_now_on() -> None:
    fixture = on_manual_clock()
    seen = await endpoints_due_together(
        fixture, baseline=Every(60 * MINUTE), next_source=Source.BASELINE_INTERVAL
    )
    fixture.clock.jump(30 * MINUTE)
    async with RunningWorker(fixture, jitter_ms=MINUTE, poll_ms=10 * MINUTE):
        await fixture.clock.advance(MINUTE)
    assert len({moments[0] for moments in seen.values()}) > 15


@pytest.mark.parametrize(
    "fields",
    [
        {"next_source": Source.AI_ONESHOT},
        {"next_source": Source.MANUAL},
        {"baseline": Cron("0 0 * * *"), "next_source": Source.AI_INTERVAL},
        {"baseline": Once(NEW_YEAR), "next_source": Source.BASELINE_ONCE},
    ],
)
async def test_what_was_asked_for_at_a_moment_is_not_delayed(fields: dict[str, Any]) -> None:
    assert set(await starts(on_manual_clock(), **fields)) == {0}


HERD = [f"herd-{number}" for number in range(300)]
TOGETHER: dict[str, dict[str, Any]] = {
    "started at once": {"next_source": Source.FIRST},
    "resumed together": {"next_source": Source.RESUME, "last_run_at": NEW_YEAR - timedelta(hours=3)},
    "a pause lapses": {"next_source": Source.PAUSED, "last_run_at": NEW_YEAR - timedelta(hours=3)},
    "a quota opens": {"next_source": Source.QUOTA, "last_run_at": NEW_YEAR - timedelta(hours=3)},
    "cron lines, started at once": {"next_source": Source.FIRST, "baseline": Cron("0 0 * * *")},
    "cron lines, resumed together": {"next_source": Source.RESUME, "baseline": Cron("0 0 * * *")},
    "cron lines after a pause": {"next_source": Source.PAUSED, "baseline": Cron("0 0 * * *")},
}


@pytest.mark.parametrize("case", TOGETHER)
async def test_three_hundred_endpoints_that_would_start_together_get_distinct_offsets(case: str) -> None:
    fixture = on_manual_clock(claim_limit=300, concurrency=400)
    for name in HERD:
        await add_planned(fixture, name, **({"baseline": Every(10 * MINUTE)} | TOGETHER[case]))
    seen = {name: fixture.moments(name) for name in HERD}
    async with RunningWorker(fixture, jitter_ms=JITTER):
        await fixture.clock.advance(JITTER)
    moments = [seen[name][0] for name in HERD]
    assert len(set(moments)) == len(HERD)
    assert 0 <= min(moments) < 300
    assert JITTER - 300 < max(moments) <= JITTER


@pytest.mark.parametrize("case", [*TOGETHER, "cron lines"])
async def test_what_starts_after_its_delay_is_not_late(case: str) -> None:
    fixture = on_manual_clock()
    fields = BY_CRON if case == "cron lines" else {"baseline": Every(10 * MINUTE)} | TOGETHER[case]
    await endpoints_due_together(fixture, **fields)
    async with RunningWorker(fixture, jitter_ms=JITTER):
        await fixture.clock.advance(JITTER)
    runs = [await fixture.only_run(name) for name in NAMES]
    assert [run.late_ms for run in runs if run.late_ms > 1] == []
    assert len({run.started_at for run in runs}) > 15


async def test_what_could_not_start_at_its_moment_is_late_by_the_rest() -> None:
    fixture = on_manual_clock()
    await endpoints_due_together(fixture, **BY_CRON)
    fixture.clock.jump(2 * JITTER)
    async with RunningWorker(fixture, jitter_ms=JITTER):
        await fixture.clock.advance(JITTER)
    assert {(await fixture.only_run(name)).late_ms for name in NAMES} == {2 * JITTER}


@pytest.mark.parametrize("calls", [["pause_until"], ["pause_until", "resume"]])
async def test_the_moment_that_is_stored_is_the_moment_of_the_start(calls: list[str]) -> None:
    fixture = on_manual_clock(jitter_ms=JITTER)
    await endpoints_due_together(fixture, in_ms=MINUTE, baseline=Every(10 * MINUTE))
    for name in NAMES:
        for call in calls:
            until = "2025-01-01T00:05:00Z" if call == "pause_until" else None
            await fixture.tool("pause_until", name, untilIso=until)
    stored = [(await fixture.endpoint(name)).next_run_at for name in NAMES]
    assert len(set(stored)) > 15
    async with RunningWorker(fixture, jitter_ms=JITTER):
        await fixture.clock.advance(11 * MINUTE)
    runs = [(await fixture.runs(name))[0] for name in NAMES]
    assert [run.slot for run in runs] == stored
    assert {run.late_ms for run in runs} == {0}


async def test_a_pause_that_began_during_a_run_is_spread_where_it_ends() -> None:
    fixture = on_manual_clock()
    ends = NEW_YEAR + timedelta(minutes=1)
    fields: dict[str, Any] = {"next_run_at": ends, "next_source": Source.PAUSED, "paused_until": ends}
    for name in NAMES:
        await fixture.add(name, baseline=Every(10 * MINUTE), last_run_at=NEW_YEAR, **fields)
    seen = {name: fixture.moments(name) for name in NAMES}
    async with RunningWorker(fixture, jitter_ms=JITTER):
        await fixture.clock.advance(MINUTE + JITTER)
    assert len({moments[0] for moments in seen.values()}) > 15
    assert {(await fixture.only_run(name)).late_ms for name in NAMES} == {0}


@pytest.mark.parametrize("interval_ms", [1_000, 10_000])
async def test_what_is_resumed_is_spread_by_at_most_a_tenth_of_its_interval_and_only_once(
    interval_ms: int,
) -> None:
    fixture = on_manual_clock(jitter_ms=JITTER)
    until = "2025-01-01T00:05:00Z"
    seen = await endpoints_due_together(fixture, in_ms=10 * MINUTE, baseline=Every(interval_ms))
    async with RunningWorker(fixture, jitter_ms=JITTER):
        for name in NAMES:
            await fixture.tool("pause_until", name, untilIso=until)
        await fixture.clock.advance(5 * MINUTE + 3.5 * interval_ms)
    offsets = {moments[0] - 5 * MINUTE for moments in seen.values()}
    assert len(offsets) > 15
    assert 0 <= min(offsets) < max(offsets) <= interval_ms / 10
    for moments in seen.values():
        assert moments == pytest.approx([moments[0] + interval_ms * number for number in range(len(moments))])


async def test_a_hint_that_sets_a_faster_pace_bounds_the_delay() -> None:
    hint = IntervalHint(1_000, NEW_YEAR + timedelta(hours=1))
    fields: dict[str, Any] = {"baseline": Every(10 * MINUTE), "interval_hint": hint}
    assert max(await starts(on_manual_clock(), next_source=Source.RESUME, **fields)) <= 100


async def test_after_downtime_hinted_endpoints_are_spread_too() -> None:
    fixture = on_manual_clock()
    hint = IntervalHint(10 * MINUTE, NEW_YEAR + timedelta(hours=2))
    seen = await endpoints_due_together(
        fixture, interval_hint=hint, next_source=Source.AI_INTERVAL, last_run_at=NEW_YEAR - timedelta(hours=1)
    )
    fixture.clock.jump(30 * MINUTE)
    async with RunningWorker(fixture, jitter_ms=JITTER):
        await fixture.clock.advance(JITTER)
    assert len({moments[0] for moments in seen.values()}) > 15


async def test_a_one_shot_that_a_resume_found_is_served_at_its_moment() -> None:
    hint = OneShotHint(NEW_YEAR, NEW_YEAR + timedelta(hours=1))
    moments = await starts(on_manual_clock(), one_shot_hint=hint, next_source=Source.RESUME)
    assert set(moments) == {0}


async def test_what_is_nudged_while_its_delay_lasts_starts_when_it_is_told() -> None:
    fixture = on_manual_clock()
    seen = await endpoints_due_together(fixture, in_ms=1_000, **BY_CRON)
    async with RunningWorker(fixture, jitter_ms=JITTER):
        for name in NAMES:
            await fixture.tool("propose_next_time", name, nextRunInMs=500)
        await fixture.clock.advance(500)
    assert {moments[0] for moments in seen.values()} == {500}


async def test_what_is_paused_while_its_delay_lasts_has_not_run() -> None:
    fixture = on_manual_clock()
    await endpoints_due_together(fixture, **BY_CRON)
    async with RunningWorker(fixture, jitter_ms=JITTER, poll_ms=MINUTE):
        for name in NAMES:
            await fixture.tool("pause_until", name, untilIso="2025-01-02T12:00:00Z")
        await fixture.clock.advance(0)
    assert fixture.dispatcher.executed == []
    for name in NAMES:
        endpoint, run = await fixture.endpoint(name), (await fixture.runs(name))[0]
        assert (run.status, run.started_at, endpoint.last_run_at) == ("cancelled", None, None)


async def test_what_is_given_back_while_its_delay_lasts_has_not_run() -> None:
    fixture = on_manual_clock()
    await endpoints_due_together(fixture, **BY_CRON)
    async with RunningWorker(fixture, jitter_ms=JITTER):
        pass
    for name in NAMES:
        endpoint, run = await fixture.endpoint(name), await fixture.only_run(name)
        assert (run.status, run.started_at, run.verdict) == ("cancelled", None, False)
        assert (endpoint.last_run_at, endpoint.next_run_at) == (None, NEW_YEAR)
