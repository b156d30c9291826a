"""A sitting stays within its borders, costs nobody else anything, and is recorded."""

import asyncio
from contextlib import suppress
from typing import Any

import pytest
from tests.planning.analyst_fixtures import Scripted, Study, Thinks
from tests.scheduling.worker.worker_fixtures import MINUTE

from cadenza.domain.errors import CadenzaError, InvalidRequest, NotAllowed, NotFound, Unavailable
from cadenza.domain.planning.analysis import Analysis, Tokens, ToolCall, Trigger
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.plan import Source
from cadenza.engine.planning.analysis import Seat
from cadenza.engine.planning.consult import SHADOWS_APART
from cadenza.ports.access import QuotaRequest, Spending
from cadenza.ports.planning import EMPTY_RESULT, Briefing, CallTool, PlannerResult
from cadenza.testing import an_endpoint

ALONE = 60 * MINUTE


async def sat(study: Study, *seats: Seat | Scripted) -> list[Analysis]:
    """Run an endpoint once and let planners think about it; what was recorded."""
    await study.corridor.add(in_ms=ALONE)
    async with study.watched_by(*seats):
        await study.run()
    return await study.analyses()


def refused(tool: str, arguments: Any, on: Endpoint | None = None) -> tuple[Thinks, list[CadenzaError]]:
    """A planner that calls a tool, and the refusals that it gets."""
    problems: list[CadenzaError] = []

    async def thinks(briefing: Briefing, call: CallTool) -> PlannerResult:
        try:
            await call(on or briefing.endpoint, tool, arguments)
        except CadenzaError as problem:
            problems.append(problem)
        return PlannerResult("tried")

    return thinks, problems


async def test_a_sitting_is_recorded_with_all_that_it_did_and_cost() -> None:
    async def thinks(briefing: Briefing, call: CallTool) -> PlannerResult:
        await call(briefing.endpoint, "propose_interval", {"intervalMs": 30_000, "reason": "grows"})
        return PlannerResult("it grows", look_again_ms=MINUTE, tokens=Tokens(100, 20))

    study = Study()
    (analysis,) = await sat(study, Scripted(thinks))
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
    endpoint = await study.corridor.endpoint()
    assert endpoint.next_source is Source.AI_INTERVAL
    (hint,) = await study.store.port.runs.hints(endpoint.key)
    assert (hint.origin, hint.reason) == ("planner:scripted", "grows")


async def test_a_sitting_that_had_nothing_to_say_leaves_no_record_but_is_counted() -> None:
    study = Study()
    assert await sat(study, Scripted()) == []
    events = [event for event in study.corridor.telemetry.events if event.name == "planner.sitting.stop"]
    assert [event.metadata for event in events] == [
        {"planner": "scripted", "trigger": "run", "result": "silent"}
    ]


async def test_of_thoughts_in_the_shadow_one_is_kept_in_ten_minutes() -> None:
    async def shadow(_: Briefing, __: CallTool) -> PlannerResult:
        return PlannerResult("I would have", shadow=True)

    study, planner = Study(), Scripted(shadow)
    await study.corridor.add(in_ms=ALONE)
    async with study.watched_by(planner):
        for _ in range(8):
            await study.run()
            await study.settle(2 * MINUTE)
    assert len(planner.told) == 8
    kept = [one.began_at for one in await study.analyses()]
    assert len(kept) == 2
    assert kept[1] - kept[0] >= SHADOWS_APART


@pytest.mark.parametrize("also", [{"tokens": Tokens(1, 0)}, {"error": "no"}, {"shadow": False}])
async def test_what_cost_something_or_failed_is_always_kept(also: dict[str, Any]) -> None:
    async def shadow(_: Briefing, __: CallTool) -> PlannerResult:
        return PlannerResult("I would have", shadow=True)._replace(**also)

    study = Study()
    await study.corridor.add(in_ms=ALONE)
    async with study.watched_by(Scripted(shadow)):
        for _ in range(3):
            await study.run()
    assert len(await study.analyses()) == 3


