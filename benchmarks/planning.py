"""How many plans the governor makes per second on one core: interval endpoints, hinted ones, cron ones."""

import argparse
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from time import process_time

from cadenza import Cron, Endpoint, Every, Guard, IntervalHint, OneShotHint, plan_next_run
from cadenza.adapters.cron import CronsimCron

NOW = datetime(2026, 5, 1, 12, 0, 30, tzinfo=UTC)
LINES = ["* * * * *", "*/5 * * * *", "17 3 * * *", "0 9 * * MON-FRI"]
GOAL = 150_000


def endpoint(number: int, *, hinted: bool, cron: bool) -> Endpoint:
    """One of many, each a little different, with a guard; a hinted one has both hints."""
    return Endpoint(
        id=f"endpoint-{number}",
        name="endpoint",
        baseline=Cron(LINES[number % 4]) if cron else Every(60_000 + number % 7),
        guard=Guard(20_000, 86_400_000),
        interval_hint=IntervalHint(30_000, NOW + timedelta(hours=1), "surge") if hinted else None,
        one_shot_hint=OneShotHint(NOW + timedelta(seconds=5), NOW + timedelta(minutes=9)) if hinted else None,
        last_run_at=NOW - timedelta(seconds=number % 100),
    )


def per_second(endpoints: Sequence[Endpoint], laps: int) -> float:
    """Plans per second of CPU, in the best lap: the one that the machine's other work disturbed least."""
    cron = CronsimCron()
    best = float("inf")
    for _ in range(laps):
        began = process_time()
        for number, one in enumerate(endpoints):
            plan_next_run(NOW + timedelta(0, 0, number % 1_000), one, cron)
        best = min(best, process_time() - began)
    return len(endpoints) / best


def measure(count: int, laps: int) -> dict[str, float]:
    """Plans per second by kind of endpoint; the goal is for `half_hinted`."""
    kinds = {
        "plain": [endpoint(number, hinted=False, cron=False) for number in range(count)],
        "half_hinted": [endpoint(number, hinted=number % 2 == 1, cron=False) for number in range(count)],
        "cron": [endpoint(number, hinted=False, cron=True) for number in range(count)],
    }
    results = {kind: round(per_second(endpoints, laps)) for kind, endpoints in kinds.items()}
    return {**results, "goal": GOAL, "cron_cost_ratio": round(results["plain"] / results["cron"], 2)}


def main() -> None:
    """Print the figures, for people or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--laps", type=int, default=9)
    options = parser.parse_args()
    results = measure(options.count, options.laps)
    if options.json:
        print(json.dumps(results))
    else:
        print("\n".join(f"{name:>16} {value:>12,}" for name, value in results.items()))


if __name__ == "__main__":
    main()
