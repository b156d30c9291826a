"""Figures that announce changes, signs that were right, hours that differ, and lateness that is rare."""

from datetime import datetime
from itertools import count
from math import exp
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as some

from cadenza.domain.planning.learning import change_signals
from cadenza.domain.planning.learning import stress as stress_model
from cadenza.domain.planning.learning.change_signals import (
    EMPTY_RECORD,
    OWN_CHANGES,
    STRESS_SIGNAL,
    SignalBin,
    SignalRecords,
)
from cadenza.domain.planning.learning.long_term_rate import GammaRate
from cadenza.domain.planning.learning.proposal import RateForecast
from cadenza.domain.planning.learning.stress import MetricLevel, MetricLevels, StressedScores
from cadenza.domain.planning.learning.weekly_pattern import DAY_H, HOUR_S, WeeklyPattern, hour_of_week

CALM = 50.0


def latency(chance: Random, center: float = CALM) -> dict[str, float]:
    return {"latency": stress_model.log_scaled(center * exp(chance.gauss(0, 0.2)))}


def calm_levels(observations: int = 200) -> MetricLevels:
    chance, levels = Random(1), dict[str, stress_model.MetricLevel]()
    for _ in range(observations):
        levels = dict(stress_model.levels_after(levels, latency(chance), periods=1.0, stress=0.1))
    return levels


def after(stress: float, metrics: dict[str, float], levels: MetricLevels) -> float:
    return stress_model.stress_after(stress, metrics, levels=levels, stressed_scores=StressedScores()).stress


def test_a_few_high_figures_make_an_endpoint_stressed_and_calm_ones_end_it() -> None:
    chance, levels, stress = Random(2), calm_levels(), stress_model.USUAL_STRESS
    for _ in range(3):
        stress = after(stress_model.decayed_stress(stress, 1.0), latency(chance, 120.0), levels)
    assert stress > 0.9
    for _ in range(6):
        stress = after(stress_model.decayed_stress(stress, 1.0), latency(chance), levels)
    assert stress < 0.2


@given(some.floats(-1e300, 1e300), some.floats(0.01, 0.99))
def test_no_single_figure_decides(value: float, stress: float) -> None:
    found = after(stress, {"latency": stress_model.log_scaled(value)}, calm_levels(20))
    assert stress_model.LEAST_PROBABILITY <= found <= 1 - stress_model.LEAST_PROBABILITY
    factor = found / (1 - found) / (stress / (1 - stress))
    assert 0.99 * stress_model.OUTLIER_SHARE <= factor <= 1.01 / stress_model.OUTLIER_SHARE


def test_what_stress_does_does_not_become_usual() -> None:
    chance, levels = Random(3), calm_levels()
    before = levels["latency"].center
    for _ in range(30):
        levels = dict(stress_model.levels_after(levels, latency(chance, 120.0), periods=0.3, stress=0.99))
    assert levels["latency"].center - before < levels["latency"].scale


@given(some.floats(0.0001, 0.9999), some.floats(0.0, 500.0))
def test_stress_fades_towards_the_usual(stress: float, periods: float) -> None:
    low, high = sorted([stress, stress_model.USUAL_STRESS])
    assert low <= stress_model.decayed_stress(stress, periods) <= high


def test_figures_are_bounded() -> None:
    numbers = count()
    levels: MetricLevels = {}
    for _ in range(10):
        fresh = {f"figure {next(numbers)}": 1.0 for _ in range(15)}
        levels = stress_model.levels_after(levels, fresh, periods=1.0, stress=0.1)
    assert len(levels) <= stress_model.MOST_METRICS


@given(some.floats(0.0, 1.0), some.floats(1e-4, 1.0))
def test_an_unproven_sign_means_nothing(strength: float, rate: float) -> None:
    assert change_signals.signal_rate(EMPTY_RECORD, strength, long_run=rate) == 0.0


def test_a_sign_that_was_right_means_the_rate_that_it_was_right_about() -> None:
    record = EMPTY_RECORD
    for _ in range(100):
        record = change_signals.updated_record(
            record, 1.0, observed=SignalBin(changes=0.3, expected=0.03, periods=1.0)
        )
        record = change_signals.updated_record(
            record, 0.0, observed=SignalBin(changes=0.01, expected=0.03, periods=1.0)
        )
    assert 0.15 < change_signals.signal_rate(record, 1.0, long_run=0.03) < 0.3
    assert change_signals.signal_rate(record, 0.0, long_run=0.03) == 0.0


def test_a_sign_that_cries_wolf_is_not_believed() -> None:
    record = EMPTY_RECORD
    for _ in range(100):
        record = change_signals.updated_record(
            record, 1.0, observed=SignalBin(changes=0.03, expected=0.03, periods=1.0)
        )
    assert change_signals.signal_rate(record, 1.0, long_run=0.03) == 0.0


@given(some.floats(-1e9, 1e9), some.integers(1, 100))
def test_no_value_moves_a_level_far(value: float, seen: int) -> None:
    level = MetricLevel(10.0, 2.0, seen)
    updated = level.updated(value, 1.0)
    assert abs(updated.center - level.center) <= stress_model.MOST_SCORE_TO_LEARN * level.scale / 2
    assert updated.scale < 3.1 * level.scale


@pytest.mark.parametrize(
    ("moment", "hour"),
    [
        ("2024-01-01T00:00:00Z", 0),
        ("2024-01-01T00:59:59Z", 0),
        ("2024-01-03T12:30:00Z", 60),
        ("2024-01-07T23:59:59Z", 167),
        ("1970-01-01T00:00:00Z", 72),
    ],
)
def test_the_week_begins_on_monday(moment: str, hour: int) -> None:
    assert hour_of_week(datetime.fromisoformat(moment).timestamp()) == hour


