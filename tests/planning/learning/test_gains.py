"""What learning has won, counted without an end to it."""

import pytest

from cadenza.domain.planning.learning.gains import MOST_PERIODS_COUNTED, Gains


def after_run(gains: Gains, times: int, *, learned_gap: float) -> Gains:
    for _ in range(times):
        gains = gains.after_run(1.0, learned_gap=learned_gap, baseline_gap=1.0, period_s=60.0, changed=True)
    return gains


def test_full_gains_drop_old_ones_and_report_the_same() -> None:
    gains = after_run(Gains(), 3 * int(MOST_PERIODS_COUNTED), learned_gap=2.0)
    assert MOST_PERIODS_COUNTED / 2 <= gains.periods <= MOST_PERIODS_COUNTED
    assert (gains.mean_delay_s, gains.baseline_mean_delay_s) == pytest.approx((60.0, 30.0))
    assert gains.share_of_runs == pytest.approx(0.5)


def test_what_is_new_counts_more_than_what_was_long_ago() -> None:
    gains = after_run(
        after_run(Gains(), 3 * int(MOST_PERIODS_COUNTED), learned_gap=2.0),
        int(MOST_PERIODS_COUNTED),
        learned_gap=1.0,
    )
    assert 30.0 < gains.mean_delay_s < 45.0
