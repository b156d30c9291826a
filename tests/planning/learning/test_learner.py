"""What one look teaches, and what it is charged as."""

from math import exp
from random import Random

import pytest

from cadenza.domain.planning.learning.learner import Beat, learned
from cadenza.domain.planning.learning.long_term_rate import Belief
from cadenza.domain.planning.learning.next_look import Patience
from cadenza.domain.planning.learning.prior import Census
from cadenza.domain.planning.learning.proposal import Bounds, decided
from cadenza.domain.planning.learning.state import Known, Look, Pool
from cadenza.domain.planning.learning.weekly_pattern import DAY_H, HOUR_S, Profile

MINUTE_S = 60.0
SEEN = Known(at_s=0.0, proposed=2.5)
CHANGED = Look(MINUTE_S, changed=True)


@pytest.mark.parametrize(("shadow", "gap"), [(True, 2.5), (False, 1.0)])
def test_in_the_shadow_a_change_is_as_late_as_it_would_have_been_seen(*, shadow: bool, gap: float) -> None:
    _, pool = learned(SEEN, CHANGED, pool=Pool(), beat=Beat(MINUTE_S, shadow=shadow))
    assert pool.patience == Patience().seen(gap)


def test_a_busy_hour_may_spend_more_and_a_quiet_one_less() -> None:
    hours = Profile()
    for hour in range(DAY_H):
        hours = hours.counted(hour * HOUR_S, came=400.0 if hour == 9 else 100.0, due=100.0)
    pool, beat = Pool(hours=hours), Beat(MINUTE_S)
    for hour, more in ((9, True), (3, False)):
        at_s = float(hour * HOUR_S)
        _, after, proposal = decided(SEEN, pool, beat=beat, at_s=at_s, bounds=Bounds())
        evenly = pool.purse.planned(proposal.beats, beat.allowance)
        assert (after.purse.price < evenly.price) is more


def test_changes_that_hide_behind_one_another_are_counted() -> None:
    chance, census, belief = Random(7), Census.guess(0.05), Belief(50.0, 50.0)
    for _ in range(5_000):
        census = census.counted(belief, 3.0, changed=chance.random() > exp(-3.0))
    assert census.rate == pytest.approx(1.0, rel=0.05)
