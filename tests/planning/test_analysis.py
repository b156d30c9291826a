"""An analysis stays within its limits, does not disturb others, and is recorded."""

import asyncio
import gc
from contextlib import suppress
from typing import Any

import pytest
from tests.planning.analyst_fixtures import AnalystHarness, Analyze, ScriptedPlanner
from tests.scheduling.worker.worker_fixtures import MINUTE

from cadenza.domain.errors import CadenzaError, InvalidRequest, NotAllowed, NotFound, Unavailable
from cadenza.domain.planning.analysis import Analysis, Tokens, ToolCall, Trigger
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.plan import Source
from cadenza.engine.planning.analysis import PlannerEntry
from cadenza.engine.planning.planner_runner import SHADOW_RECORD_INTERVAL
from cadenza.ports.access import QuotaKind, QuotaRequest
from cadenza.ports.planning import EMPTY_RESULT, Briefing, CallTool, PlannerResult
from cadenza.testing import an_endpoint

ALONE = 60 * MINUTE


async def analyze_once(harness: AnalystHarness, *entries: PlannerEntry | ScriptedPlanner) -> list[Analysis]:
    """Run an endpoint once and let planners think about it; what was recorded."""
    await harness.fixture.add(in_ms=ALONE)
    async with harness.watched_by(*entries):
        await harness.run()
    return await harness.analyses()


def refused(tool: str, arguments: Any, on: Endpoint | None = None) -> tuple[Analyze, list[CadenzaError]]:
    """A planner that calls a tool, and the refusals that it gets."""
    problems: list[CadenzaError] = []

    async def analyze(briefing: Briefing, call: CallTool) -> PlannerResult:
        try:
            await call(on or briefing.endpoint, tool, arguments)
        except CadenzaError as problem:
            problems.append(problem)
        return PlannerResult("tried")

    return analyze, problems


async def test_an_analysis_is_recorded_with_its_calls_and_its_cost() -> None:
    async def analyze(briefing: Briefing, call: CallTool) -> PlannerResult:
        await call(briefing.endpoint, "propose_interval", {"intervalMs": 30_000, "reason": "grows"})
        return PlannerResult("it grows", look_again_ms=MINUTE, tokens=Tokens(100, 20))

    harness = AnalystHarness()
    (analysis,) = await analyze_once(harness, ScriptedPlanner(analyze))
    assert analysis.planner == "scripted"
    assert analysis.trigger is Trigger.RUN
    assert (analysis.reasoning, analysis.tokens, analysis.error) == ("it grows", Tokens(100, 20), None)
    assert analysis.look_again_at is not None
    assert (analysis.look_again_at - analysis.began_at).total_seconds() == 60
    (call,) = analysis.calls
    assert call[:3] == ("propose_interval", "endpoint", {"intervalMs": 30_000, "reason": "grows"})
    assert call.error is None
    assert call.result is not None
    assert "(ai-interval)" in call.result
    endpoint = await harness.fixture.endpoint()
    assert endpoint.next_source is Source.AI_INTERVAL
    (hint,) = await harness.store.port.runs.hints(endpoint.key)
    assert (hint.origin, hint.reason) == ("planner:scripted", "grows")


async def test_a_call_that_a_person_outranks_is_recorded_as_not_applied() -> None:
    async def analyze(briefing: Briefing, call: CallTool) -> PlannerResult:
        await call(briefing.endpoint, "propose_interval", {"intervalMs": 30_000}, rule="surge")
        return PlannerResult()

    harness = AnalystHarness()
    endpoint = await harness.fixture.add(in_ms=ALONE)
    await harness.fixture.tool("propose_interval", intervalMs=20_000)
    async with harness.watched_by(ScriptedPlanner(analyze)):
        await harness.run()
    (analysis,) = await harness.analyses()
    assert analysis.calls[0].result is not None
    assert analysis.calls[0].result.startswith("Not applied, because an interval hint (person: ")
    newest, oldest = await harness.store.port.runs.hints(endpoint.key)
    assert (newest.origin, oldest.not_applied) == ("rule:surge", None)
    assert newest.not_applied is not None
    hint = (await harness.fixture.endpoint()).interval_hint
    assert (hint and hint.interval_ms) == 20_000


async def test_an_analysis_without_content_leaves_no_record_but_is_counted() -> None:
    harness = AnalystHarness()
    assert await analyze_once(harness, ScriptedPlanner()) == []
    events = [event for event in harness.fixture.telemetry.events if event.name == "planner.sitting.stop"]
    assert [event.metadata for event in events] == [
        {"planner": "scripted", "trigger": "run", "result": "silent"}
    ]


