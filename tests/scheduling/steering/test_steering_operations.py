"""Endpoints, steered: the three tools, hints, run-now, and the gate for many."""

from datetime import timedelta
from typing import Any

import pytest
from tests.operation_fixtures import ApplicationFixture

from cadenza.domain.access.key import Scope
from cadenza.domain.errors import Conflict, InvalidRequest, NotAllowed, NotFound
from cadenza.domain.scheduling.endpoint import EndpointKey, evolve
from cadenza.domain.scheduling.steer import ChangedEndpoint

THE_SAME: dict[str, Any] = {"endpoint_id": "traffic"}


@pytest.fixture
async def app_with_endpoint(app: ApplicationFixture) -> ApplicationFixture:
    await app.job()
    await app.endpoint(labels={"team": "web"})
    return app


async def test_an_interval_is_proposed_and_the_new_plan_answered(
    app_with_endpoint: ApplicationFixture,
) -> None:
    plan = await app_with_endpoint.ask("propose_interval", **THE_SAME, intervalMs=20_000, reason="surge")
    assert (plan["next_run_at"], plan["source"]) == ("2025-01-01T00:00:20Z", "ai-interval")
    assert "(surge)" in plan["answer"]
    assert {one["source"] for one in plan["governor"]["candidates"]} == {"baseline-interval", "ai-interval"}
    shown = await app_with_endpoint.ask("get_endpoint", **THE_SAME)
    assert shown["interval_hint"] == {
        "interval_ms": 20_000,
        "expires_at": "2025-01-01T01:00:00Z",
        "reason": "surge",
        "origin": "test",
        "by": "person: test",
    }


async def test_a_next_time_is_proposed(app_with_endpoint: ApplicationFixture) -> None:
    plan = await app_with_endpoint.ask("propose_next_time", **THE_SAME, nextRunInMs=5_000)
    assert (plan["next_run_at"], plan["source"]) == ("2025-01-01T00:00:05Z", "ai-oneshot")
    plan = await app_with_endpoint.ask("propose_next_time", **THE_SAME, nextRunAtIso="2025-01-01T00:00:03Z")
    assert plan["next_run_at"] == "2025-01-01T00:00:03Z"


async def test_a_pause_is_set_and_taken_back(app_with_endpoint: ApplicationFixture) -> None:
    plan = await app_with_endpoint.ask(
        "pause_until", **THE_SAME, untilIso="2025-01-01T02:00:00Z", reason="deploy"
    )
    assert plan["gate"] == "paused until 2025-01-01T02:00:00Z"
    plan = await app_with_endpoint.ask("pause_until", **THE_SAME, untilIso=None)
    assert (plan["gate"], plan["source"]) == (None, "resume")


@pytest.mark.parametrize(
    ("tool", "words", "field"),
    [
        ("propose_interval", {}, "intervalMs"),
        ("propose_interval", {"intervalMs": 0}, "intervalMs"),
        ("propose_interval", {"intervalMs": False}, "intervalMs"),
        ("propose_interval", {"intervalMs": 1, "ttlMinutes": 0}, "ttlMinutes"),
        ("propose_interval", {"intervalMs": 1, "interval_ms": 1}, "interval_ms"),
        ("propose_next_time", {}, "nextRunInMs"),
        ("propose_next_time", {"nextRunInMs": 1, "nextRunAtIso": "2025-01-01T00:00:03Z"}, "nextRunInMs"),
        ("propose_next_time", {"nextRunAtIso": "tomorrow"}, "nextRunAtIso"),
        ("pause_until", {}, "untilIso"),
        ("pause_until", {"untilIso": "2024-01-01T00:00:00Z"}, "untilIso"),
    ],
)
async def test_wrong_words_are_refused_and_nothing_changes(
    app_with_endpoint: ApplicationFixture, tool: str, words: dict[str, Any], field: str
) -> None:
    before = await app_with_endpoint.ask("get_endpoint", **THE_SAME)
    with pytest.raises(InvalidRequest) as refused:
        await app_with_endpoint.ask(tool, **THE_SAME, **words)
    assert refused.value.field == field
    assert await app_with_endpoint.ask("get_endpoint", **THE_SAME) == before


async def test_the_history_of_hints_tells_who_and_why(app_with_endpoint: ApplicationFixture) -> None:
    await app_with_endpoint.ask("propose_interval", **THE_SAME, intervalMs=20_000, reason="surge")
    await app_with_endpoint.ask("pause_until", **THE_SAME, untilIso="2025-01-01T02:00:00Z")
    await app_with_endpoint.ask("clear_hints", **THE_SAME)
    page = await app_with_endpoint.ask("list_hints", **THE_SAME, limit=2)
    assert [hint["kind"] for hint in page["items"]] == ["clear", "pause"]
    rest = await app_with_endpoint.ask("list_hints", **THE_SAME, limit=2, cursor=page["next_cursor"])
    assert [(hint["origin"], hint["reason"]) for hint in rest["items"]] == [("test", "surge")]
    assert rest["next_cursor"] is None
    with pytest.raises(InvalidRequest):
        await app_with_endpoint.ask("list_hints", **THE_SAME, cursor="² pages on")


async def test_cleared_hints_leave_the_baseline(app_with_endpoint: ApplicationFixture) -> None:
    await app_with_endpoint.ask("propose_interval", **THE_SAME, intervalMs=20_000)
    plan = await app_with_endpoint.ask("clear_hints", **THE_SAME)
    assert (plan["next_run_at"], plan["source"]) == ("2025-01-01T00:01:00Z", "baseline-interval")


