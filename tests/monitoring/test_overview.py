"""What the dashboard asks for: the overview, the board, and timelines."""

from dataclasses import replace

import pytest
from tests.operation_fixtures import ApplicationFixture

from cadenza.domain.access.tenant import Limits, Tenant
from cadenza.domain.errors import InvalidRequest, NotFound
from cadenza.domain.monitoring.slo import Judgement, Slo, SloMeasurement, SloState
from cadenza.domain.scheduling.run import RunStatus
from cadenza.operations.application import Application
from cadenza.ports.monitoring import SloStatus
from cadenza.testing.clock import NEW_YEAR, FakeClock
from cadenza.testing.contracts.harness import Bench

MINUTE = 60_000


async def run(app: ApplicationFixture, status: RunStatus = RunStatus.SUCCESS) -> None:
    """What is due runs now."""
    bench = Bench(app.store)
    bench.clock = app.clock
    await bench.end(*await bench.claim(), status=status)


async def test_service_levels_are_fresh_by_the_clock_on_the_wall(app: ApplicationFixture) -> None:
    kept = SloState(measured=SloMeasurement(Slo.DEAD_MAN, Judgement.GOOD, 1.0, 60_000, 1))
    await app.store.slos.put_slos([SloStatus("a-process", "daily", NEW_YEAR, 15, kept)])
    system_clock = FakeClock()
    app.application = Application(replace(app.application.dependencies, system_clock=system_clock))
    app.clock.jump(48 * 60 * MINUTE)
    assert len((await app.ask("get_slo"))["items"]) == 1
    system_clock.jump(60 * MINUTE + 1)
    assert (await app.ask("get_slo"))["items"] == []


async def test_an_overview_of_nothing_is_quiet(app: ApplicationFixture) -> None:
    seen = await app.ask("get_overview")
    assert (seen["endpoints"], seen["in_flight"], sum(seen["forecast"]["due"])) == (0, 0, 0)
    assert (seen["pulse"]["runs"], seen["pulse"]["success_rate"]) == (0, None)
    assert {quota["level"] for quota in seen["quotas"]} == {"ok"}
    assert seen["planners"] == []


async def test_the_overview_counts_what_is_ahead_in_flight_and_behind(app: ApplicationFixture) -> None:
    await app.job()
    await app.endpoint("a", start_now=True)
    await app.endpoint("b", baseline={"kind": "every", "interval_ms": 5 * MINUTE})
    await run(app)
    app.clock.jump(MINUTE)
    await run(app, RunStatus.FAILURE)
    app.clock.jump(MINUTE)
    bench = Bench(app.store)
    bench.clock = app.clock
    await bench.claim(limit=1)
    await app.endpoint("foreign", by="south", job_id=(await app.job("other", by="south"))["id"])
    seen = await app.ask("get_overview", ahead_minutes=15)
    assert (seen["endpoints"], seen["in_flight"]) == (2, 1)
    assert (seen["pulse"]["runs"], seen["pulse"]["success_rate"], seen["pulse"]["complete"]) == (2, 0.5, True)
    assert sum(seen["forecast"]["due"]) == 3, "the one that is in flight is not foretold"
    assert seen["forecast"]["span_ms"] * len(seen["forecast"]["due"]) == 15 * MINUTE


@pytest.mark.parametrize(
    ("limit", "level"), [(None, "ok"), (6, "ok"), (5, "near"), (4, "spent"), (0, "spent")]
)
async def test_quota_levels(app: ApplicationFixture, limit: int | None, level: str) -> None:
    await app.job()
    for n in range(4):
        await app.endpoint(f"endpoint-{n}")
    await app.store.tenants.put_tenant(Tenant(id="default", name="default", limits=Limits(endpoints=limit)))
    (quota,) = [one for one in (await app.ask("get_overview"))["quotas"] if one["name"] == "endpoints"]
    assert (quota["used"], quota["limit"], quota["level"]) == (4, limit, level)


