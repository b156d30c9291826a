"""How soon changes are seen: the learning planner beside other policies, at the same number of runs."""

import argparse
import json
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import accumulate
from math import exp
from random import Random
from statistics import mean
from typing import Any

from benchmarks.bounds import Figures, informed_bounds
from benchmarks.looks import play
from benchmarks.policies import (
    Clairvoyant,
    Fixed,
    Learning,
    Policy,
    Seen,
    aimd,
    backoff,
    rules,
)
from benchmarks.worlds import (
    JOB,
    LATENCY_MS,
    LATENCY_RAISED,
    LATENCY_SPREAD,
    WORLDS,
    Size,
    Track,
    World,
    world,
)

FULL, QUICK = Size(100, 3.0), Size(60, 2.0)
CLASS_S, MOST_S = 2.0, 1_800.0
"""Delays are counted in classes up to twice the longest interval."""
GOALS = {
    "share_of_clairvoyant": 0.9,
    "share_of_in_time": 0.9,
    "below_fixed_where_wide": 0.35,
    "worse_where_level": 0.05,
    "p95_above_fixed": 0.005,
    "runs_off_budget": 0.05,
}
"""The percentile may be no higher than the fixed pace's, within what classes of delays can tell."""


SHARES = ("share_of_clairvoyant", "share_of_informed", "share_of_in_time")
COLUMNS = {"mean delay": "mean_s", "p95": "p95_s"}


PEERS: Mapping[str, Callable[[float], Policy]] = {"backoff": backoff, "aimd": aimd, "rules": rules}


class Delays:
    """Every moment at which a change could have come, weighted by how likely it was.

    The mean and the percentile are those of the changes that the rates make likely, which is
    what the drawn changes come out at on average, without the luck of the draw. Where nothing
    ever changes, all moments count alike.
    """

    def __init__(self) -> None:
        self._steps = [0.0] * (int(2 * MOST_S / CLASS_S) + 2)
        self._sum = self._all = 0.0

    def add(self, track: Track, begin: float, *, end: float) -> None:
        """A look at the end of a gap."""
        for start, stop, rate in track.between(begin, end):
            weight = (rate or 1e-12) * (stop - start)
            self._sum += weight * (end - (start + stop) / 2)
            self._all += weight
            self._spread(end - stop, end - start, weight=weight)

    def _spread(self, shortest: float, longest: float, *, weight: float) -> None:
        """Alike over all classes between; as the steps from each class to the next, which are two."""
        first, last = int(shortest / CLASS_S), int(longest / CLASS_S)
        self._steps[first] += weight / (last - first + 1)
        self._steps[last + 1] -= weight / (last - first + 1)

    @property
    def mean(self) -> float:
        """The expected delay of a change."""
        return self._sum / self._all

    def percentile(self, share: float) -> float:
        """The delay that so many changes do not exceed."""
        weights = list(accumulate(self._steps))
        left = share * sum(weights)
        for place, weight in enumerate(weights):
            if weight >= left:
                return (place + left / weight) * CLASS_S
            left -= weight
        return len(weights) * CLASS_S