async def test_run_now_makes_it_due_unless_a_gate_is_closed(app_with_endpoint: ApplicationFixture) -> None:
    plan = await app_with_endpoint.ask("run_now", **THE_SAME)
    assert (plan["next_run_at"], plan["source"]) == ("2025-01-01T00:00:00Z", "manual")
    await app_with_endpoint.ask("pause_until", **THE_SAME, untilIso="2025-01-01T02:00:00Z")
    with pytest.raises(Conflict, match=r"cannot run now \(paused"):
        await app_with_endpoint.ask("run_now", **THE_SAME)


async def test_many_are_paused_and_resumed_by_label_and_by_job(app_with_endpoint: ApplicationFixture) -> None:
    await app_with_endpoint.endpoint("b", labels={"team": "web"})
    await app_with_endpoint.endpoint("c", labels={"team": "ops"})
    until = "2025-01-01T02:00:00Z"
    paused = await app_with_endpoint.ask(
        "pause_endpoints", label=["team=web"], untilIso=until, reason="deploy"
    )
    assert paused == {"endpoints": 2, "not_applied": 0}
    listed = (await app_with_endpoint.ask("list_endpoints"))["items"]
    assert {one["id"]: one["paused_until"] for one in listed} == {"b": until, "c": None, "traffic": until}
    assert await app_with_endpoint.ask("resume_endpoints", job_id="job") == {"endpoints": 3, "not_applied": 0}
    assert all(
        one["paused_until"] is None for one in (await app_with_endpoint.ask("list_endpoints"))["items"]
    )


async def test_all_of_a_tenant_are_steered_only_if_that_was_said(
    app_with_endpoint: ApplicationFixture,
) -> None:
    with pytest.raises(InvalidRequest):
        await app_with_endpoint.ask("pause_endpoints", untilIso="2025-01-01T02:00:00Z")
    with pytest.raises(InvalidRequest):
        await app_with_endpoint.ask("resume_endpoints")


async def test_who_may_only_read_steers_nothing(app_with_endpoint: ApplicationFixture) -> None:
    with pytest.raises(NotAllowed):
        await app_with_endpoint.ask(
            "propose_interval", holding=frozenset({Scope.READ}), **THE_SAME, intervalMs=1
        )
    await app_with_endpoint.ask(
        "propose_interval", holding=frozenset({Scope.STEER}), **THE_SAME, intervalMs=1
    )
    with pytest.raises(NotAllowed):
        await app_with_endpoint.ask("delete_endpoint", holding=frozenset({Scope.STEER}), **THE_SAME)


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        ("propose_interval", {"intervalMs": 1}),
        ("propose_next_time", {"nextRunInMs": 1}),
        ("pause_until", {"untilIso": None}),
        ("run_now", {}),
        ("clear_hints", {}),
        ("reset_failures", {}),
        ("explain_endpoint", {}),
        ("list_hints", {}),
        ("get_health", {}),
        ("test_endpoint", {}),
    ],
)
async def test_another_tenants_endpoint_is_not_there(
    app_with_endpoint: ApplicationFixture, tool: str, words: dict[str, Any]
) -> None:
    with pytest.raises(NotFound, match=r"Endpoint traffic not found\."):
        await app_with_endpoint.ask(tool, by="other", **THE_SAME, **words)


LATER: dict[str, Any] = {"untilIso": "2025-01-01T02:00:00Z"}
STORED_BY: dict[str, tuple[dict[str, Any], list[tuple[str, dict[str, Any]]]]] = {
    "a start at once": ({"start_now": True}, []),
    "a first run": ({}, []),
    "a cron line": ({"baseline": {"kind": "cron", "expression": "0 9 * * *"}}, []),
    "a tighter pace": ({}, [("propose_interval", {"intervalMs": 20_000})]),
    "a pace that the guard bounds": (
        {"guard": {"min_interval_ms": 30_000}},
        [("propose_interval", {"intervalMs": 20_000})],
    ),
    "a one-shot": ({}, [("propose_next_time", {"nextRunInMs": 5_000})]),
    "a pause": ({}, [("pause_until", LATER)]),
    "a resume": ({}, [("pause_until", LATER), ("pause_until", {"untilIso": None})]),
    "a run that was asked for": ({}, [("run_now", {})]),
    "hints that were cleared": ({}, [("propose_interval", {"intervalMs": 20_000}), ("clear_hints", {})]),
}


@pytest.mark.parametrize("history", ["new", "ran before"])
@pytest.mark.parametrize("case", STORED_BY)
async def test_an_explanation_names_the_stored_moment_and_it_wins(case: str, history: str) -> None:
    app = ApplicationFixture(jitter_ms=3_000)
    await app.job()
    fields, calls = STORED_BY[case]
    await app.endpoint(**fields)
    if calls and history == "ran before":
        last = app.clock.now() - timedelta(seconds=3)
        key = EndpointKey("default", "traffic")
        await app.store.endpoints.amend(key, lambda old: ChangedEndpoint(evolve(old, last_run_at=last)))
    answers = [await app.ask(operation, **THE_SAME, **arguments) for operation, arguments in calls]
    app.clock.jump(700)
    stored = await app.ask("get_endpoint", **THE_SAME)
    plan = await app.ask("explain_endpoint", **THE_SAME)
    assert {one["next_run_at"] for one in answers[-1:]} <= {stored["next_run_at"]}
    assert plan["next_run_at"] == stored["next_run_at"]
    assert f" {stored['next_run_at']}" in plan["answer"].split(": ")[0]
    winner = {"at": stored["next_run_at"], "source": stored["next_source"]}
    assert plan["governor"]["candidates"].count(winner) == 1
    if plan["governor"]["source"] == stored["next_source"] or case == "a resume":
        assert plan["governor"]["next_run_at"] == stored["next_run_at"]
        assert "Planned anew" not in plan["answer"]
