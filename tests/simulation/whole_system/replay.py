"""Plays one seed and prints its trace: `python -m tests.simulation.whole_system.replay memory 17`."""

import sys

from tests.simulation.whole_system.seeds import print_trace
from tests.simulation.whole_system.simulation import play

if __name__ == "__main__":
    store, seed = sys.argv[1:]
    result = play(int(seed), store)
    print_trace(result)
    sys.exit(bool(result.violations))
