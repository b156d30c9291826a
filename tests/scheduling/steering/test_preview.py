"""A preview tells what steering would do, and does nothing."""

from typing import Any

import pytest
from tests.operation_fixtures import ApplicationFixture

from cadenza.domain.access.key import Scope
from cadenza.domain.errors import Conflict, InvalidRequest, NotFound

READER = frozenset({Scope.READ})
WAYS: list[tuple[str, str, dict[str, Any]]] = [
    ("propose_interval", "propose_interval", {"intervalMs": 20_000, "ttlMinutes": 5, "reason": "surge"}),
    ("propose_next_time", "propose_next_time", {"nextRunInMs": 5_000}),
    ("pause_until", "pause_until", {"untilIso": "2025-01-01T02:00:00Z"}),
    ("clear_hints", "clear_hints", {}),
    ("run_now", "run_now", {}),
]


@pytest.fixture
async def app_with_hint(app: ApplicationFixture) -> ApplicationFixture:
    await app.job()
    await app.endpoint()
    await app.ask("propose_interval", endpoint_id="traffic", intervalMs=45_000)
    return app


@pytest.mark.parametrize(("tool", "operation", "words"), WAYS, ids=[way[0] for way in WAYS])
async def test_what_is_seen_is_what_is_done_then(
    app_with_hint: ApplicationFixture, tool: str, operation: str, words: dict[str, Any]
) -> None:
    before = await app_with_hint.ask("get_endpoint", endpoint_id="traffic")
    seen = await app_with_hint.ask(
        "preview_steering", holding=READER, endpoint_id="traffic", tool=tool, arguments=words
    )
    assert await app_with_hint.ask("get_endpoint", endpoint_id="traffic") == before
    assert len((await app_with_hint.ask("list_hints", endpoint_id="traffic"))["items"]) == 1
    assert seen["before"]["plan"] == await app_with_hint.ask("explain_endpoint", endpoint_id="traffic")
    assert seen["after"]["plan"] == await app_with_hint.ask(operation, endpoint_id="traffic", **words)
    assert seen["changed"] is (seen["before"]["plan"]["next_run_at"] != seen["after"]["plan"]["next_run_at"])


async def test_the_next_runs_are_told_both_ways(app_with_hint: ApplicationFixture) -> None:
    words = {"intervalMs": 20_000, "ttlMinutes": 1}
    seen = await app_with_hint.ask(
        "preview_steering", endpoint_id="traffic", tool="propose_interval", arguments=words, runs=4
    )
    assert [run["at"] for run in seen["before"]["runs"]] == [
        "2025-01-01T00:00:45Z",
        "2025-01-01T00:01:30Z",
        "2025-01-01T00:02:15Z",
        "2025-01-01T00:03:00Z",
    ]
    assert [(run["at"], run["source"]) for run in seen["after"]["runs"]] == [
        ("2025-01-01T00:00:20Z", "ai-interval"),
        ("2025-01-01T00:00:40Z", "ai-interval"),
        ("2025-01-01T00:01:00Z", "ai-interval"),
        ("2025-01-01T00:02:00Z", "baseline-interval"),
    ]


@pytest.mark.parametrize(
    ("tool", "words", "field"),
    [
        ("propose_interval", {"intervalMs": 0}, "arguments.intervalMs"),
        ("propose_next_time", {}, "arguments.nextRunInMs"),
        ("pause_until", {"untilIso": "2024-01-01T00:00:00Z"}, "arguments.untilIso"),
        ("run_now", {"soon": True}, "arguments"),
        ("explode", {}, "tool"),
    ],
)
async def test_what_the_tool_would_refuse_is_refused(
    app_with_hint: ApplicationFixture, tool: str, words: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await app_with_hint.ask("preview_steering", endpoint_id="traffic", tool=tool, arguments=words)
    assert refused.value.field == field


async def test_a_run_that_cannot_be_now_is_no_preview(app_with_hint: ApplicationFixture) -> None:
    await app_with_hint.ask("pause_until", endpoint_id="traffic", untilIso="2025-01-01T02:00:00Z")
    with pytest.raises(Conflict):
        await app_with_hint.ask("preview_steering", endpoint_id="traffic", tool="run_now")
    with pytest.raises(NotFound):
        await app_with_hint.ask("preview_steering", by="south", endpoint_id="traffic", tool="run_now")
