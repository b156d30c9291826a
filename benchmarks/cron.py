"""What the next fire of a cron line costs: remembered, computed and read anew, beside cronsim itself."""

import argparse
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from statistics import median
from time import perf_counter_ns
from zoneinfo import ZoneInfo

from cronsim import CronSim

from cadenza.adapters.cron import CronsimCron

LINES = ["* * * * *", "*/5 * * * *", "17 3 * * *", "0 9 * * MON-FRI", "30 6 1 * *"]
ZONES = ["UTC", "Europe/Berlin"]
START = datetime(2026, 5, 1, 12, 0, 30, tzinfo=UTC)
# Far enough apart that no line answers two of them from one window.
FAR_APART = [START + step * timedelta(days=32, minutes=7) for step in range(24)]
CLOSE = [START + step * timedelta(milliseconds=20) for step in range(24)]

Ask = Callable[[str, datetime, str], datetime]


def raw(expression: str, after: datetime, zone: str) -> datetime:
    return next(CronSim(expression, after.astimezone(ZoneInfo(zone)))).astimezone(UTC)


def lap(ask: Ask, query: tuple[str, str], afters: list[datetime], rounds: int) -> float:
    """Nanoseconds a call, over all moments, once."""
    expression, zone = query
    started = perf_counter_ns()
    for _ in range(rounds):
        for after in afters:
            ask(expression, after, zone)
    return (perf_counter_ns() - started) / (rounds * len(afters))


def measure(line: str, zone: str, rounds: int) -> dict[str, float]:
    """Laps take turns, so that a noisy moment of the machine meets them all; the median counts."""
    ways: dict[str, tuple[Ask, list[datetime]]] = {
        "cached_ns": (CronsimCron().next, CLOSE),
        "computed_ns": (CronsimCron().next, FAR_APART),
        "read_anew_ns": (CronsimCron(cached=0).next, FAR_APART),
        "cronsim_ns": (raw, FAR_APART),
    }
    laps: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(9):
        for name, (ask, afters) in ways.items():
            laps[name].append(lap(ask, (line, zone), afters, rounds))
    return {name: round(median(taken)) for name, taken in laps.items()}


def table(results: list[dict[str, object]]) -> str:
    rows = [list(results[0])] + [[str(value) for value in result.values()] for result in results]
    return "\n".join("".join(cell.rjust(17) for cell in row) for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--rounds", type=int, default=20, help="calls a lap, in units of 24")
    wanted = parser.parse_args()
    results: list[dict[str, object]] = [
        {"line": line, "zone": zone, **measure(line, zone, wanted.rounds)} for line in LINES for zone in ZONES
    ]
    print(json.dumps({"benchmark": "cron", "results": results}) if wanted.json else table(results))


if __name__ == "__main__":
    main()
