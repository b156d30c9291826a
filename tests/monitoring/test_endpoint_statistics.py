"""Uptime and latency of an endpoint: every run counted in the one bucket in which it ended."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.operation_fixtures import ApplicationFixture

from cadenza.domain.errors import InvalidRequest, NotFound
from cadenza.domain.monitoring.uptime import (
    MOST_BUCKETS,
    MOST_RUNS,
    TIMED,
    EndedGroup,
    StatisticsPeriod,
    endpoint_statistics,
    period_of,
)
from cadenza.domain.planning.health import COUNTED
from cadenza.domain.scheduling.run import RunStatus
from cadenza.testing.contracts.harness import Bench

NOW = datetime(2030, 1, 1, 12, 0, 7, tzinfo=UTC)
MINUTE = 60_000
S = RunStatus


@given(st.integers(1, 720))
def test_a_period_has_at_most_sixty_buckets_and_covers_all_its_hours(hours: int) -> None:
    period = period_of(hours, NOW)
    assert NOW - period.since == timedelta(hours=hours)
    found = endpoint_statistics([], period, NOW)
    assert len(found.buckets) <= MOST_BUCKETS
    assert found.buckets[0].at == period.since
    assert found.buckets[-1].at < NOW <= found.buckets[-1].at + period.span
    assert period.limit <= MOST_RUNS


groups = st.lists(
    st.builds(
        EndedGroup,
        st.integers(0, 59),
        st.sampled_from(RunStatus),
        st.lists(st.integers(0, 9_999), min_size=1),
    ),
    max_size=20,
)


@given(groups)
def test_each_run_counts_once_and_the_total_is_that_of_the_buckets(found: list[EndedGroup]) -> None:
    seen = endpoint_statistics(found, period_of(1, NOW), NOW)
    assert seen.complete
    assert seen.runs == sum(len(one.durations_ms) for one in found if one.status in COUNTED)
    assert seen.runs == sum(bucket.runs for bucket in seen.buckets)
    assert seen.successes == sum(bucket.successes for bucket in seen.buckets)
    timed = sorted(took for one in found if one.status in TIMED for took in one.durations_ms)
    if timed:
        assert sum(took <= (seen.p95_ms or 0) for took in timed) >= len(timed) * 0.95
        assert sum(took < (seen.p50_ms or 0) for took in timed) < len(timed) / 2
    else:
        assert (seen.p50_ms, seen.p95_ms) == (None, None)


def test_skipped_runs_do_not_count_and_abandoned_ones_have_no_latency() -> None:
    found = [
        EndedGroup(0, S.SUCCESS, [10, 20, 30]),
        EndedGroup(0, S.ABANDONED, [60_000]),
        EndedGroup(0, S.SKIPPED, [0, 0]),
        EndedGroup(2, S.TIMEOUT, [5_000]),
    ]
    seen = endpoint_statistics(found, period_of(1, NOW), NOW)
    assert (seen.runs, seen.successes, seen.uptime) == (5, 3, 0.6)
    assert (seen.p50_ms, seen.p95_ms) == (20, 5_000)
    first, second, third = seen.buckets[:3]
    assert (first.uptime, first.p50_ms, first.p95_ms) == (0.75, 20, 30)
    assert (second.runs, second.uptime, second.p50_ms) == (0, None, None)
    assert (third.uptime, third.p95_ms) == (0.0, 5_000)


def test_with_too_many_runs_the_period_begins_where_they_begin() -> None:
    period = StatisticsPeriod(NOW - timedelta(hours=1), timedelta(minutes=1), limit=3)
    seen = endpoint_statistics(
        [EndedGroup(57, S.SUCCESS, [1, 2]), EndedGroup(59, S.FAILURE, [3])], period, NOW
    )
    assert not seen.complete
    assert seen.since == NOW - timedelta(minutes=3)
    assert [bucket.runs for bucket in seen.buckets] == [2, 0, 1]


def test_a_run_that_ended_at_this_very_moment_is_in_the_last_bucket() -> None:
    seen = endpoint_statistics([EndedGroup(60, S.SUCCESS, [1])], period_of(1, NOW), NOW)
    assert seen.buckets[-1].runs == 1


async def run(app: ApplicationFixture, status: RunStatus = RunStatus.SUCCESS, duration_ms: int = 0) -> None:
    """What is due runs now."""
    bench = Bench(app.store)
    bench.clock = app.clock
    await bench.end(*await bench.claim(), status=status, duration_ms=duration_ms)


async def test_uptime_and_latency_of_an_endpoint_are_shown(app: ApplicationFixture) -> None:
    await app.job()
    await app.endpoint("a", start_now=True, baseline={"kind": "every", "interval_ms": MINUTE})
    for status, took in ((S.SUCCESS, 20), (S.FAILURE, 80), (S.SUCCESS, 40), (S.SUCCESS, 30)):
        await run(app, status, took)
        app.clock.jump(MINUTE)
    seen = await app.ask("get_endpoint_statistics", endpoint_id="a", hours=1)
    assert (seen["runs"], seen["uptime"], seen["p50_ms"], seen["p95_ms"]) == (4, 0.75, 30, 80)
    assert (seen["span_ms"], len(seen["buckets"]), seen["complete"]) == (MINUTE, 60, True)
    assert [one["uptime"] for one in seen["buckets"][-4:]] == [1.0, 0.0, 1.0, 1.0]
    assert (await app.ask("get_endpoint_statistics", endpoint_id="a", hours=720))["runs"] == 4


async def test_statistics_are_of_an_own_endpoint_and_of_a_month_at_most(app: ApplicationFixture) -> None:
    await app.job()
    await app.endpoint("a")
    with pytest.raises(NotFound):
        await app.ask("get_endpoint_statistics", by="south", endpoint_id="a")
    for hours in (0, 721):
        with pytest.raises(InvalidRequest, match="hours"):
            await app.ask("get_endpoint_statistics", endpoint_id="a", hours=hours)


async def test_failing_endpoints_are_counted_and_listed_for_their_tenant(app: ApplicationFixture) -> None:
    await app.job()
    for name in ("a", "b", "c"):
        await app.endpoint(name, start_now=name != "c")
    await run(app, S.FAILURE)
    assert await app.ask("count_rows") == {"failing": 2, "complete": True}
    assert await app.ask("count_rows", by="south") == {"failing": 0, "complete": True}
    page = await app.ask("list_rows", failing=True, limit=1)
    assert [one["id"] for one in page["items"]] == ["a"]
    assert page["items"][0]["failure_count"] == 1
    later = await app.ask("list_rows", failing=True, limit=1, cursor=page["next_cursor"])
    assert ([one["id"] for one in later["items"]], later["next_cursor"]) == (["b"], None)
    await app.ask("update_endpoint", endpoint_id="a", enabled=False)
    assert (await app.ask("count_rows"))["failing"] == 1