async def test_of_shadow_analyses_one_is_recorded_in_ten_minutes() -> None:
    async def shadow(_: Briefing, __: CallTool) -> PlannerResult:
        return PlannerResult("I would have", shadow=True)

    harness, planner = AnalystHarness(), ScriptedPlanner(shadow)
    await harness.fixture.add(in_ms=ALONE)
    async with harness.watched_by(planner):
        for _ in range(8):
            await harness.run()
            await harness.settle(2 * MINUTE)
    assert len(planner.briefings) == 8
    kept = [one.began_at for one in await harness.analyses()]
    assert len(kept) == 2
    assert kept[1] - kept[0] >= SHADOW_RECORD_INTERVAL


@pytest.mark.parametrize("also", [{"tokens": Tokens(1, 0)}, {"error": "no"}, {"shadow": False}])
async def test_what_cost_something_or_failed_is_always_recorded(also: dict[str, Any]) -> None:
    async def shadow(_: Briefing, __: CallTool) -> PlannerResult:
        return PlannerResult("I would have", shadow=True)._replace(**also)

    harness = AnalystHarness()
    await harness.fixture.add(in_ms=ALONE)
    async with harness.watched_by(ScriptedPlanner(shadow)):
        for _ in range(3):
            await harness.run()
    assert len(await harness.analyses()) == 3


async def test_a_planner_that_fails_while_it_is_stopped_leaves_no_unread_exception() -> None:
    begun, unread = asyncio.Event(), list[dict[str, Any]]()

    async def fails_late(_: Briefing, __: CallTool) -> PlannerResult:
        begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            raise Unavailable("The database does not answer.") from None
        raise AssertionError

    async def stop_meanwhile(harness: AnalystHarness) -> None:
        await harness.fixture.add(in_ms=ALONE)
        async with harness.watched_by(ScriptedPlanner(fails_late)):
            await harness.run()
            await begun.wait()

    asyncio.get_running_loop().set_exception_handler(lambda _, problem: unread.append(problem))
    await asyncio.create_task(stop_meanwhile(AnalystHarness()))
    gc.collect()
    assert unread == []


async def test_a_planner_that_does_not_want_to_does_not_analyze() -> None:
    harness, planner = AnalystHarness(), ScriptedPlanner(wants=lambda _: False)
    assert await analyze_once(harness, PlannerEntry(planner, uses_tokens=True)) == []
    assert planner.briefings == []
    assert [request for request in harness.fixture.quota.asked if request.kind is QuotaKind.AI] == []


@pytest.mark.parametrize(
    ("tool", "arguments", "kind"),
    [
        ("drop_tables", {}, InvalidRequest),
        ("propose_interval", {}, InvalidRequest),
        ("propose_interval", {"intervalMs": -1}, InvalidRequest),
        ("propose_interval", {"intervalMs": 1_000, "endpoint": "other"}, InvalidRequest),
        ("pause_until", {"untilIso": "tomorrow"}, InvalidRequest),
        ("propose_next_time", "at once", InvalidRequest),
    ],
)
async def test_a_tool_that_is_called_wrongly_is_refused_and_that_is_recorded(
    tool: str, arguments: Any, kind: type[CadenzaError]
) -> None:
    analyze, problems = refused(tool, arguments)
    harness = AnalystHarness()
    (analysis,) = await analyze_once(harness, ScriptedPlanner(analyze))
    (problem,) = problems
    assert type(problem) is kind
    assert [(call.tool, call.error, call.result) for call in analysis.calls] == [
        (tool, problem.message, None)
    ]
    assert analysis.error is None
    assert (await harness.fixture.endpoint()).interval_hint is None


@pytest.mark.parametrize(
    "stranger",
    [
        {"id": "elsewhere", "job_id": "another"},
        {"id": "endpoint", "tenant_id": "stranger"},
        {"id": "elsewhere"},
        {"id": "nobody"},
    ],
    ids=str,
)
async def test_tools_reach_no_further_than_the_job_and_the_tenant(stranger: dict[str, str]) -> None:
    """Whatever a planner makes up about an endpoint, its key decides."""
    harness = AnalystHarness()
    analyze, problems = refused(
        "propose_interval",
        {"intervalMs": 1_000},
        an_endpoint("made up", **({"job_id": "default"} | stranger)),
    )
    await harness.fixture.add("elsewhere", in_ms=ALONE, job_id="another")
    await harness.fixture.add("endpoint", in_ms=ALONE, tenant_id="stranger")
    (analysis,) = await analyze_once(harness, ScriptedPlanner(analyze))
    assert [type(problem) for problem in problems] == [NotAllowed]
    assert [call.error is None for call in analysis.calls] == [False]
    assert (await harness.fixture.endpoint("elsewhere")).interval_hint is None


