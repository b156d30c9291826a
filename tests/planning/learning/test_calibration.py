"""A forecast is corrected by what came of such forecasts before."""

from math import exp
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as some

from cadenza.domain.planning.learning.calibration import (
    DOUBTED,
    MOST_LOG_ODDS,
    Calibration,
    ForecastComparison,
)
from cadenza.domain.planning.learning.recent_rate import RATE_GRID


def after(
    forecast: float, true_rate: float, *, runs: int, calibration: Calibration | None = None
) -> Calibration:
    chance, found = Random(3), calibration or Calibration()
    for _ in range(runs):
        found = found.after_run(forecast, changes=float(chance.random() < true_rate), periods=1.0)
    return found


@given(some.floats(1e-6, 10.0))
def test_without_a_record_a_forecast_stays(rate: float) -> None:
    assert Calibration().corrected(rate) == pytest.approx(rate)


@pytest.mark.parametrize("true_rate", [0.005, 0.05, 0.2])
def test_a_forecast_becomes_what_came_of_it(true_rate: float) -> None:
    found = after(0.05, true_rate, runs=5_000)
    assert found.corrected(0.05) == pytest.approx(true_rate, rel=0.4)


def test_a_few_changes_correct_little() -> None:
    assert after(0.05, 0.0, runs=20).corrected(0.05) > 0.7 * 0.05


def test_other_rates_keep_their_own_record() -> None:
    found = after(RATE_GRID[5], 0.2, runs=2_000)
    assert found.corrected(RATE_GRID[8]) == pytest.approx(RATE_GRID[8])


def test_what_came_lately_counts_more() -> None:
    before = after(0.05, 0.2, runs=50_000)
    found = after(0.05, 0.01, runs=50_000, calibration=before)
    half = before.corrected(0.05) / 2 + 0.01 / 2
    assert found.corrected(0.05) < half, "less than the mean of both, though there were as many"


@given(some.floats(-MOST_LOG_ODDS, MOST_LOG_ODDS), some.floats(0.0, 5.0), some.floats(0.0, 5.0))
def test_the_way_that_expected_what_came_gains_belief(log_odds: float, usual: float, other: float) -> None:
    before = ForecastComparison(log_odds)
    for changed in (True, False):
        after = before.after_run(usual, other, changed=changed)
        assert -MOST_LOG_ODDS <= after.log_odds <= MOST_LOG_ODDS
        if (other >= usual) == changed:
            assert after.log_odds >= before.log_odds - 1e-9
        else:
            assert after.log_odds <= before.log_odds + 1e-9


@given(some.floats(-MOST_LOG_ODDS, MOST_LOG_ODDS), some.floats(0.0, 5.0), some.floats(0.0, 5.0))
def test_a_forecast_by_two_ways_lies_between_them(log_odds: float, usual: float, other: float) -> None:
    mixed = ForecastComparison(log_odds).mixed(usual, other)
    assert min(usual, other) - 1e-9 <= mixed <= max(usual, other) + 1e-9


@pytest.mark.parametrize(("true", "believed"), [(0.3, True), (0.1, False)])
def test_the_better_of_two_forecasts_is_believed(*, true: float, believed: bool) -> None:
    chance, comparison = Random(4), ForecastComparison(DOUBTED)
    for _ in range(500):
        comparison = comparison.after_run(0.1, 0.3, changed=chance.random() > exp(-true))
    assert (comparison.weight > 0.99) is believed
    assert comparison.counts is believed