async def test_a_row_tells_how_often_it_runs_now_inside_its_guard(app: ApplicationFixture) -> None:
    await app.job()
    await app.endpoint("a", start_now=True, guard={"min_interval_ms": 20_000, "max_interval_ms": None})
    await app.ask("propose_interval", endpoint_id="a", intervalMs=5_000, ttlMinutes=10, reason="a surge")
    await run(app)
    app.clock.jump(20_000)
    await run(app, RunStatus.TIMEOUT)
    (row,) = (await app.ask("list_rows"))["items"]
    assert row["cadence_ms"] == 20_000
    assert row["interval_hint"]["reason"] == "a surge"
    assert [one["status"] for one in row["results"]] == ["success", "timeout"]
    app.clock.jump(11 * MINUTE)
    (row,) = (await app.ask("list_rows", endpoint_id=["a", "nobody"]))["items"]
    assert (row["cadence_ms"], row["interval_hint"]) == (MINUTE, None)
    assert (await app.ask("list_rows", by="south", endpoint_id=["a"]))["items"] == []


async def test_rows_come_page_by_page_and_those_deleted_do_not(app: ApplicationFixture) -> None:
    await app.job()
    for name in ("a", "b", "c"):
        await app.endpoint(name)
    await app.ask("delete_endpoint", endpoint_id="b")
    first = await app.ask("list_rows", limit=1)
    second = await app.ask("list_rows", limit=1, cursor=first["next_cursor"])
    assert [one["items"][0]["id"] for one in (first, second)] == ["a", "c"]
    assert second["next_cursor"] is None
    assert (await app.ask("list_rows", endpoint_id=["b"]))["items"] == []


async def test_a_timeline_holds_runs_and_what_steered_them(app: ApplicationFixture) -> None:
    await app.job()
    await app.endpoint("a", start_now=True)
    await run(app)
    app.clock.jump(MINUTE)
    await app.ask("propose_interval", endpoint_id="a", intervalMs=30_000, ttlMinutes=5, reason="a surge")
    await run(app, RunStatus.FAILURE)
    app.clock.jump(2 * MINUTE)
    await app.ask("clear_hints", endpoint_id="a")
    seen = await app.ask("get_timeline", endpoint_id="a")
    assert [one["status"] for one in seen["runs"]] == ["success", "failure"]
    (spell,) = seen["spells"]
    assert (spell["kind"], spell["reason"], spell["origin"]) == ("interval", "a surge", "test")
    assert (spell["begin"], spell["end"]) == ("2025-01-01T00:01:00Z", "2025-01-01T00:03:00Z")
    short = await app.ask("get_timeline", endpoint_id="a", since="2025-01-01T00:00:30Z", limit=1)
    assert ([one["status"] for one in short["runs"]], short["complete"]) == (["failure"], True)
    cut = await app.ask("get_timeline", endpoint_id="a", limit=1)
    assert ([one["status"] for one in cut["runs"]], cut["complete"]) == (["failure"], False)


async def test_a_run_that_is_open_is_the_last_on_the_timeline(app: ApplicationFixture) -> None:
    await app.job()
    await app.endpoint("a", start_now=True)
    await run(app)
    app.clock.jump(MINUTE)
    bench = Bench(app.store)
    bench.clock = app.clock
    await bench.claim()
    app.clock.jump(1)
    seen = await app.ask("get_timeline", endpoint_id="a")
    assert [one["status"] for one in seen["runs"]] == ["success", None]


async def test_a_timeline_goes_forward_and_is_the_owners_alone(app: ApplicationFixture) -> None:
    await app.job()
    await app.endpoint("a")
    with pytest.raises(InvalidRequest, match="since must be earlier"):
        await app.ask("get_timeline", endpoint_id="a", since="2025-01-02T00:00:00Z")
    with pytest.raises(NotFound):
        await app.ask("get_timeline", endpoint_id="a", by="south")
