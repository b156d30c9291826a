"""Endpoints, asked for."""

from datetime import timedelta
from typing import Any

import pytest
from tests.operation_fixtures import A_TARGET, ApplicationFixture

from cadenza.domain.errors import Conflict, InvalidRequest, NotAllowed, NotFound
from cadenza.operations.table import OPERATIONS

OTHER = "other"


@pytest.fixture
async def app_with_job(app: ApplicationFixture) -> ApplicationFixture:
    await app.job()
    return app


async def test_an_endpoint_is_created_planned_and_shown(app_with_job: ApplicationFixture) -> None:
    created = await app_with_job.endpoint(
        labels={"team": "web"},
        guard={"min_interval_ms": 20_000, "max_interval_ms": 300_000},
        description="visitors",
        policy={"timeout_ms": 5_000},
    )
    assert created["next_run_at"] == "2025-01-01T00:01:00Z"
    assert created["next_source"] == "baseline-interval"
    assert created["labels"] == {"team": "web"}
    assert created["target"]["url"] == A_TARGET["url"]
    assert created["policy"]["timeout_ms"] == 5_000
    assert await app_with_job.ask("get_endpoint", endpoint_id="traffic") == created


async def test_start_now_makes_it_due_at_once(app_with_job: ApplicationFixture) -> None:
    created = await app_with_job.endpoint(start_now=True)
    assert (created["next_run_at"], created["next_source"]) == ("2025-01-01T00:00:00Z", "first")


@pytest.mark.parametrize(
    ("fields", "fault"),
    [
        ({"baseline": {"kind": "cron", "expression": "61 * * * *"}}, "baseline.expression"),
        ({"baseline": {"kind": "cron", "expression": "0 0 30 2 *"}}, "baseline.expression"),
        (
            {"baseline": {"kind": "cron", "expression": "* * * * *", "timezone": "Mars"}},
            "baseline.timezone",
        ),
        ({"baseline": {"kind": "every", "interval_ms": True}}, "baseline.interval_ms"),
        ({"baseline": {"kind": "every", "interval_ms": 0}}, "baseline.interval_ms"),
        ({"baseline": {"kind": "once", "at": "2031-01-01T00:00:00"}}, "baseline.at"),
        ({"baseline": {"kind": "once", "at": 1_900_000_000}}, "baseline.at"),
        ({"baseline": {"kind": "sometimes"}}, "baseline.kind"),
        ({"guard": {"min_interval_ms": 2, "max_interval_ms": 1}}, "guard.min_interval_ms"),
        ({"target": {"kind": "http", "url": "https://"}}, "target.url"),
        ({"target": {"kind": "http", "url": "https://a b"}}, "target.url"),
        ({"target": {"kind": "http", "url": "https://a", "headers": {"Host": "b"}}}, "target.headers"),
        ({"target": {"kind": "http", "url": "ftp://a"}}, "target.url"),
        ({"labels": {"a b": "c"}}, "labels"),
        ({"policy": {"max_attempts": 0}}, "policy.max_attempts"),
        ({"description": "x\x00"}, "description"),
    ],
)
async def test_wrong_words_are_refused_with_their_place(
    app_with_job: ApplicationFixture, fields: Any, fault: str
) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await app_with_job.endpoint(**fields)
    assert [one.field for one in refused.value.faults] == [fault]
    assert (await app_with_job.ask("list_endpoints"))["items"] == []


async def test_an_endpoint_needs_a_job_of_its_own_tenant(app_with_job: ApplicationFixture) -> None:
    with pytest.raises(NotFound):
        await app_with_job.endpoint(job_id="nowhere")
    with pytest.raises(NotFound):
        await app_with_job.endpoint(by=OTHER)


async def test_endpoints_are_listed_by_job_and_labels(app_with_job: ApplicationFixture) -> None:
    await app_with_job.job("other-job")
    await app_with_job.endpoint("a", labels={"team": "web", "tier": "1"})
    await app_with_job.endpoint("b", labels={"team": "web"})
    await app_with_job.endpoint("c", job_id="other-job", labels={"team": "ops"})

    async def ids(**wanted: Any) -> list[str]:
        return [one["id"] for one in (await app_with_job.ask("list_endpoints", **wanted))["items"]]

    assert await ids() == ["a", "b", "c"]
    assert await ids(job_id="job") == ["a", "b"]
    assert await ids(label=["team=web"]) == ["a", "b"]
    assert await ids(label=["team=web", "tier=1"]) == ["a"]
    assert await ids(job_id="job", label=["team=ops"]) == []
    page = await app_with_job.ask("list_endpoints", limit=2)
    rest = await app_with_job.ask("list_endpoints", limit=2, cursor=page["next_cursor"])
    assert [one["id"] for one in rest["items"]] == ["c"]


async def test_a_changed_baseline_is_planned_at_once(app_with_job: ApplicationFixture) -> None:
    await app_with_job.endpoint()
    changed = await app_with_job.ask(
        "update_endpoint", endpoint_id="traffic", baseline={"kind": "every", "interval_ms": 10_000}
    )
    assert changed["next_run_at"] == "2025-01-01T00:00:10Z"
    assert changed["target"]["url"] == A_TARGET["url"]


