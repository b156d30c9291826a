"""A bug in a lock, a fence, an order or a retry does not get past the simulation."""

import pytest
from tests.simulation.whole_system.seeded_bug import SeededBug
from tests.simulation.whole_system.seeded_bugs import BUGS
from tests.simulation.whole_system.seeded_plan_bugs import PLAN_BUGS
from tests.simulation.whole_system.seeded_run_bugs import RUN_BUGS
from tests.simulation.whole_system.seeds import SEEDS
from tests.simulation.whole_system.simulation import play, scenario_of

ALL = (*BUGS, *PLAN_BUGS, *RUN_BUGS)
RARE = 5
"""How many times the default budget is played to find a rare bug."""


@pytest.mark.parametrize("bug", ALL, ids=lambda bug: bug.name)
def test_a_seeded_bug_is_found(bug: SeededBug, monkeypatch: pytest.MonkeyPatch) -> None:
    bug.put_in(monkeypatch)
    must_be_found(bug, "memory")


@pytest.mark.parametrize("bug", [bug for bug in ALL if bug.in_every_store], ids=lambda bug: bug.name)
def test_a_bug_in_what_all_stores_share_is_found_on_sqlite(
    bug: SeededBug, monkeypatch: pytest.MonkeyPatch
) -> None:
    bug.put_in(monkeypatch)
    must_be_found(bug, "sqlite")


def must_be_found(bug: SeededBug, store: str) -> None:
    budget = SEEDS[store] * (RARE if bug.rare else 1)
    for seed in (*range(bug.seed, budget), *range(bug.seed)):
        if bug.needs(scenario_of(seed)) and play(seed, store, most_violations=1).violations:
            return
    pytest.fail("no seed of its budget finds it")


def test_the_default_budget_finds_at_least_twenty() -> None:
    assert len({bug.name for bug in ALL if not bug.rare}) >= 20