class WorldLooks:
    """A world as looks show it, and the delays that they leave."""

    def __init__(self, one: World, *, seed: int) -> None:
        self.until, self.timing = one.until, one.timing
        self.chance, self.delays = Random(seed), Delays()
        self._tracks, self._seen_changes = one.tracks, [0] * len(one.tracks)

    @property
    def endpoints(self) -> int:
        """How many there are to look at."""
        return len(self._tracks)

    def passed(self, number: int, begin: float, *, end: float) -> None:
        """A gap between two looks has ended."""
        self.delays.add(self._tracks[number], begin, end=end)

    def look(self, number: int, at: float) -> Seen:
        """What a look shows."""
        track, before = self._tracks[number], self._seen_changes[number]
        latency_ms = LATENCY_MS * exp(
            self.chance.gauss(0, LATENCY_SPREAD) + (LATENCY_RAISED if track.is_stressed(at) else 0.0)
        )
        self._seen_changes[number] = bisect_right(track.changes, at)
        changed = self._seen_changes[number] > before
        return Seen(at, changed, track.failing(at), latency_ms, number // JOB)

    def siblings(self, number: int) -> Sequence[int]:
        """The other endpoints of its job."""
        first = number // JOB * JOB
        return [other for other in range(first, min(first + JOB, self.endpoints)) if other != number]


def simulate(one: World, policy: Policy, *, seed: int) -> Figures:
    """Look at every endpoint of a world until it ends, as a policy says."""
    looks = WorldLooks(one, seed=seed)
    runs, violations = play(looks, policy)
    return Figures(runs, looks.delays.mean, looks.delays.percentile(0.95), violations)


def compare(name: str, size: Size, *, seed: int, peers: bool = True) -> dict[str, Any]:
    """All policies in one world, at the runs that the learning planner took; peers only if wanted."""
    one = world(name, size, seed=seed)
    budget = len(one.tracks) * one.until / one.timing.period_s
    learning = simulate(one, Learning(len(one.tracks)), seed=seed)
    spent = learning.runs / budget
    figures = {"fixed": simulate(one, Fixed(one.timing.period_s / spent), seed=seed), "learning": learning}
    if peers:
        figures |= {other: simulate(one, make(spent), seed=seed) for other, make in PEERS.items()}
    if any(track.changes for track in one.tracks):
        figures |= _best(one, figures["fixed"], seed=seed, bounds=peers)
    return _compared(one, figures, spent=spent)


def _best(one: World, fixed: Figures, *, seed: int, bounds: bool) -> dict[str, Figures]:
    """The clairvoyant at the runs of the fixed pace, and those without foresight, if they are wanted."""
    policy = Clairvoyant(one, fixed.runs)
    figures = simulate(one, policy, seed=seed)
    policy.corrected(figures.runs / fixed.runs)
    best = {"clairvoyant": simulate(one, policy, seed=seed)}
    if bounds:
        known = informed_bounds(one, fixed, price=policy.price, simulate=partial(simulate, one, seed=seed))
        best |= {name: found for name, found in (known._asdict() if known else {}).items() if found}
    return best


def _compared(one: World, figures: Mapping[str, Figures], *, spent: float) -> dict[str, Any]:
    fixed, learning = figures["fixed"], figures["learning"]
    won = fixed.mean_s - learning.mean_s
    shares = {
        share: won / (fixed.mean_s - figures[name].mean_s)
        for share in SHARES
        if not one.level and (name := share.removeprefix("share_of_")) in figures
    }
    return {
        "policies": {name: found._asdict() for name, found in figures.items()},
        "wide": one.wide,
        "level": one.level,
        "spent": spent,
        "below_fixed": won / fixed.mean_s,
        "p95": learning.p95_s / fixed.p95_s,
        **{share: shares.get(share) for share in SHARES},
        "violations": learning.violations,
    }


def measure(size: Size, seeds: Sequence[int], *, names: Sequence[str], processes: int = 1) -> dict[str, Any]:
    """Every world from every seed."""
    with ProcessPoolExecutor(processes) as pool:
        tasks = {name: [pool.submit(compare, name, size, seed=seed) for seed in seeds] for name in names}
        runs = {name: [task.result() for task in waiting] for name, waiting in tasks.items()}
    found = {name: {"seeds": each, "mean": _averaged(each)} for name, each in runs.items()}
    return {"goals": GOALS, "endpoints": size.endpoints, "days": size.days, "worlds": found}


def judged(name: str, runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Which goals were missed in a world; none, if all is well.

    The clairvoyant knows what no look can show, and may be late: whether the planner does what can
    be done is the share of what the informed gains in time.
    """
    return [f"{name}: {goal}" for goal, met in _goals(runs[0], _averaged(runs)).items() if not met]


def _goals(world: Mapping[str, Any], mean: Mapping[str, Any]) -> dict[str, bool]:
    below = mean["below_fixed"]
    return {
        **{share: mean[share] is None or mean[share] >= GOALS[share] for share in SHARES if share in GOALS},
        "below_fixed_where_wide": not world["wide"] or below >= GOALS["below_fixed_where_wide"],
        "worse_where_level": not world["level"] or below >= -GOALS["worse_where_level"],
        "p95_above_fixed": mean["p95"] <= 1 + GOALS["p95_above_fixed"],
        "runs_off_budget": abs(mean["spent"] - 1) <= GOALS["runs_off_budget"],
        "guard": mean["violations"] == 0,
    }


def _averaged(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    averages = {
        name: mean(found) if (found := [run[name] for run in runs if run[name] is not None]) else None
        for name in ("spent", "below_fixed", "p95", *SHARES)
    }
    return {**averages, "violations": sum(run["violations"] for run in runs)}


def main() -> None:
    """Print the figures, for people or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--quick", action="store_true", help="fewer endpoints and days")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--worlds", nargs="*", default=list(WORLDS), choices=list(WORLDS))
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.seeds)
    size = QUICK if options.quick else FULL
    found = measure(size, seeds, names=options.worlds, processes=options.processes)
    missed = [goal for name, results in found["worlds"].items() for goal in judged(name, results["seeds"])]
    if options.json:
        print(json.dumps({**found, "missed": missed}))
        return
    for name, results in found["worlds"].items():
        print(_line(name, results))
    print(f"missed: {', '.join(missed) or 'nothing'}")


def _line(name: str, results: Mapping[str, Any]) -> str:
    mine, first = results["mean"], results["seeds"][0]["policies"]
    told = [f"{mine['below_fixed']:>5.0%} below fixed", f"p95 {mine['p95']:.2f}", f"runs {mine['spent']:.3f}"]
    shares = {share: mine[share] for share in SHARES if mine[share] is not None}
    told += [f"{found:.2f} of {_words(share)}" for share, found in shares.items()]
    beside = [f"{'':<16} {what} to fixed: {_beside(first, key)}" for what, key in COLUMNS.items()]
    return "\n".join([f"{name:<16} {'; '.join(told)}", *beside])


def _beside(policies: Mapping[str, Any], key: str) -> str:
    fixed = policies["fixed"][key]
    return ", ".join(f"{_words(policy)} {found[key] / fixed:.2f}" for policy, found in policies.items())


def _words(name: str) -> str:
    return name.removeprefix("share_of_").replace("in_time", "informed in time")


if __name__ == "__main__":
    main()
