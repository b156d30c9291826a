"""How soon changes in recorded uptime histories are seen by each policy, at the same number of looks."""

import argparse
import json
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from math import ceil
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any, NamedTuple

from benchmarks.histories import DOWN, History, read_histories
from benchmarks.looks import play
from benchmarks.policies import Clairvoyant, Fixed, Learning, Policy, Seen, aimd, backoff, rules
from benchmarks.worlds import Piece, Timing, Track, World

DAYS = 14.0
GUARD_S = (30.0, 3_600.0)
DEFAULT = Timing(300.0, GUARD_S)
PEERS: Mapping[str, Callable[[float, Timing], Policy]] = {"backoff": backoff, "aimd": aimd, "rules": rules}
FEW_CHANGES = 10
"""With fewer changes than this, the ratios are mostly luck."""


class Figures(NamedTuple):
    """How a policy fared with a history, over all its laps."""

    looks: float
    mean_s: float
    p95_s: float
    unseen: float
    """The share of changes that were undone before anybody looked; they count until that look."""
    violations: int


class HistoryLooks:
    """A history as looks show it, and the delays that they leave; all its sites are one job.

    The first look at a site shows how it is, so changes count from one period after the start,
    when every site was looked at. A look sees a change if the status is another one than at the
    look before, as it would in real life.
    """

    def __init__(self, history: History, timing: Timing, *, seed: int) -> None:
        self.until, self.timing, self.chance = history.until, timing, Random(seed)
        self.delays: list[float] = []
        self.unseen = 0
        self._sites = history.sites
        self._statuses: list[str | None] = [None] * len(history.sites)

    @property
    def endpoints(self) -> int:
        """How many sites there are."""
        return len(self._sites)

    def passed(self, number: int, begin: float, *, end: float) -> None:
        """Every change within a gap is as late as the look that ended it."""
        changes = self._sites[number].changes
        first = bisect_right(changes, max(begin, self.timing.period_s))
        found = changes[first : bisect_right(changes, min(end, self.until))]
        self.delays += (end - at for at in found)
        same = self._statuses[number] == self._status(number, end)
        self.unseen += len(found) if same else max(len(found) - 1, 0)

    def look(self, number: int, at: float) -> Seen:
        """The status and the latest response time."""
        site, status, before = self._sites[number], self._status(number, at), self._statuses[number]
        self._statuses[number] = status
        changed = before is not None and before != status
        return Seen(at, changed, status == DOWN, site.latencies_ms[site.place(at)])

    def siblings(self, number: int) -> Sequence[int]:
        """All other sites."""
        return [other for other in range(len(self._sites)) if other != number]

    def _status(self, number: int, at: float) -> str:
        site = self._sites[number]
        return site.statuses[site.place(at)]


def lap(history: History, policies: Sequence[Policy], timing: Timing) -> Figures:
    """A policy with a history from the start, once for each copy of it, with other first looks."""
    delays: list[float] = []
    runs, unseen, violations = 0, 0, 0
    for seed, policy in enumerate(policies):
        looks = HistoryLooks(history, timing, seed=seed)
        spent = play(looks, policy)
        delays += looks.delays
        runs, unseen, violations = runs + spent.runs, unseen + looks.unseen, violations + spent.violations
    delays.sort()
    p95 = delays[ceil(0.95 * len(delays)) - 1] if delays else 0.0
    share = unseen / max(len(delays), 1)
    return Figures(runs / len(policies), mean(delays or [0.0]), p95, share, violations)


def compare(
    history: History, timing: Timing = DEFAULT, *, laps: int = 3, peers: bool = True
) -> dict[str, Any]:
    """All policies with one history, at the looks that the learning planner took; peers only if wanted."""
    count = len(history.sites)
    learning = lap(history, [Learning(count, timing) for _ in range(laps)], timing)
    spent = learning.looks * timing.period_s / (count * history.until)
    figures = {"fixed": lap(history, [Fixed(timing.period_s / spent)] * laps, timing)}
    if peers:
        for name, make in PEERS.items():
            figures[name] = lap(history, [make(spent, timing) for _ in range(laps)], timing)
        figures["square root"] = _square_root(history, timing, looks=learning.looks, laps=laps)
    figures["learning"] = learning
    fixed = figures["fixed"]
    ratios = {
        name: {"mean": found.mean_s / (fixed.mean_s or 1.0), "p95": found.p95_s / (fixed.p95_s or 1.0)}
        for name, found in figures.items()
    }
    return {
        "sites": count,
        "changes": history.changes,
        "days": history.until / 86_400,
        "spent": spent,
        "policies": {name: {**found._asdict(), "to_fixed": ratios[name]} for name, found in figures.items()},
    }


def _square_root(history: History, timing: Timing, *, looks: float, laps: int) -> Figures:
    """The allocation by the square root of each site's true number of changes in this very history."""
    pieces = [(Piece(0.0, len(site.changes) / history.until),) for site in history.sites]
    tracks = tuple(Track(piece, (), starts=(0.0,)) for piece in pieces)
    policy = Clairvoyant(World(tracks, history.until, timing=timing), round(looks))
    found = lap(history, [policy] * laps, timing)
    policy.corrected(found.looks / looks)
    return lap(history, [policy] * laps, timing)


def main() -> None:
    """Print the figures, for people or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="histories as CSV files: t, site, status, code, ms")
    parser.add_argument("--json", action="store_true")
    parser.add_argument(
        "--whole", action="store_true", help=f"whole histories, not the busiest {DAYS:.0f} days"
    )
    parser.add_argument("--baseline", type=float, default=DEFAULT.period_s, help="seconds between two looks")
    parser.add_argument(
        "--laps", type=int, default=3, help="how often each is played, with other first looks"
    )
    options = parser.parse_args()
    histories = read_histories(options.folder, days=None if options.whole else DAYS)
    if not histories:
        parser.error(f"there is no history (*.csv) in {options.folder}")
    timing = Timing(options.baseline, GUARD_S)
    found = {name: compare(history, timing, laps=options.laps) for name, history in histories.items()}
    if options.json:
        print(json.dumps(found))
        return
    for name, result in found.items():
        print(_text(name, result))


def _text(name: str, result: Mapping[str, Any]) -> str:
    few = f" (fewer than {FEW_CHANGES} changes: mostly luck)" if result["changes"] < FEW_CHANGES else ""
    head = f"{name}: {result['sites']} sites, {result['changes']} changes in {result['days']:.1f} days{few}"
    columns = (
        f"  {'policy':<12} {'looks':>8} {'mean':>8} {'p95':>8}{'mean/fixed':>12}{'p95/fixed':>11}  unseen"
    )
    lines = [
        f"  {policy:<12} {found['looks']:>8.0f} {found['mean_s']:>6.0f} s {found['p95_s']:>6.0f} s"
        f" {found['to_fixed']['mean']:>11.2f} {found['to_fixed']['p95']:>10.2f} {found['unseen']:>7.0%}"
        for policy, found in result["policies"].items()
    ]
    return "\n".join([head, columns, *lines])


if __name__ == "__main__":
    main()