async def test_an_update_moves_an_endpoint_only_to_a_job_that_is_there(
    app_with_job: ApplicationFixture,
) -> None:
    await app_with_job.endpoint()
    with pytest.raises(NotFound):
        await app_with_job.ask("update_endpoint", endpoint_id="traffic", job_id="nowhere")
    await app_with_job.ask("create_job", id="quiet", name="Quiet", active=False)
    moved = await app_with_job.ask("update_endpoint", endpoint_id="traffic", job_id="quiet")
    assert (moved["job_id"], moved["job_active"]) == ("quiet", False)


async def test_null_is_no_value_but_for_a_description(app_with_job: ApplicationFixture) -> None:
    await app_with_job.endpoint(description="words")
    with pytest.raises(InvalidRequest) as refused:
        await app_with_job.ask("update_endpoint", endpoint_id="traffic", baseline=None)
    assert refused.value.field == "baseline"
    changed = await app_with_job.ask("update_endpoint", endpoint_id="traffic", description=None)
    assert changed["description"] is None


async def test_a_disabled_endpoint_is_not_due(app_with_job: ApplicationFixture) -> None:
    await app_with_job.endpoint(enabled=False, start_now=True)
    assert (await app_with_job.ask("explain_endpoint", endpoint_id="traffic"))["gate"] == "disabled"
    await app_with_job.ask("update_endpoint", endpoint_id="traffic", enabled=True)
    assert (await app_with_job.ask("explain_endpoint", endpoint_id="traffic"))["gate"] is None


async def test_a_deleted_endpoint_is_as_if_it_had_never_been(app_with_job: ApplicationFixture) -> None:
    await app_with_job.endpoint()
    await app_with_job.ask("delete_endpoint", endpoint_id="traffic")
    for operation in OPERATIONS:
        if set(operation.command.model_fields) == {"endpoint_id"}:
            with pytest.raises(NotFound, match=r"Endpoint traffic not found\."):
                await app_with_job.ask(operation.name, endpoint_id="traffic")
    with_words: dict[str, dict[str, Any]] = {
        "propose_interval": {"intervalMs": 1},
        "propose_next_time": {"nextRunInMs": 1},
        "pause_until": {"untilIso": None},
        "update_endpoint": {"name": "new"},
        "list_hints": {},
        "list_endpoint_runs": {},
    }
    for name, words in with_words.items():
        with pytest.raises(NotFound):
            await app_with_job.ask(name, endpoint_id="traffic", **words)


async def test_a_deleted_id_can_be_used_again(app_with_job: ApplicationFixture) -> None:
    await app_with_job.endpoint()
    with pytest.raises(Conflict):
        await app_with_job.endpoint()
    await app_with_job.ask("delete_endpoint", endpoint_id="traffic")
    again = await app_with_job.endpoint(name="Back", description="again")
    assert (again["name"], again["description"]) == ("Back", "again")


async def test_limits_are_kept(app_with_job: ApplicationFixture) -> None:
    await app_with_job.ask("set_limits", tenant_id="default", endpoints=1, min_interval_ms=60_000)
    assert (await app_with_job.endpoint())["guard"]["min_interval_ms"] == 60_000
    with pytest.raises(NotAllowed, match="at most 1 endpoints"):
        await app_with_job.endpoint("second")
    with pytest.raises(InvalidRequest):
        await app_with_job.ask(
            "update_endpoint", endpoint_id="traffic", baseline={"kind": "every", "interval_ms": 59_999}
        )
    usage = await app_with_job.ask("get_usage")
    assert (usage["endpoints"], usage["limits"]["endpoints"]) == (1, 1)
    await app_with_job.ask("delete_endpoint", endpoint_id="traffic")
    await app_with_job.endpoint("second")


async def test_another_tenant_sees_nothing(app_with_job: ApplicationFixture) -> None:
    await app_with_job.endpoint(labels={"team": "web"})
    assert (await app_with_job.ask("list_endpoints", by=OTHER, label=["team=web"]))["items"] == []
    with pytest.raises(NotFound) as foreign:
        await app_with_job.ask("get_endpoint", by=OTHER, endpoint_id="traffic")
    with pytest.raises(NotFound) as missing:
        await app_with_job.ask("get_endpoint", by="nobody", endpoint_id="traffic")
    assert foreign.value.message == missing.value.message


async def test_a_trial_calls_the_target_and_leaves_no_trace(app_with_job: ApplicationFixture) -> None:
    created = await app_with_job.endpoint()
    answer = await app_with_job.ask("test_endpoint", endpoint_id="traffic")
    assert answer["status"] == "success"
    assert await app_with_job.ask("get_endpoint", endpoint_id="traffic") == created
    assert (await app_with_job.ask("list_runs"))["items"] == []


async def test_spans_between_moments_are_exact(app_with_job: ApplicationFixture) -> None:
    await app_with_job.endpoint()
    app_with_job.clock.jump(timedelta(seconds=30) / timedelta(milliseconds=1))
    plan = await app_with_job.ask("explain_endpoint", endpoint_id="traffic")
    assert plan["answer"].startswith("traffic runs next at 2025-01-01T00:01:00Z, in 30 seconds")


async def test_a_new_name_moves_no_run(app_with_job: ApplicationFixture) -> None:
    await app_with_job.endpoint()
    app_with_job.clock.jump(30_000)
    renamed = await app_with_job.ask(
        "update_endpoint", endpoint_id="traffic", name="New", labels={"team": "web"}
    )
    assert (renamed["name"], renamed["next_run_at"]) == ("New", "2025-01-01T00:01:00Z")
