"""Whatever goes wrong, in whatever order, the whole system keeps its promises."""

import os
import subprocess
import sys
from random import SystemRandom

import pytest
from tests.simulation.whole_system.actions import DONE, KINDS, RUN_KINDS
from tests.simulation.whole_system.seeds import (
    SEEDS,
    SOAK,
    failures,
    play_once,
    replay_command,
    report,
    seeds_of,
)
from tests.simulation.whole_system.simulation import Played, play

FIRST = int(os.environ.get("CADENZA_SIMULATION_SEED") or (SystemRandom().randrange(1_000_000) if SOAK else 0))
"""The first seed; another one in every soak."""


@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_the_system_keeps_its_promises_under_every_seed(store: str) -> None:
    failed = failures(store, seeds_of(store, FIRST))
    assert not failed, "\n\n".join(failed[:3])


@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_everything_that_people_may_ask_for_is_done_in_some_seed(store: str) -> None:
    missing = {f" person {action} " for action in (*KINDS, *RUN_KINDS)}
    for seed in range(SEEDS[store]):
        done = [line for line in play_once(seed, store).trace if line.endswith(f": {DONE}")]
        missing = {words for words in missing if not any(words in line for line in done)}
        if not missing:
            return
    pytest.fail(f"never done: {sorted(missing)}")


@pytest.mark.parametrize("store", ["memory", "sqlite"])
@pytest.mark.parametrize("seed", [1, 4, 8])
def test_a_seed_has_the_same_trace_every_time(store: str, seed: int) -> None:
    assert play(seed, store).trace == play_once(seed, store).trace


@pytest.mark.parametrize("store", ["memory", "sqlite"])
def test_a_seed_has_the_same_trace_in_every_process(store: str) -> None:
    command = [sys.executable, "-m", "tests.simulation.whole_system.replay", store, "3"]
    traces = [
        subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, check=True)
        for seed in ("1", "2")
    ]
    assert traces[0].stdout == traces[1].stdout
    assert traces[0].stdout.decode() == "\n".join(play_once(3, store).trace) + "\n"


def test_another_seed_has_another_trace() -> None:
    assert play_once(1, "memory").trace != play_once(2, "memory").trace


def test_a_failed_seed_is_told_with_its_trace_and_the_command_that_replays_it() -> None:
    played = Played(17, "memory", ["at 2 s: wrong"], [*(f"{n} line" for n in range(1_000)), "2.0 ! wrong"])
    told = report(played)
    assert told.startswith("seed 17 on memory")
    assert replay_command(played) in told
    assert told.endswith("2.0 ! wrong")
    assert len(told.splitlines()) < 200
