"""Clocks of simulated processes: they drift apart within a bound, and are set with their machine's time."""

from datetime import timedelta
from itertools import pairwise

import pytest
from tests.simulation.whole_system.databases import DATABASES
from tests.simulation.whole_system.fault_plan import LEASE_S, Fault
from tests.simulation.whole_system.process_clocks import Drift
from tests.simulation.whole_system.simulation import Simulation, scenario_of

APART_S = LEASE_S / 6
"""Clocks that are further apart while the database cannot be reached are not covered."""


def a_seed_with(fault: Fault) -> int:
    return next(seed for seed in range(100) if fault in scenario_of(seed).faults)


@pytest.mark.parametrize("rate", [0.02, -0.02, 0.005])
def test_a_clock_drifts_steadily_and_turns_back_at_its_bound(rate: float) -> None:
    drift = Drift(0.3, rate, 0.9)
    seen = [drift.at(second) for second in range(1_000)]
    assert drift.at(0) == pytest.approx(0.3)
    assert all(abs(after - before) <= abs(rate) + 1e-9 for before, after in pairwise(seen))
    assert max(seen) - min(seen) > 1.7
    assert max(map(abs, seen)) <= 0.9


@pytest.mark.parametrize("store", DATABASES)
def test_the_clocks_of_processes_drift_apart_on_every_store(store: str) -> None:
    simulation = Simulation(a_seed_with(Fault.CLOCK_DRIFT), store)
    clocks = [simulation.processes.new_clock() for _ in range(50)]
    distances = []
    for second in (0, 30, 60):
        shown = [clock.drift.at(second) for clock in clocks]
        distances.append(shown[0] - shown[1])
        assert max(shown) - min(shown) < APART_S
    assert len(set(distances)) == 3
    simulation.close()


@pytest.mark.parametrize(("store", "seen_by_others_s"), [("memory", 0), ("sqlite", 40)])
def test_the_time_of_a_machine_is_set_for_all_its_processes(store: str, seen_by_others_s: int) -> None:
    simulation = Simulation(a_seed_with(Fault.CLOCK_STEP), store)
    one, other = simulation.processes.new_clock(), simulation.processes.new_clock()
    one.machine.offset += timedelta(seconds=40)
    assert other.machine.offset == timedelta(seconds=seen_by_others_s)
    simulation.close()