def test_an_hour_is_believed_slowly_and_its_share_follows_the_square_root() -> None:
    profile = WeeklyPattern()
    noon = 12 * HOUR_S
    once = profile.updated(noon, changes=1.0, expected=0.1)
    assert once.rate_ratio(noon) < 1.25
    for day in range(60):
        for hour in range(DAY_H):
            changes = 4.0 if hour == 12 else 1.0
            profile = profile.updated((day * DAY_H + hour) * HOUR_S, changes=changes, expected=1.0)
    assert 2.5 < profile.rate_ratio(noon) < 4.0
    shares = [profile.budget_share(hour * HOUR_S) for hour in range(DAY_H)]
    assert 0.95 < sum(shares) / DAY_H < 1.05
    assert 1.4 < shares[12] < 2.0


def test_hours_that_were_looked_at_while_more_was_expected_leave_no_more_to_spend_in_the_others() -> None:
    """Nothing ever changes, so that ever less is due: most of it in the first hour of all."""
    profile, shares = WeeklyPattern(), []
    for look in range(1, 3 * DAY_H * 100):
        at_s = look * HOUR_S / 100
        profile = profile.updated(at_s, changes=0.0, expected=1 / look)
        shares.append(profile.budget_share(at_s))
    assert profile.day[0].expected > 10 * profile.day[12].expected
    assert abs(sum(shares) / len(shares) - 1) < 0.01


def test_the_absence_of_a_signal_is_no_signal() -> None:
    record = EMPTY_RECORD
    for _ in range(100):
        record = change_signals.updated_record(
            record, 0.0, observed=SignalBin(changes=0.3, expected=0.1, periods=1.0)
        )
        record = change_signals.updated_record(
            record, 1.0, observed=SignalBin(changes=0.01, expected=0.1, periods=1.0)
        )
    assert [change_signals.signal_rate(record, strength / 4, long_run=0.1) for strength in range(5)] == [
        0.0
    ] * 5


@pytest.mark.parametrize(("recent", "signal", "rate"), [(0.1, 0.0, 0.2), (0.1, 0.3, 0.6), (0.4, 0.3, 0.8)])
def test_the_higher_rate_counts_of_the_latest_runs_and_of_signals(
    recent: float, signal: float, rate: float
) -> None:
    expected = RateForecast(GammaRate(1.0, 10.0), recent=recent, signal=signal, hour_ratio=2.0)
    assert expected.rate == pytest.approx(rate)


@given(some.lists(some.floats(0.0, 30.0), max_size=200), some.floats(0.01, 0.99), some.floats(0.0, 20.0))
def test_the_stranger_a_figure_the_more_stress_it_means_whatever_stress_looked_like(
    scores: list[float], stress: float, score: float
) -> None:
    stressed_scores, levels = StressedScores(), {"latency": MetricLevel(0.0, 1.0, 100)}
    for one in scores:
        stressed_scores = stressed_scores.plus(one)
    lower, higher = (
        stress_model.stress_after(stress, {"latency": at}, levels=levels, stressed_scores=stressed_scores)
        for at in (score, score + 1.0)
    )
    assert higher.stress >= lower.stress - 1e-9


def test_one_calm_figure_ends_the_stress_of_which_the_looks_are_known() -> None:
    levels, stressed_scores = {"latency": MetricLevel(0.0, 1.0, 100)}, StressedScores()
    unknown = after(0.98, {"latency": 0.5}, levels)
    for _ in range(500):
        stressed_scores = stress_model.stress_after(
            0.98, {"latency": 4.5}, levels=levels, stressed_scores=stressed_scores
        ).stressed_scores
    known = stress_model.stress_after(0.98, {"latency": 0.5}, levels=levels, stressed_scores=stressed_scores)
    assert known.stress < 0.3
    assert unknown > 0.9
    assert known.stressed_scores == stressed_scores, "a calm figure does not teach what stress looks like"


def test_changes_that_figures_foretell_are_no_merit_of_other_signals() -> None:
    strong = {STRESS_SIGNAL: 1.0, OWN_CHANGES: 1.0}
    with_figures: SignalRecords = {}
    without_figures: SignalRecords = {}
    for _ in range(200):
        for strength, changes in ((1.0, 0.3), (0.0, 0.003)):
            observed = SignalBin(changes=changes, expected=0.03, periods=1.0)
            both = dict.fromkeys(strong, strength)
            rates = change_signals.signal_rates(with_figures, both, long_run=0.03)
            with_figures = change_signals.updated_records(
                with_figures, both, observed=observed, expected=rates.expected
            )
            without_figures = change_signals.updated_records(
                without_figures, {STRESS_SIGNAL: 0.0, OWN_CHANGES: strength}, observed=observed, expected=0.03
            )
    calm_again = {STRESS_SIGNAL: 0.0, OWN_CHANGES: 1.0}
    assert change_signals.signal_rates(with_figures, calm_again, long_run=0.03).strongest == 0.0
    assert change_signals.signal_rates(without_figures, calm_again, long_run=0.03).strongest > 0.1
    assert change_signals.signal_rates(with_figures, strong, long_run=0.03).figures > 0.1


def test_an_hour_of_which_nothing_is_known_is_as_the_one_before() -> None:
    profile = WeeklyPattern()
    for hour in (8, 9):
        profile = profile.updated(hour * HOUR_S, changes=400.0 if hour == 9 else 100.0, expected=100.0)
    assert profile.rate_ratio(10 * HOUR_S) == pytest.approx(profile.day[9].rate_ratio(1.0))
    assert profile.rate_ratio(11 * HOUR_S) == pytest.approx(1.0)
