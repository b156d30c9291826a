"""Rolling aggregates, whatever comes and whenever: they forget in time, and count what there was."""

from collections import Counter
from datetime import datetime, timedelta
from math import ceil

from hypothesis import given
from hypothesis import strategies as st

from cadenza.domain.monitoring.rolling import RollingStatistics, percentile, rounded
from cadenza.testing.clock import NEW_YEAR

MINUTES = 5
seconds = st.integers(0, 20 * 60)
durations = st.floats(0.001, 1e7, allow_nan=False)


def at(second: float) -> datetime:
    return NEW_YEAR + timedelta(seconds=second)


def in_window(second: int, now: int) -> bool:
    """Is it in one of the last five minutes, or in the present one?"""
    return now // 60 - MINUTES <= second // 60 <= now // 60


@given(st.lists(st.tuples(seconds, durations)))
def test_the_window_holds_what_happened_in_its_minutes_and_nothing_else(
    jobs: list[tuple[int, float]],
) -> None:
    jobs.sort()
    rolling, now = RollingStatistics(MINUTES), max((second for second, _ in jobs), default=0)
    for second, duration in jobs:
        rolling.run(at(second), duration)
    found = sum((bucket.runs for _, bucket in rolling.window(at(now))), Counter[float]())
    assert found == Counter(rounded(duration) for second, duration in jobs if in_window(second, now))


@given(st.lists(st.tuples(seconds, st.booleans()), min_size=1), st.integers(0, 600))
def test_the_time_that_everything_was_in_use_is_what_a_stopwatch_would_say(
    changes: list[tuple[int, bool]], later: int
) -> None:
    changes.sort(key=lambda change: change[0])
    now = changes[-1][0] + later
    rolling = RollingStatistics(MINUTES)
    for second, full in changes:
        rolling.in_flight(at(second), full=full)
    buckets = [bucket for _, bucket in rolling.window(at(now))]
    ends = [second for second, _ in changes[1:]] + [now]
    held = list(zip(changes, ends, strict=True))
    full_s = sum(
        in_window(second, now) for (begin, full), end in held if full for second in range(begin, end)
    )
    seen_s = sum(in_window(second, now) for (begin, _), end in held for second in range(begin, end))
    assert round(sum(bucket.full_s for bucket in buckets), 6) == full_s
    assert round(sum(bucket.seen_s for bucket in buckets), 6) == seen_s


@given(st.lists(durations, min_size=1), st.integers(1, 100))
def test_a_percentile_is_the_value_at_its_rank(values: list[float], percent: int) -> None:
    ranked = sorted(map(rounded, values))
    parts = [Counter(map(rounded, values[::2])), Counter(map(rounded, values[1::2]))]
    assert percentile(parts, percent) == (ranked[ceil(len(values) * percent / 100) - 1], len(values))


@given(durations)
def test_rounding_keeps_three_digits(duration: float) -> None:
    assert abs(rounded(duration) - duration) <= 0.005 * duration
    assert rounded(rounded(duration)) == rounded(duration)


@given(st.lists(st.tuples(seconds, st.integers(0, 9)), min_size=1))
def test_there_are_never_more_buckets_than_minutes_also_when_the_clock_is_set_back(
    depths: list[tuple[int, int]],
) -> None:
    rolling = RollingStatistics(MINUTES)
    for second, depth in depths:
        rolling.depth(at(second), depth)
        window = rolling.window(at(second))
        assert len(window) <= MINUTES + 1
        assert all(in_window(minute_second(minute), second) for minute, _ in window)


def minute_second(minute: int) -> int:
    return minute * 60 - int(NEW_YEAR.timestamp())
