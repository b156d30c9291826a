"""The bounds of a delay, held against every moment at which the change may have happened."""

from bisect import bisect_left
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cadenza.sim.replay.replay import Delay, DelayStatistics, UnnoticedChange, delay_of, delay_statistics
from cadenza.testing.clock import NEW_YEAR


def at(second: float) -> datetime:
    return NEW_YEAR + timedelta(seconds=second)


def delay(after: float, by: float, looks: list[float]) -> Delay:
    return delay_of(UnnoticedChange(at(after), at(by)), [at(second) for second in looks])


def test_the_recorded_looks_themselves_notice_at_once_or_a_gap_late() -> None:
    assert delay(60, 120, [0, 60, 120, 180]) == Delay(0, 30, 60)


def test_looks_that_skip_the_gap_are_late_at_least_until_the_next() -> None:
    assert delay(60, 120, [0, 150, 300]) == Delay(30, 60, 90)


def test_finer_looks_are_at_most_as_late_as_their_own_gap() -> None:
    assert delay(60, 120, [60, 70, 80, 90, 100, 110, 120]) == Delay(0, 5, 10)


def test_the_longest_wait_bounds_it_wherever_it_is() -> None:
    assert delay(0, 100, [10, 90, 100]).most_s == 80
    assert delay(0, 100, [90, 400]).most_s == 310


@given(
    gap=st.integers(1, 60),
    looks=st.lists(st.integers(-30, 90), max_size=12),
    late=st.integers(0, 50),
)
def test_bounds_and_mean_are_those_of_all_moments(gap: int, looks: list[int], late: int) -> None:
    seconds = sorted({*looks, gap + late})
    found = delay(0, gap, [float(second) for second in seconds])
    steps = 20
    moments = [gap * step / (gap * steps) for step in range(1, gap * steps + 1)]
    waits = [seconds[bisect_left(seconds, moment)] - moment for moment in moments]
    assert found.least_s == pytest.approx(min(waits), abs=1 / steps)
    assert found.most_s == pytest.approx(max(waits), abs=1 / steps + 1e-9)
    assert found.even_s == pytest.approx(sum(waits) / len(waits), abs=1 / steps)
    assert 0 <= found.least_s <= found.even_s <= found.most_s


def test_figures() -> None:
    assert delay_statistics([]) == DelayStatistics(None, None)
    assert delay_statistics([7]) == DelayStatistics(7, 7)
    assert delay_statistics(list(range(1, 101))) == DelayStatistics(50.5, 95)
