"""What the three tools do: hint and nudge in one commit, each hint with its own expiry and reason."""

from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.scheduling.worker.worker_fixtures import MINUTE, WorkerFixture

from cadenza.domain.scheduling.hint import HintKind, Rank
from cadenza.domain.scheduling.policy import Guard
from cadenza.engine.steering import call_tool
from cadenza.engine.steering_commands import ProposeIntervalArguments
from cadenza.ports.planning import Briefing
from cadenza.testing import RuleBasedPlanner
from cadenza.testing.clock import NEW_YEAR
from cadenza.testing.fakes import PlannerRule


def after(**span: float) -> datetime:
    return NEW_YEAR + timedelta(**span)


async def a_fixture(**fields: Any) -> WorkerFixture:
    fixture = WorkerFixture()
    await fixture.add(**({"in_ms": 60 * MINUTE} | fields))
    return fixture


async def test_an_interval_lasts_an_hour_unless_told_otherwise() -> None:
    fixture = await a_fixture()
    await fixture.tool("propose_interval", intervalMs=5_000)
    hint = (await fixture.endpoint()).interval_hint
    assert hint is not None
    assert (hint.interval_ms, hint.expires_at, hint.reason) == (5_000, after(hours=1), None)


@pytest.mark.parametrize("ttl", [1, 0.5, 90, 527_040])
async def test_an_interval_lasts_as_long_as_it_is_told(ttl: float) -> None:
    fixture = await a_fixture()
    await fixture.tool("propose_interval", intervalMs=5_000, ttlMinutes=ttl, reason="surge")
    hint = (await fixture.endpoint()).interval_hint
    assert hint is not None
    assert (hint.expires_at, hint.reason) == (after(minutes=ttl), "surge")


@pytest.mark.parametrize("span_ms", [0, 1, 10 * MINUTE, 30 * MINUTE, 24 * 60 * MINUTE])
async def test_a_one_shot_lasts_until_half_an_hour_after_its_moment(span_ms: int) -> None:
    fixture = await a_fixture()
    await fixture.tool("propose_next_time", nextRunInMs=span_ms)
    hint = (await fixture.endpoint()).one_shot_hint
    assert hint is not None
    assert hint.at == after(milliseconds=span_ms)
    assert hint.expires_at == after(milliseconds=span_ms, minutes=30)


async def test_an_explicit_ttl_of_a_one_shot_counts_from_now() -> None:
    fixture = await a_fixture()
    await fixture.tool("propose_next_time", nextRunInMs=10 * MINUTE, ttlMinutes=10.01)
    hint = (await fixture.endpoint()).one_shot_hint
    assert hint is not None
    assert hint.expires_at == after(minutes=10.01)


async def test_a_moment_may_be_given_in_any_zone() -> None:
    fixture = await a_fixture()
    amended = await fixture.tool("propose_next_time", nextRunAtIso="2025-01-01T01:10:00+01:00")
    assert amended.endpoint.next_run_at == after(minutes=10)


async def test_an_interval_brings_the_next_run_forward() -> None:
    fixture = await a_fixture()
    amended = await fixture.tool("propose_interval", intervalMs=5_000)
    assert (amended.endpoint.next_run_at, amended.endpoint.next_source) == (after(seconds=5), "ai-interval")
    assert amended.endpoint == await fixture.endpoint()


async def test_an_interval_that_relaxes_moves_the_next_run_later() -> None:
    fixture = await a_fixture(in_ms=MINUTE, last_run_at=NEW_YEAR)
    amended = await fixture.tool("propose_interval", intervalMs=10 * MINUTE)
    assert amended.endpoint.next_run_at == after(minutes=10)


async def test_the_guard_bounds_a_nudge() -> None:
    fixture = await a_fixture(guard=Guard(min_interval_ms=30_000))
    amended = await fixture.tool("propose_next_time", nextRunInMs=0)
    assert (amended.endpoint.next_run_at, amended.endpoint.next_source) == (after(seconds=30), "clamped-min")


async def test_writing_one_hint_leaves_the_other_alone() -> None:
    fixture = await a_fixture()
    await fixture.tool("propose_interval", intervalMs=5_000, ttlMinutes=5, reason="surge")
    before = (await fixture.endpoint()).interval_hint
    await fixture.tool("propose_next_time", nextRunInMs=1_000, reason="look")
    stored = await fixture.endpoint()
    assert stored.interval_hint == before
    assert stored.one_shot_hint is not None
    assert stored.one_shot_hint.reason == "look"


