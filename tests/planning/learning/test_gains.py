"""What learning has won, counted without an end to it."""

import pytest

from cadenza.domain.planning.learning.gains import FULL, Tally


def looked(tally: Tally, times: int, *, learned: float) -> Tally:
    for _ in range(times):
        tally = tally.looked(1.0, learned=learned, plain=1.0, beat_s=60.0, changed=True)
    return tally


def test_a_full_tally_forgets_and_says_the_same() -> None:
    tally = looked(Tally(), 3 * int(FULL), learned=2.0)
    assert FULL / 2 <= tally.beats <= FULL
    assert (tally.mean_delay_s, tally.plain_mean_delay_s) == pytest.approx((60.0, 30.0))
    assert tally.share_of_looks == pytest.approx(0.5)


def test_what_is_new_counts_more_than_what_was_long_ago() -> None:
    tally = looked(looked(Tally(), 3 * int(FULL), learned=2.0), int(FULL), learned=1.0)
    assert 30.0 < tally.mean_delay_s < 45.0
