"""How much processor time a simulated 40 minutes takes, in each scenario, mode and step."""

import argparse
import asyncio
import json
from functools import partial
from statistics import median
from time import process_time
from typing import Any

from cadenza.sim.catalogue import CATALOGUE, run_product, run_prototype
from cadenza.sim.scenario import Scenario

GOAL_S = 0.5
STEPS_S = (1, 5, 10)


def measure(laps: int) -> dict[str, dict[str, float]]:
    """Runs and seconds of CPU by simulation; the goal is for each of them."""
    results = {}
    for name, entry in CATALOGUE.items():
        results[f"{name}, as published"] = timed(run_prototype, entry.published(), laps)
        for step_s in STEPS_S:
            play = partial(run_product, step_s=step_s)
            results[f"{name}, corrected, steps of {step_s} s"] = timed(play, entry.corrected(), laps)
    return results


def timed(play: Any, scenario: Scenario[Any], laps: int) -> dict[str, float]:
    """One lap to warm up, then as many as asked."""
    runs = len(asyncio.run(play(scenario)).runs)
    spent = []
    for _ in range(laps):
        began = process_time()
        asyncio.run(play(scenario))
        spent.append(process_time() - began)
    return {"runs": runs, "cpu_s_median": round(median(spent), 4), "cpu_s_worst": round(max(spent), 4)}


def main() -> None:
    """Print the figures, for people or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--laps", type=int, default=9)
    options = parser.parse_args()
    results = measure(options.laps)
    if options.json:
        print(json.dumps({"goal_cpu_s": GOAL_S, "simulations": results}))
        return
    for name, figures in results.items():
        spent = f"median {figures['cpu_s_median']:.3f} s, worst {figures['cpu_s_worst']:.3f} s of CPU"
        print(f"{name:<45} {figures['runs']:>4} runs, {spent}")


if __name__ == "__main__":
    main()
