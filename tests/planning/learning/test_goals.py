"""The learning planner's goals, in small worlds from fixed seeds; `benchmarks.planners` has large ones."""

from typing import Any

import pytest
from benchmarks.planners import GOALS, compare, judged
from benchmarks.policies import Seen
from benchmarks.worlds import Size

SEED = 11


@pytest.mark.parametrize("name", ["equal rates", "sigma 1.5"])
def test_the_goals_are_met(name: str) -> None:
    assert judged(name, [compare(name, Size(50, 1.0), seed=SEED, peers=False)]) == []


def test_what_announces_itself_is_seen_a_third_sooner_within_the_first_day() -> None:
    found = compare("precursors", Size(40, 1.0), seed=SEED, peers=False)
    assert found["below_fixed"] >= GOALS["below_fixed_where_wide"]
    assert found["p95"] <= 1 + GOALS["p95_above_fixed"]
    assert found["violations"] == 0


def test_a_planner_that_learns_nothing_misses_them(monkeypatch: pytest.MonkeyPatch) -> None:
    def blind(_: Any, __: int, seen: Seen) -> float:
        return 300.0 + seen.at % 7

    monkeypatch.setattr("benchmarks.policies.Learning.look", blind)
    found = compare("sigma 2", Size(20, 0.5), seed=SEED, peers=False)
    assert judged("sigma 2", [found]) == ["sigma 2: share_of_clairvoyant", "sigma 2: below_fixed_where_wide"]
