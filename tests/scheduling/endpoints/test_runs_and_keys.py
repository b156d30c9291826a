"""Runs, health, usage, keys and secrets, asked for."""

from datetime import timedelta

import pytest
from tests.operation_fixtures import ApplicationFixture

from cadenza.domain.access.key import Scope
from cadenza.domain.errors import InvalidRequest, NotAllowed, NotFound
from cadenza.domain.scheduling.run import RunStatus
from cadenza.operations.access.key_tokens import caller_of_token
from cadenza.testing.contracts.harness import Bench


@pytest.fixture
async def app_with_runs(app: ApplicationFixture) -> ApplicationFixture:
    """One endpoint that failed, succeeded and was skipped."""
    await app.job()
    await app.endpoint(start_now=True)
    bench = Bench(app.store)
    bench.clock = app.clock
    for status in (RunStatus.FAILURE, RunStatus.SUCCESS):
        raised = "Traceback ..." if status is RunStatus.FAILURE else None
        await bench.run_once(status, duration_ms=30, response={"visitors": 7}, traceback=raised)
        app.clock.jump(60_000)
    return app


async def test_runs_are_listed_newest_first_and_filtered(app_with_runs: ApplicationFixture) -> None:
    runs = (await app_with_runs.ask("list_runs"))["items"]
    assert [run["status"] for run in runs] == ["success", "failure"]
    assert runs == (await app_with_runs.ask("list_endpoint_runs", endpoint_id="traffic"))["items"]
    assert [run["status"] for run in (await app_with_runs.ask("list_runs", status=["failure"]))["items"]] == [
        "failure"
    ]
    assert (await app_with_runs.ask("list_runs", source=["manual"]))["items"] == []
    assert (await app_with_runs.ask("list_runs", job_id="other"))["items"] == []
    later = (await app_with_runs.ask("list_runs", since="2025-01-01T00:00:30Z"))["items"]
    assert [run["status"] for run in later] == ["success"]


async def test_a_run_is_shown_with_its_response(app_with_runs: ApplicationFixture) -> None:
    run = (await app_with_runs.ask("list_runs", limit=1))["items"][0]
    shown = await app_with_runs.ask("get_run", run_id=run["id"])
    assert shown == {**run, "traceback": None}
    assert shown["response"] == {"visitors": 7}
    assert "tenant_id" not in shown


async def test_runs_are_followed_in_the_order_of_their_commits(app_with_runs: ApplicationFixture) -> None:
    begin = await app_with_runs.ask("follow_runs")
    assert (begin["items"], begin["more"]) == ([], False)
    bench = Bench(app_with_runs.store)
    bench.clock = app_with_runs.clock
    ends = (RunStatus.FAILURE, RunStatus.SUCCESS, RunStatus.FAILURE)
    for status in ends:
        await bench.run_once(status, response={"visitors": 8})
        app_with_runs.clock.jump(60_000)
    cursor = begin["next_cursor"]
    first = await app_with_runs.ask("follow_runs", cursor=cursor, limit=2)
    assert ([run["status"] for run in first["items"]], first["more"]) == (["failure", "success"], True)
    assert first["items"][0]["response"] == {"visitors": 8}
    rest = await app_with_runs.ask("follow_runs", cursor=first["next_cursor"], limit=2)
    assert [run["status"] for run in rest["items"]] == ["failure"]
    failed = await app_with_runs.ask("follow_runs", cursor=cursor, status=["failure"])
    assert [run["status"] for run in failed["items"]] == ["failure", "failure"]
    for nothing in ({"job_id": "other"}, {"endpoint_id": "other"}, {"source": ["manual"]}, {"by": "other"}):
        assert (await app_with_runs.ask("follow_runs", cursor=cursor, limit=1, **nothing))["items"] == []
    with pytest.raises(InvalidRequest):
        await app_with_runs.ask("follow_runs", cursor="xx")


async def test_a_traceback_is_shown_with_its_run_and_not_in_lists(app_with_runs: ApplicationFixture) -> None:
    (run,) = (await app_with_runs.ask("list_runs", status=["failure"]))["items"]
    assert "traceback" not in run
    assert (await app_with_runs.ask("get_run", run_id=run["id"]))["traceback"] == "Traceback ..."


async def test_another_tenant_sees_no_run(app_with_runs: ApplicationFixture) -> None:
    run = (await app_with_runs.ask("list_runs"))["items"][0]
    with pytest.raises(NotFound):
        await app_with_runs.ask("get_run", by="other", run_id=run["id"])
    assert (await app_with_runs.ask("list_runs", by="other", endpoint_id="traffic"))["items"] == []
    cursor = (await app_with_runs.ask("list_runs", limit=1))["next_cursor"]
    assert (await app_with_runs.ask("list_runs", by="other", cursor=cursor))["items"] == []
    with pytest.raises(NotFound):
        await app_with_runs.ask("list_endpoint_runs", by="other", endpoint_id="traffic")


