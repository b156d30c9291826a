"""How runs ended lately, none counted twice and none forgotten."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from cadenza.domain.monitoring.statistics import MOST_BUCKETS, SPANS_S, run_histogram
from cadenza.domain.planning.health import COUNTED, EndedRun
from cadenza.domain.scheduling.run import RunStatus

NOW = datetime(2030, 1, 1, 12, 0, 7, tzinfo=UTC)


@st.composite
def lately(draw: st.DrawFn) -> tuple[datetime, list[EndedRun]]:
    reach_ms = draw(st.integers(1_000, 5 * 3_600_000))
    ages = draw(st.lists(st.integers(0, reach_ms), max_size=30))
    ended = [
        EndedRun(
            NOW - timedelta(milliseconds=age),
            draw(st.sampled_from(RunStatus)),
            draw(st.integers(0, 1_000)),
            draw(st.integers(0, 10_000)),
        )
        for age in ages
    ]
    return NOW - timedelta(milliseconds=reach_ms), ended


@given(lately())
def test_every_run_is_in_the_one_bucket_in_which_it_ended(case: tuple[datetime, list[EndedRun]]) -> None:
    since, ended = case
    found = run_histogram(ended, since=since, now=NOW)
    for bucket in found.buckets:
        inside = [one for one in ended if bucket.at <= one.finished_at < bucket.at + found.span]
        assert sum(bucket.statuses.values()) == len(inside)
        for status, count in bucket.statuses.items():
            assert count == sum(one.status is status for one in inside)
        late = sorted(one.late_ms for one in inside if one.status in COUNTED)
        assert bucket.late_p99_ms == (late[-1] if late else None), "of less than a hundred, the latest"
    assert sum(sum(bucket.statuses.values()) for bucket in found.buckets) == len(ended)


@given(lately())
def test_there_are_no_more_buckets_than_a_chart_can_show(case: tuple[datetime, list[EndedRun]]) -> None:
    since, ended = case
    found = run_histogram(ended, since=since, now=NOW)
    assert 1 <= len(found.buckets) <= MOST_BUCKETS + 1
    assert found.span.total_seconds() in SPANS_S
    assert found.buckets[0].at <= since
    assert found.buckets[-1].at <= NOW < found.buckets[-1].at + found.span


def test_the_rate_and_the_percentiles_are_of_what_was_dispatched() -> None:
    ended = [EndedRun(NOW, RunStatus.SUCCESS, 1, late) for late in range(1, 100)]
    ended += [EndedRun(NOW, RunStatus.FAILURE, 1, 1_000), EndedRun(NOW, RunStatus.SKIPPED, 0, 50_000)]
    found = run_histogram(ended, since=NOW - timedelta(minutes=1), now=NOW)
    assert (found.runs, found.success_rate) == (100, 0.99)
    assert (found.late_p50_ms, found.late_p99_ms) == (50, 99)
    nothing = run_histogram([], since=NOW - timedelta(minutes=1), now=NOW)
    assert (nothing.runs, nothing.success_rate, nothing.late_p99_ms) == (0, None, None)
