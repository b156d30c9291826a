"""Which seeds are played, and what is told of one that failed."""

import os
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial

from tests.simulation.whole_system.simulation import Played, play

SOAK = bool(os.environ.get("CADENZA_SOAK"))
SOAK_SEEDS = 10_000
SEEDS = {"memory": 150, "sqlite": 60}
"""How many seeds of each kind `scripts/test` plays."""
MOST_LINES = 150
"""How much of a trace is printed: the lines before the first violation."""
AT_ONCE = 50


def seeds_of(store: str, first: int) -> range:
    """The seeds to play."""
    return range(first, first + (SOAK_SEEDS // len(SEEDS) if SOAK else SEEDS[store]))


def failures(store: str, seeds: Iterable[int]) -> list[str]:
    """What is told of the seeds that fail."""
    return [report(played) for played in play_all(store, seeds) if played.violations]


def play_all(store: str, seeds: Iterable[int]) -> Iterator[Played]:
    """Play seeds; in a soak, on all cores."""
    if not SOAK:
        yield from (play_once(seed, store) for seed in seeds)
        return
    with ProcessPoolExecutor() as pool:
        yield from pool.map(partial(play, store=store), seeds, chunksize=AT_ONCE)


@cache
def play_once(seed: int, store: str) -> Played:
    """What came of a seed, which tests of one process share."""
    return play(seed, store)


def report(played: Played) -> str:
    """A failed seed: what is wrong, the command that replays it, and the end of its trace."""
    wrong = next((at for at, line in enumerate(played.trace) if " ! " in line), len(played.trace))
    shown = played.trace[max(0, wrong - MOST_LINES) : wrong + 1]
    return "\n".join(
        [
            f"seed {played.seed} on {played.store}: {len(played.violations)} violations",
            *(f"  {words}" for words in played.violations),
            f"replay it: {replay_command(played)}",
            f"the last {len(shown)} of {wrong + 1} lines of its trace before the first violation:",
            *shown,
        ]
    )


def replay_command(played: Played) -> str:
    """The command that plays a seed again and prints its whole trace."""
    return f".venv/bin/python -m tests.simulation.whole_system.replay {played.store} {played.seed}"


def print_trace(played: Played) -> None:
    """Print all of it."""
    sys.stdout.write("\n".join([*played.trace, *played.violations]) + "\n")
