"""What a form asks about an endpoint before it is stored: its next runs, and a trial of its target."""

from typing import Any

import pytest
from tests.operation_fixtures import A_TARGET, EVERY_MINUTE, ApplicationFixture

from cadenza.adapters.access.rate_limiter import ENDPOINT_TRIALS_A_MINUTE, WINDOWS_A_MINUTE
from cadenza.domain.access.audit import MASKED
from cadenza.domain.access.key import Scope
from cadenza.domain.errors import Conflict, InvalidRequest, NotAllowed, TooOften
from cadenza.domain.scheduling.run import Claim, Outcome, RunStatus
from cadenza.operations.scheduling.endpoints import UNSAVED_NAME
from cadenza.operations.scheduling.preview import LONGEST_TRIAL_MS

READER = frozenset({Scope.READ})
BASELINES: list[dict[str, Any]] = [
    EVERY_MINUTE,
    {"kind": "cron", "expression": "*/5 * * * *", "timezone": "Europe/Berlin"},
    {"kind": "once", "at": "2025-01-01T02:00:00Z"},
]


async def preview(app: ApplicationFixture, **given: Any) -> list[str]:
    answer = await app.ask("preview_baseline", holding=READER, **given)
    return [run["at"] for run in answer["runs"]]


@pytest.mark.parametrize("baseline", BASELINES, ids=lambda one: one["kind"])
async def test_a_preview_shows_the_runs_that_the_created_endpoint_has(
    app: ApplicationFixture, baseline: dict[str, Any]
) -> None:
    seen = await preview(app, baseline=baseline, runs=5)
    await app.job()
    created = await app.endpoint(baseline=baseline)
    assert seen[0] == created["next_run_at"]
    outlook = await app.ask("preview_steering", endpoint_id="traffic", tool="clear_hints", runs=5)
    assert seen == [run["at"] for run in outlook["before"]["runs"]]


async def test_a_preview_stores_nothing(app: ApplicationFixture) -> None:
    await preview(app, baseline=EVERY_MINUTE)
    assert (await app.ask("list_endpoints"))["items"] == []
    assert await app.store.audit.records("default") == []


async def test_the_guard_and_a_start_at_once_show_in_the_preview(app: ApplicationFixture) -> None:
    assert await preview(app, baseline=EVERY_MINUTE, guard={"min_interval_ms": 90_000}, runs=2) == [
        "2025-01-01T00:01:30Z",
        "2025-01-01T00:03:00Z",
    ]
    assert (await preview(app, baseline=EVERY_MINUTE, start_now=True))[0] == "2025-01-01T00:00:00Z"


async def test_the_limits_of_the_tenant_show_in_the_preview(app: ApplicationFixture) -> None:
    await app.ask("set_limits", tenant_id="default", min_interval_ms=120_000)
    every_minute = {"kind": "cron", "expression": "* * * * *"}
    assert await preview(app, baseline=every_minute, runs=2) == [
        "2025-01-01T00:02:00Z",
        "2025-01-01T00:04:00Z",
    ]
    with pytest.raises(InvalidRequest, match="minimum interval") as refused:
        await preview(app, baseline=EVERY_MINUTE)
    assert refused.value.field == "baseline"


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"baseline": {"kind": "cron", "expression": "61 * * * *"}}, "baseline.expression"),
        ({"baseline": {"kind": "cron", "expression": "@daily", "timezone": "Mars"}}, "baseline.timezone"),
        (
            {"baseline": EVERY_MINUTE, "guard": {"min_interval_ms": 2, "max_interval_ms": 1}},
            "guard.min_interval_ms",
        ),
    ],
)
async def test_a_baseline_that_would_be_refused_is_refused_at_its_field(
    app: ApplicationFixture, given: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await preview(app, **given)
    assert refused.value.field == field


async def test_an_unsaved_target_is_called_as_it_is_given(app: ApplicationFixture) -> None:
    called: list[Claim] = []

    async def answer(claim: Claim) -> Outcome:
        called.append(claim)
        return Outcome(RunStatus.FAILURE, 12, error="it answered 503", response={"status": 503})

    app.dispatcher.on(UNSAVED_NAME, answer)
    seen = await app.ask("test_target", target=A_TARGET, timeout_ms=LONGEST_TRIAL_MS * 2)
    assert (seen["status"], seen["error"]) == ("failure", "it answered 503")
    (claim,) = called
    assert claim.endpoint.target.url == A_TARGET["url"]  # type: ignore[union-attr]
    assert claim.endpoint.policy.timeout_ms == LONGEST_TRIAL_MS
    assert (await app.ask("list_runs"))["items"] == []
    assert (await app.ask("list_endpoints"))["items"] == []


async def test_a_trial_of_an_unsaved_target_is_recorded_without_values_of_headers(
    app: ApplicationFixture,
) -> None:
    await app.ask("test_target", target={**A_TARGET, "headers": {"authorization": "Bearer word"}})
    (record,) = await app.store.audit.records("default")
    assert (record.operation, record.subject_kind, record.subject_id) == ("test_target", "target", None)
    assert ("target.url", None, A_TARGET["url"]) in record.changes
    assert ("target.headers.authorization", None, MASKED) in record.changes
    assert "Bearer word" not in str(record)


async def test_unsaved_targets_of_a_tenant_share_the_rate_of_one_endpoint(app: ApplicationFixture) -> None:
    for number in range(ENDPOINT_TRIALS_A_MINUTE // WINDOWS_A_MINUTE):
        await app.ask("test_target", target={**A_TARGET, "url": f"https://example.com/{number}"})
    with pytest.raises(TooOften):
        await app.ask("test_target", target=A_TARGET)
    await app.ask("test_target", by="other", target=A_TARGET)
    app.clock.jump(10_000)
    await app.ask("test_target", target=A_TARGET)


async def test_who_may_not_create_endpoints_may_not_try_targets(app: ApplicationFixture) -> None:
    with pytest.raises(NotAllowed):
        await app.ask("test_target", holding=frozenset({Scope.STEER}), target=A_TARGET)


async def test_a_target_that_is_refused_is_refused_at_its_field(app: ApplicationFixture) -> None:
    for target, field in (
        ({**A_TARGET, "success_path": "state"}, "target.success_path"),
        ({**A_TARGET, "headers": {"bad header": "x"}}, "target.headers"),
    ):
        with pytest.raises(InvalidRequest) as refused:
            await app.ask("test_target", target=target)
        assert refused.value.field == field


async def test_a_heartbeat_cannot_be_tried(app: ApplicationFixture) -> None:
    with pytest.raises(Conflict, match="its sender runs it"):
        await app.ask("test_target", target={"kind": "heartbeat"})
