"""How an endpoint has fared lately."""

from datetime import UTC, datetime, timedelta

from cadenza.domain.planning.health import EndedRun, health
from cadenza.domain.scheduling.run import RunStatus

NOW = datetime(2030, 1, 1, 12, tzinfo=UTC)


def ended(hours_ago: float, status: RunStatus = RunStatus.SUCCESS, duration_ms: int = 10) -> EndedRun:
    return EndedRun(NOW - timedelta(hours=hours_ago), status, duration_ms)


def test_each_window_counts_what_ended_inside_it() -> None:
    runs = [ended(0.5), ended(2, RunStatus.FAILURE), ended(20, RunStatus.TIMEOUT), ended(24)]
    hour, four, day = health(runs, NOW)
    assert (hour.hours, hour.runs, hour.successes, hour.failures) == (1, 1, 1, 0)
    assert (four.runs, four.failures, four.success_rate) == (2, 1, 0.5)
    assert (day.runs, day.failures) == (3, 2)


def test_what_was_never_dispatched_is_no_run() -> None:
    (hour, *_) = health([ended(0.1, RunStatus.SKIPPED), ended(0.1, RunStatus.CANCELLED)], NOW)
    assert (hour.runs, hour.skipped, hour.success_rate, hour.p95_duration_ms) == (0, 1, None, None)


def test_an_abandoned_run_is_a_failure() -> None:
    assert health([ended(0.1, RunStatus.ABANDONED)], NOW)[0].failures == 1


def test_durations_are_summed_up() -> None:
    (hour, *_) = health([ended(0.1, duration_ms=ms) for ms in range(1, 101)], NOW)
    assert (hour.mean_duration_ms, hour.p95_duration_ms) == (50, 95)


def test_a_window_that_was_cut_says_so() -> None:
    hour, _, day = health([ended(0.5), ended(2)], NOW, most=2)
    assert (hour.complete, day.complete) == (True, False)