async def test_an_endpoint_that_leaves_the_job_meanwhile_is_out_of_reach() -> None:
    async def analyze(briefing: Briefing, call: CallTool) -> PlannerResult:
        await harness.fixture.change(job_id="another")
        with pytest.raises(NotFound):
            await call(briefing.endpoint, "propose_interval", {"intervalMs": 1_000})
        return EMPTY_RESULT

    harness = AnalystHarness()
    (analysis,) = await analyze_once(harness, ScriptedPlanner(analyze))
    assert analysis.error is None
    assert (await harness.fixture.endpoint()).interval_hint is None


async def test_siblings_are_within_reach() -> None:
    async def wakes(briefing: Briefing, call: CallTool) -> PlannerResult:
        if briefing.endpoint.id == "endpoint":
            await call(briefing.siblings["asleep"], "pause_until", {"untilIso": None})
        return EMPTY_RESULT

    harness = AnalystHarness()
    await harness.fixture.add("asleep", in_ms=ALONE, paused_until=harness.fixture.at(ALONE))
    (analysis,) = await analyze_once(harness, ScriptedPlanner(wakes))
    assert [call.endpoint_id for call in analysis.calls] == ["asleep"]
    assert (await harness.fixture.endpoint("asleep")).paused_until is None


async def raises(_: Briefing, __: CallTool) -> PlannerResult:
    raise ZeroDivisionError("broken")


async def answers_nonsense(_: Briefing, __: CallTool) -> Any:
    return "nonsense"


async def is_cancelled(_: Briefing, __: CallTool) -> PlannerResult:
    raise asyncio.CancelledError


def wants_raises(_: Briefing) -> bool:
    raise ZeroDivisionError("broken")


@pytest.mark.parametrize(
    ("planner", "error"),
    [
        (ScriptedPlanner(raises, name="broken"), "ZeroDivisionError: broken"),
        (ScriptedPlanner(name="broken", wants=wants_raises), "ZeroDivisionError: broken"),
        (
            ScriptedPlanner(answers_nonsense, name="broken"),
            "It answered 'nonsense', which is not a PlannerResult.",
        ),
        (ScriptedPlanner(is_cancelled, name="broken"), "It was cancelled."),
    ],
)
async def test_a_broken_planner_costs_only_its_own_analysis(planner: ScriptedPlanner, error: str) -> None:
    harness, healthy = AnalystHarness(), ScriptedPlanner(name="healthy")
    (analysis,) = await analyze_once(harness, planner, healthy)
    assert (analysis.planner, analysis.error) == ("broken", error)
    assert healthy.seen == [("endpoint", "run")]


async def test_a_planner_that_hangs_is_stopped_and_what_it_did_before_is_recorded() -> None:
    async def hangs(briefing: Briefing, call: CallTool) -> PlannerResult:
        await call(briefing.endpoint, "propose_interval", {"intervalMs": 30_000})
        await asyncio.Event().wait()
        raise AssertionError

    harness = AnalystHarness()
    await harness.fixture.add(in_ms=ALONE)
    async with harness.watched_by(PlannerEntry(ScriptedPlanner(hangs), timeout_ms=20)):
        await harness.run()
        await asyncio.sleep(0.1)
        await harness.settle()
    (analysis,) = await harness.analyses()
    assert analysis.error == "It did not finish within 20 ms."
    assert [call.error for call in analysis.calls] == [None]
    assert analysis.duration_ms >= 20


async def test_a_planner_that_does_not_let_itself_be_stopped_can_do_nothing_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cadenza.engine.planning.analysis.CANCEL_GRACE_S", 0.01)
    later = asyncio.Event()
    late: list[CadenzaError] = []

    async def stubborn(briefing: Briefing, call: CallTool) -> PlannerResult:
        while not later.is_set():
            with suppress(asyncio.CancelledError):
                await later.wait()
        try:
            await call(briefing.endpoint, "propose_interval", {"intervalMs": 30_000})
        except CadenzaError as problem:
            late.append(problem)
        return EMPTY_RESULT

    harness = AnalystHarness()
    await harness.fixture.add(in_ms=ALONE)
    async with harness.watched_by(PlannerEntry(ScriptedPlanner(stubborn), timeout_ms=10)):
        await harness.run()
        await asyncio.sleep(0.1)
        await harness.settle()
        later.set()
        await harness.settle()
    assert [type(problem) for problem in late] == [NotAllowed]
    assert (await harness.fixture.endpoint()).interval_hint is None
    assert "a planner does not stop after cancellation" in harness.log.events("warning")