async def test_who_does_not_want_to_does_not_sit() -> None:
    study, planner = Study(), Scripted(wants=lambda _: False)
    assert await sat(study, Seat(planner, spends=True)) == []
    assert planner.told == []
    assert [request for request in study.corridor.quota.asked if request.kind is Spending.AI] == []


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
    thinks, problems = refused(tool, arguments)
    study = Study()
    (analysis,) = await sat(study, Scripted(thinks))
    (problem,) = problems
    assert type(problem) is kind
    assert [(call.tool, call.error, call.result) for call in analysis.calls] == [
        (tool, problem.message, None)
    ]
    assert analysis.error is None
    assert (await study.corridor.endpoint()).interval_hint is None


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
    study = Study()
    thinks, problems = refused(
        "propose_interval",
        {"intervalMs": 1_000},
        an_endpoint("made up", **({"job_id": "default"} | stranger)),
    )
    await study.corridor.add("elsewhere", in_ms=ALONE, job_id="another")
    await study.corridor.add("endpoint", in_ms=ALONE, tenant_id="stranger")
    (analysis,) = await sat(study, Scripted(thinks))
    assert [type(problem) for problem in problems] == [NotAllowed]
    assert [call.error is None for call in analysis.calls] == [False]
    assert (await study.corridor.endpoint("elsewhere")).interval_hint is None


async def test_an_endpoint_that_leaves_the_job_meanwhile_is_out_of_reach() -> None:
    async def thinks(briefing: Briefing, call: CallTool) -> PlannerResult:
        await study.corridor.change(job_id="another")
        with pytest.raises(NotFound):
            await call(briefing.endpoint, "propose_interval", {"intervalMs": 1_000})
        return EMPTY_RESULT

    study = Study()
    (analysis,) = await sat(study, Scripted(thinks))
    assert analysis.error is None
    assert (await study.corridor.endpoint()).interval_hint is None


async def test_siblings_are_within_reach() -> None:
    async def wakes(briefing: Briefing, call: CallTool) -> PlannerResult:
        if briefing.endpoint.id == "endpoint":
            await call(briefing.siblings["asleep"], "pause_until", {"untilIso": None})
        return EMPTY_RESULT

    study = Study()
    await study.corridor.add("asleep", in_ms=ALONE, paused_until=study.corridor.at(ALONE))
    (analysis,) = await sat(study, Scripted(wakes))
    assert [call.endpoint_id for call in analysis.calls] == ["asleep"]
    assert (await study.corridor.endpoint("asleep")).paused_until is None


async def raises(_: Briefing, __: CallTool) -> PlannerResult:
    raise ZeroDivisionError("poison")


async def answers_nonsense(_: Briefing, __: CallTool) -> Any:
    return "nonsense"


async def is_cancelled(_: Briefing, __: CallTool) -> PlannerResult:
    raise asyncio.CancelledError


def wants_poison(_: Briefing) -> bool:
    raise ZeroDivisionError("poison")


@pytest.mark.parametrize(
    ("planner", "error"),
    [
        (Scripted(raises, name="poison"), "ZeroDivisionError: poison"),
        (Scripted(name="poison", wants=wants_poison), "ZeroDivisionError: poison"),
        (Scripted(answers_nonsense, name="poison"), "It answered 'nonsense', which is no end of a sitting."),
        (Scripted(is_cancelled, name="poison"), "It gave up."),
    ],
)
async def test_a_poisonous_planner_costs_its_own_sitting_alone(planner: Scripted, error: str) -> None:
    study, healthy = Study(), Scripted(name="healthy")
    (analysis,) = await sat(study, planner, healthy)
    assert (analysis.planner, analysis.error) == ("poison", error)
    assert healthy.seen == [("endpoint", "run")]


async def test_a_planner_that_hangs_is_stopped_and_what_it_did_before_is_recorded() -> None:
    async def hangs(briefing: Briefing, call: CallTool) -> PlannerResult:
        await call(briefing.endpoint, "propose_interval", {"intervalMs": 30_000})
        await asyncio.Event().wait()
        raise AssertionError

    study = Study()
    await study.corridor.add(in_ms=ALONE)
    async with study.watched_by(Seat(Scripted(hangs), timeout_ms=20)):
        await study.run()
        await asyncio.sleep(0.1)
        await study.settle()
    (analysis,) = await study.analyses()
    assert analysis.error == "It did not come to an end within 20 ms."
    assert [call.error for call in analysis.calls] == [None]
    assert analysis.duration_ms >= 20


