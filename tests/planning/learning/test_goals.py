"""The learning planner's goals, in small worlds from fixed seeds; `benchmarks.planners` has large ones."""

from typing import Any

import pytest
from benchmarks.planners import GOALS, compare, judged
from benchmarks.policies import Seen
from benchmarks.worlds import Size

SEED = 11
SHARE_SO_SOON = 0.84
"""Of the clairvoyant's gain, in half the time and with half the endpoints that the goal is for."""


def test_where_nothing_can_be_gained_the_goals_are_met() -> None:
    assert judged("equal rates", [compare("equal rates", Size(30, 1.0), seed=SEED, peers=False)]) == []


def test_where_rates_differ_a_day_and_a_half_is_enough_for_most_of_the_gain() -> None:
    found = compare("sigma 1.5", Size(50, 1.5), seed=SEED, peers=False)
    assert found["share_of_clairvoyant"] >= SHARE_SO_SOON
    assert found["p95"] <= 1.0
    assert abs(found["spent"] - 1) <= GOALS["runs_off_budget"]
    assert found["violations"] == 0


def test_what_announces_itself_is_seen_a_third_sooner_within_the_first_day() -> None:
    found = compare("precursors", Size(40, 1.0), seed=SEED, peers=False)
    assert found["below_fixed"] >= GOALS["below_fixed_where_wide"]
    assert found["p95"] <= 1.0
    assert found["violations"] == 0


def test_a_planner_that_learns_nothing_misses_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def blind(_: Any, __: int, seen: Seen) -> float:
        return 300.0 + seen.at % 7

    monkeypatch.setattr("benchmarks.policies.Learning.look", blind)
    found = compare("sigma 2", Size(20, 0.5), seed=SEED, peers=False)
    missed = {"sigma 2: share_of_clairvoyant", "sigma 2: below_fixed_where_wide"}
    assert missed <= set(judged("sigma 2", [found]))