async def test_health_sums_up(app_with_runs: ApplicationFixture) -> None:
    health = await app_with_runs.ask("get_health", endpoint_id="traffic")
    assert [window["hours"] for window in health["windows"]] == [1, 4, 24]
    assert health["windows"][0]["success_rate"] == 0.5
    assert health["failure_count"] == 0


async def test_failures_are_forgotten_on_request(app: ApplicationFixture) -> None:
    await app.job()
    await app.endpoint(start_now=True)
    bench = Bench(app.store)
    await bench.run_once(RunStatus.FAILURE)
    assert (await app.ask("get_endpoint", endpoint_id="traffic"))["failure_count"] == 1
    assert (await app.ask("reset_failures", endpoint_id="traffic"))["failure_count"] == 0


async def test_usage_counts_what_ran(app_with_runs: ApplicationFixture) -> None:
    usage = await app_with_runs.ask("get_usage")
    assert (usage["month"], usage["runs"], usage["endpoints"]) == ("2025-01", 2, 1)
    assert usage["resets_at"] == "2025-02-01T00:00:00Z"
    assert usage["history"] == [{"month": "2025-01", "runs": 2, "planner_tokens": 0}]
    assert (await app_with_runs.ask("get_usage", by="other"))["runs"] == 0


async def test_a_key_opens_what_its_scopes_allow_until_it_is_taken_back(app: ApplicationFixture) -> None:
    made = await app.ask("create_key", name="ci", scopes=["steer"])
    assert made["key"].startswith(f"cad_{made['id']}_")
    caller = await caller_of_token(app.store.keys, made["key"], app.clock.now())
    assert caller is not None
    assert (caller.tenant_id, caller.scopes) == ("default", frozenset({Scope.STEER}))
    listed = (await app.ask("list_keys"))["items"]
    assert [key["name"] for key in listed] == ["ci"]
    assert "key" not in listed[0]
    await app.ask("delete_key", key_id=made["id"])
    assert await caller_of_token(app.store.keys, made["key"], app.clock.now()) is None


@pytest.mark.parametrize("change", ["{}x", "cad_", "cad_{}", "", "bearer", "{}\udcff", "CAD_{}"])
async def test_what_is_not_quite_a_key_opens_nothing(app: ApplicationFixture, change: str) -> None:
    made = await app.ask("create_key", name="ci")
    assert await caller_of_token(app.store.keys, change.format(made["key"]), app.clock.now()) is None
    half = made["key"].rpartition("_")[0]
    assert await caller_of_token(app.store.keys, half, app.clock.now()) is None


async def test_a_key_runs_out(app: ApplicationFixture) -> None:
    end = app.clock.now() + timedelta(minutes=1)
    made = await app.ask("create_key", name="ci", expires_at=end)
    assert await caller_of_token(app.store.keys, made["key"], end - timedelta(seconds=1)) is not None
    assert await caller_of_token(app.store.keys, made["key"], end) is None
    with pytest.raises(InvalidRequest):
        await app.ask("create_key", name="late", expires_at=app.clock.now())


async def test_only_who_administers_makes_keys(app: ApplicationFixture) -> None:
    for name in ("create_key", "list_keys", "delete_key"):
        words = {"create_key": {"name": "a"}, "delete_key": {"key_id": "a"}}.get(name, {})
        with pytest.raises(NotAllowed):
            await app.ask(name, holding=frozenset({Scope.WRITE}), **words)


async def test_another_tenant_cannot_take_a_key_back(app: ApplicationFixture) -> None:
    made = await app.ask("create_key", name="ci")
    with pytest.raises(NotFound):
        await app.ask("delete_key", by="other", key_id=made["id"])
    assert (await app.ask("list_keys", by="other"))["items"] == []


async def test_a_secret_is_named_and_never_shown(app: ApplicationFixture) -> None:
    await app.ask("put_secret", secret_name="TOKEN", value="hush")
    page = await app.ask("list_secrets")
    assert [secret["name"] for secret in page["items"]] == ["TOKEN"]
    assert "hush" not in str(page)
    assert (await app.ask("list_secrets", by="other"))["items"] == []
    await app.ask("delete_secret", secret_name="TOKEN")
    assert (await app.ask("list_secrets"))["items"] == []


async def test_a_refused_secret_is_not_repeated(app: ApplicationFixture) -> None:
    with pytest.raises(InvalidRequest) as refused:
        await app.ask("put_secret", secret_name="A B", value="hush" * 10_000)
    assert "hush" not in str(refused.value.faults)