async def test_a_pause_closes_the_gate_and_null_opens_it() -> None:
    fixture = await a_fixture()
    await fixture.tool("pause_until", untilIso="2025-01-02T00:00:00Z", reason="maintenance")
    paused = await fixture.endpoint()
    assert (paused.paused_until, paused.pause_reason) == (after(days=1), "maintenance")
    assert (paused.next_run_at, paused.next_source) == (after(days=1), "paused")
    await fixture.tool("pause_until", untilIso=None)
    resumed = await fixture.endpoint()
    assert (resumed.paused_until, resumed.pause_reason) == (None, None)
    assert (resumed.next_run_at, resumed.next_source) == (after(minutes=1), "resume")


async def test_every_call_is_remembered_with_its_origin_and_reason() -> None:
    fixture = await a_fixture()
    await fixture.tool("propose_interval", intervalMs=5_000, reason="surge")
    await fixture.tool("propose_next_time", nextRunInMs=0, reason=None)
    await fixture.tool("pause_until", untilIso="2025-01-02T00:00:00Z", reason="x" * 2_000)
    await fixture.tool("pause_until", untilIso=None)
    records = (await fixture.store.port.runs.hints((await fixture.endpoint()).key))[::-1]
    assert [record.kind for record in records] == [
        HintKind.INTERVAL,
        HintKind.ONE_SHOT,
        HintKind.PAUSE,
        HintKind.RESUME,
    ]
    assert [record.reason for record in records] == ["surge", None, "x" * 2_000, None]
    assert {record.origin for record in records} == {"test"}


async def test_a_call_is_one_commit() -> None:
    fixture = await a_fixture()
    await fixture.tool("propose_next_time", nextRunInMs=0)
    assert fixture.store.calls == {"amend": 1}


async def test_a_tool_says_what_it_is_for() -> None:
    fixture = await a_fixture()
    tools = fixture.steering.tools((await fixture.endpoint()).key, origin="test")
    assert [tool.description for tool in tools.values()] == [
        "Run every so often for a while, then fall back to the baseline.",
        "Run once, at a moment or after a while.",
        "Close the gate until a moment, or open it again.",
    ]


async def test_a_call_is_typed() -> None:
    fixture = await a_fixture()
    tools = fixture.steering.tools((await fixture.endpoint()).key, origin="test")
    arguments: ProposeIntervalArguments = {"intervalMs": 5_000, "reason": "surge"}
    assert (await call_tool(tools, "propose_interval", arguments)).endpoint.next_run_at == after(seconds=5)
    with pytest.raises(TypeError):
        await call_tool(tools, "propose_interval")  # type: ignore[call-overload]


async def test_a_planner_of_rules_acts_on_the_first_that_matches() -> None:
    fixture = await a_fixture()
    planner = RuleBasedPlanner(
        PlannerRule(lambda seen: seen.endpoint.failure_count > 0, "pause_until", {"untilIso": None}),
        PlannerRule(lambda _: True, "propose_interval", {"intervalMs": 5_000}),
        PlannerRule(lambda _: True, "propose_next_time", {"nextRunInMs": 0}),
    )

    async def call(
        endpoint: Any, tool: str, arguments: Any, /, *, rule: str | None = None, rank: Rank = Rank.RULE
    ) -> Any:
        assert (rule, rank) == (None, Rank.RULE)
        return await fixture.tool(tool, endpoint.name, **arguments)

    await planner.sit(Briefing(now=NEW_YEAR, endpoint=await fixture.endpoint()), call)
    stored = await fixture.endpoint()
    assert (stored.next_run_at, stored.one_shot_hint) == (after(seconds=5), None)


async def test_a_planner_without_a_matching_rule_does_nothing() -> None:
    fixture = await a_fixture()
    before = await fixture.endpoint()
    planner = RuleBasedPlanner(PlannerRule(lambda _: False, "pause_until", {"untilIso": None}))

    async def call(*_: Any, **__: Any) -> Any:
        raise AssertionError("it had nothing to say")

    await planner.sit(Briefing(now=NEW_YEAR, endpoint=before), call)
    assert await fixture.endpoint() == before


@pytest.mark.parametrize("tool", ["propose_interval", "propose_next_time"])
async def test_a_ttl_of_null_is_a_ttl_that_was_not_given(tool: str) -> None:
    given, left_out = WorkerFixture(), WorkerFixture()
    span = "intervalMs" if tool == "propose_interval" else "nextRunInMs"
    calls: list[tuple[WorkerFixture, dict[str, Any]]] = [(given, {"ttlMinutes": None}), (left_out, {})]
    for fixture, ttl in calls:
        await fixture.add()
        await fixture.tool(tool, **({span: 1_000} | ttl))
    assert await given.endpoint() == await left_out.endpoint()