async def test_a_planner_that_does_not_let_itself_be_stopped_can_do_nothing_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("cadenza.engine.planning.analysis.TO_LEAVE_S", 0.01)
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

    study = Study()
    await study.corridor.add(in_ms=ALONE)
    async with study.watched_by(Seat(Scripted(stubborn), timeout_ms=10)):
        await study.run()
        await asyncio.sleep(0.1)
        await study.settle()
        later.set()
        await study.settle()
    assert [type(problem) for problem in late] == [NotAllowed]
    assert (await study.corridor.endpoint()).interval_hint is None
    assert "a planner does not stop when it is asked to" in study.log.events("warning")


async def test_a_planner_that_floods_is_cut_off() -> None:
    async def floods(briefing: Briefing, call: CallTool) -> PlannerResult:
        for number in range(100):
            with suppress(NotAllowed):
                await call(briefing.endpoint, "propose_interval", {"intervalMs": 30_000 + number})
        return PlannerResult("more!")

    study = Study()
    (analysis,) = await sat(study, Seat(Scripted(floods), most_calls=5))
    assert len(analysis.calls) == 5
    assert analysis.error == "It called more than 5 tools."
    hint = (await study.corridor.endpoint()).interval_hint
    assert hint is not None
    assert hint.interval_ms == 30_004


@pytest.mark.parametrize(
    ("wish", "span_s"), [(0, 1), (-(10**30), 1), (10**30, 10 * 366 * 86_400), (True, None), ("soon", None)]
)
async def test_a_wish_to_look_again_is_kept_within_reason(wish: Any, span_s: int | None) -> None:
    async def wishes(_: Briefing, __: CallTool) -> PlannerResult:
        return PlannerResult("again", look_again_ms=wish)

    (analysis,) = (await sat(Study(), Scripted(wishes, wants=only_runs)))[:1]
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

    (analysis,) = await sat(Study(), Scripted(hostile))
    assert len(analysis.reasoning) == 8_000
    assert analysis.error is not None
    assert len(analysis.error) == 2_000
    assert all(len(str(call.arguments)) < 5_000 for call in analysis.calls)
    assert len(analysis.calls) == 3
    assert isinstance(analysis.calls[0], ToolCall)


async def test_the_quota_is_asked_before_who_spends_and_not_for_others() -> None:
    study, thrifty = Study(), Scripted(name="thrifty")
    spender = Scripted(name="spender")
    study.corridor.quota.close(study.corridor.at(ALONE), kind=Spending.AI)
    await sat(study, Seat(spender, spends=True), Seat(thrifty))
    assert (len(spender.told), len(thrifty.told)) == (0, 1)
    asked = [request for request in study.corridor.quota.asked if request.kind is Spending.AI]
    assert asked == [QuotaRequest(Spending.AI, "default")]
    study.corridor.quota.open(kind=Spending.AI)
    async with study.watched_by(Seat(spender, spends=True)):
        await study.run()
    assert len(spender.told) >= 1


@pytest.mark.parametrize("error", [None, "the provider is away"])
async def test_spent_tokens_are_counted_also_when_the_sitting_failed(error: str | None) -> None:
    async def spends(_: Briefing, __: CallTool) -> PlannerResult:
        return PlannerResult(tokens=Tokens(70, 30), error=error)

    study = Study()
    study.store.before["spend_tokens"] = unavailable_once()
    await sat(study, Seat(Scripted(spends), spends=True))
    (month,) = await study.store.port.tenants.spending("default", 12)
    assert month.spent.planner_tokens == 100


def unavailable_once() -> Any:
    left = [Unavailable("It is away.")]

    async def hook() -> None:
        if left:
            raise left.pop()

    return hook


async def test_health_is_told_to_those_who_ask_for_it() -> None:
    study, asks, other = Study(), Scripted(name="asks"), Scripted(name="other")
    await sat(study, Seat(asks, health=True), other)
    assert [health.runs for health in asks.told[0].health] == [1, 1, 1]
    assert other.told[0].health == ()
    assert study.store.calls["ended"] == 1


async def test_an_analyst_with_a_bug_ends_with_it() -> None:
    study = Study()
    await study.corridor.add(in_ms=ALONE)
    study.store.breaks("recent_runs", ZeroDivisionError("bug"))
    async with study.working(study.analyst([Scripted()])) as task:
        await study.run()
        with pytest.raises(ZeroDivisionError):
            await asyncio.wait_for(task, 60)