async def test_a_planner_that_floods_is_cut_off() -> None:
    async def floods(briefing: Briefing, call: CallTool) -> PlannerResult:
        for number in range(100):
            with suppress(NotAllowed):
                await call(briefing.endpoint, "propose_interval", {"intervalMs": 30_000 + number})
        return PlannerResult("more!")

    harness = AnalystHarness()
    (analysis,) = await analyze_once(harness, PlannerEntry(ScriptedPlanner(floods), most_calls=5))
    assert len(analysis.calls) == 5
    assert analysis.error == "It called more than 5 tools."
    hint = (await harness.fixture.endpoint()).interval_hint
    assert hint is not None
    assert hint.interval_ms == 30_004


@pytest.mark.parametrize(
    ("wish", "span_s"), [(0, 1), (-(10**30), 1), (10**30, 10 * 366 * 86_400), (True, None), ("soon", None)]
)
async def test_the_time_of_the_next_analysis_is_kept_within_bounds(wish: Any, span_s: int | None) -> None:
    async def wishes(_: Briefing, __: CallTool) -> PlannerResult:
        return PlannerResult("again", look_again_ms=wish)

    (analysis,) = (await analyze_once(AnalystHarness(), ScriptedPlanner(wishes, wants=only_runs)))[:1]
    at = analysis.look_again_at
    assert (None if at is None else (at - analysis.began_at).total_seconds()) == span_s


def only_runs(briefing: Briefing) -> bool:
    return briefing.trigger is Trigger.RUN


async def test_hostile_words_are_cut_and_their_arguments_are_kept_as_text() -> None:
    class Unspeakable:
        def __str__(self) -> str:
            raise ZeroDivisionError

    async def hostile(briefing: Briefing, call: CallTool) -> PlannerResult:
        for arguments in ({"reason": "x" * 100_000}, {"a": Unspeakable()}, {"a": float("nan")}):
            with suppress(InvalidRequest):
                await call(briefing.endpoint, "pause_until", arguments)
        return PlannerResult("y" * 100_000, error="z" * 100_000)

    (analysis,) = await analyze_once(AnalystHarness(), ScriptedPlanner(hostile))
    assert len(analysis.reasoning) == 8_000
    assert analysis.error is not None
    assert len(analysis.error) == 2_000
    assert all(len(str(call.arguments)) < 5_000 for call in analysis.calls)
    assert len(analysis.calls) == 3
    assert isinstance(analysis.calls[0], ToolCall)


async def test_the_quota_is_checked_only_for_planners_that_use_tokens() -> None:
    harness, thrifty = AnalystHarness(), ScriptedPlanner(name="thrifty")
    spender = ScriptedPlanner(name="spender")
    harness.fixture.quota.close(harness.fixture.at(ALONE), kind=QuotaKind.AI)
    await analyze_once(harness, PlannerEntry(spender, uses_tokens=True), PlannerEntry(thrifty))
    assert (len(spender.briefings), len(thrifty.briefings)) == (0, 1)
    asked = [request for request in harness.fixture.quota.asked if request.kind is QuotaKind.AI]
    assert asked == [QuotaRequest(QuotaKind.AI, "default")]
    harness.fixture.quota.open(kind=QuotaKind.AI)
    async with harness.watched_by(PlannerEntry(spender, uses_tokens=True)):
        await harness.run()
    assert len(spender.briefings) >= 1


@pytest.mark.parametrize("error", [None, "the provider is away"])
async def test_used_tokens_are_counted_also_when_the_analysis_failed(error: str | None) -> None:
    async def uses_tokens(_: Briefing, __: CallTool) -> PlannerResult:
        return PlannerResult(tokens=Tokens(70, 30), error=error)

    harness = AnalystHarness()
    harness.store.before["spend_tokens"] = unavailable_once()
    await analyze_once(harness, PlannerEntry(ScriptedPlanner(uses_tokens), uses_tokens=True))
    (month,) = await harness.store.port.tenants.usage_by_month("default", 12)
    assert month.spent.planner_tokens == 100


def unavailable_once() -> Any:
    left = [Unavailable("It is away.")]

    async def hook() -> None:
        if left:
            raise left.pop()

    return hook


async def test_health_is_in_the_briefing_of_planners_that_need_it() -> None:
    harness, asks, other = AnalystHarness(), ScriptedPlanner(name="asks"), ScriptedPlanner(name="other")
    await analyze_once(harness, PlannerEntry(asks, health=True), other)
    assert [health.runs for health in asks.briefings[0].health] == [1, 1, 1]
    assert other.briefings[0].health == ()
    assert harness.store.calls["ended"] == 1


async def test_an_analyst_with_a_bug_ends_with_it() -> None:
    harness = AnalystHarness()
    await harness.fixture.add(in_ms=ALONE)
    harness.store.fail("recent_runs", ZeroDivisionError("bug"))
    async with harness.working(harness.analyst([ScriptedPlanner()])) as task:
        await harness.run()
        with pytest.raises(ZeroDivisionError):
            await asyncio.wait_for(task, 60)
