"""Where little has changed so far, learning does no harm, and helps within a day."""

from random import Random

import pytest
from benchmarks.histories import Event, History, history_of
from benchmarks.looks import play
from benchmarks.policies import Learning, Seen
from benchmarks.traces import DEFAULT, HistoryLooks, compare
from benchmarks.worlds import DAY, HOUR

SITES, DAYS = 5, 2.0


def a_history(outages: list[tuple[int, float, float]]) -> History:
    """Sites with outages: which site, when, and for how long."""
    events = [Event(at, str(site), "up", 50.0) for site in range(SITES) for at in (0.0, DAYS * DAY)]
    for site, at, lasting in outages:
        events += [Event(at, str(site), "down", 0.0), Event(at + lasting, str(site), "up", 50.0)]
    return history_of("few", sorted(events))


def scattered(seed: int, *, count: int) -> list[tuple[int, float, float]]:
    chance = Random(seed)
    return [(chance.randrange(SITES), chance.uniform(0.1, 1.8) * DAY, 1_500.0) for _ in range(count)]


class RecordsFirst(Learning):
    """The planner, and when it first wanted to look twice as often as the baseline."""

    first: float | None = None

    def look(self, number: int, seen: Seen) -> float:
        wait = super().look(number, seen)
        if self.first is None and wait <= DEFAULT.period_s / 2:
            self.first = seen.at
        return wait


@pytest.mark.parametrize(
    "outages",
    [scattered(1, count=4), scattered(2, count=3), [(site, DAY, 1_500.0) for site in range(4)]],
    ids=["four", "three", "all at once"],
)
def test_with_fewer_than_ten_changes_they_are_seen_no_later(outages: list[tuple[int, float, float]]) -> None:
    history = a_history(outages)
    assert 0 < history.changes < 10
    found = compare(history, laps=2, peers=False)
    learning, interval_s = found["policies"]["learning"], DEFAULT.period_s / found["spent"]
    assert learning["mean_s"] <= interval_s / 2, "what a fixed pace comes to, without the luck of few changes"
    assert learning["p95_s"] <= 0.95 * interval_s
    assert learning["violations"] == 0


def test_the_first_useful_hint_comes_within_a_day() -> None:
    history = a_history([(0, 2 * HOUR * number + HOUR, 1_500.0) for number in range(22)])
    policy = RecordsFirst(SITES, DEFAULT)
    play(HistoryLooks(history, DEFAULT, seed=1), policy)
    assert policy.first is not None
    assert policy.first < DAY
