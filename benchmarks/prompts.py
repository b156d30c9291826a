"""Turns of a model that watches something: woken every five minutes, pacing itself, or after a probe."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from math import hypot
from pathlib import Path
from typing import NamedTuple

from benchmarks.histories import History, read_histories
from benchmarks.looks import play
from benchmarks.policies import Fixed, Learning, Policy, SelfPaced
from benchmarks.prompt_looks import (
    BASELINE_S,
    LONGEST_S,
    Figures,
    PromptLooks,
    ReportTotals,
    WatchList,
    watch_list_of_history,
    watch_list_of_world,
)
from benchmarks.worlds import WORLDS, Size, Timing, world

DAYS = 14.0
"""Of a history, the busiest."""
LEAST_S, MOST_S = 60.0, 1_800.0
"""The guard of the probe: no more often than users may have their schedules fire by default."""
ERRORS = 2.0
"""A mean delay is worse if the difference is more than so many of its standard errors."""
GOALS = {"turns_a_day": 58.0, "reported": 0.95, "errors_above_fixed": ERRORS}
FEW_CHANGES = 50
"""With fewer relevant changes than this, delays are mostly luck."""
NAMES = {"fixed": "every five minutes", "self_paced": "self-paced", "probe": "with a probe"}
WIDTHS = (11, 12, 10, 9, 9, 16)


class WakeMethod(NamedTuple):
    """How a model is woken."""

    policy: Callable[[int, Timing], Policy]
    """Made for so many things."""
    timing: Timing
    probed: bool = False
    """Whether the model is woken only if a probe has something new."""


def every_period(_: int, timing: Timing) -> Policy:
    """The fixed pace."""
    return Fixed(timing.period_s)


def wake_methods(most_s: float) -> Mapping[str, WakeMethod]:
    """The three that are compared, the probe with a longest interval."""
    return {
        "fixed": WakeMethod(every_period, Timing(BASELINE_S, (BASELINE_S, BASELINE_S))),
        "self_paced": WakeMethod(SelfPaced, Timing(BASELINE_S, (LEAST_S, LONGEST_S))),
        "probe": WakeMethod(Learning, Timing(BASELINE_S, (LEAST_S, most_s)), probed=True),
    }


def figures_of(method: WakeMethod, lists: Sequence[WatchList], *, seed: int) -> Figures:
    """One method with several lists, each from the start."""
    totals = ReportTotals()
    for lap, watched in enumerate(lists):
        looks = PromptLooks(watched, method.timing, seed=seed + lap)
        play(looks, method.policy(len(watched.things), method.timing))
        totals.add(watched, looks)
    return totals.figures(probed=method.probed)


def compare(lists: Sequence[WatchList], *, seed: int = 1, most_s: float = MOST_S) -> dict[str, Figures]:
    """All methods with the same lists."""
    return {name: figures_of(method, lists, seed=seed) for name, method in wake_methods(most_s).items()}


def in_world(name: str, size: Size, seeds: Sequence[int], *, most_s: float) -> dict[str, Figures]:
    """All methods in a world, from several seeds."""
    lists = [watch_list_of_world(world(name, size, seed=seed)) for seed in seeds]
    return compare(lists, seed=seeds[0], most_s=most_s)


def with_history(history: History, *, laps: int, most_s: float) -> dict[str, Figures]:
    """All methods with a history, several times with other first looks."""
    return compare([watch_list_of_history(history)] * laps, most_s=most_s)


def missed_goals(found: Mapping[str, Figures]) -> list[str]:
    """Which goals the probe missed; where nothing changes, only the turns count."""
    probe, fixed = found["probe"], found["fixed"]
    met = {
        "turns_a_day": probe.turns <= GOALS["turns_a_day"],
        "reported": probe.reported is None or probe.reported >= GOALS["reported"],
        "errors_above_fixed": probe.mean_s <= fixed.mean_s + ERRORS * hypot(probe.error_s, fixed.error_s),
    }
    return [goal for goal, is_met in met.items() if not is_met]


def measure(options: argparse.Namespace) -> dict[str, dict[str, Figures]]:
    """Every world, and every history of the folder, if there is one."""
    size = Size(options.endpoints, options.days)
    seeds = range(options.first, options.first + options.seeds)
    tasks: dict[str, Callable[[], dict[str, Figures]]] = {
        name: partial(in_world, name, size, seeds, most_s=options.most) for name in options.worlds
    }
    histories = read_histories(options.histories, days=DAYS) if options.histories else {}
    for name, history in histories.items():
        tasks[f"history {name}"] = partial(with_history, history, laps=options.laps, most_s=options.most)
    if options.processes == 1:
        return {name: task() for name, task in tasks.items()}
    with ProcessPoolExecutor(options.processes) as pool:
        waiting = {name: pool.submit(task) for name, task in tasks.items()}
        return {name: task.result() for name, task in waiting.items()}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--histories", type=Path, help="a folder of CSV files: t, site, status, code, ms")
    parser.add_argument("--laps", type=int, default=3, help="how often each history is played")
    parser.add_argument("--worlds", nargs="*", default=list(WORLDS), choices=list(WORLDS))
    parser.add_argument("--endpoints", type=int, default=100, help="things to watch in a world")
    parser.add_argument("--days", type=float, default=3.0, help="of a world")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first", type=int, default=1, help="the first seed")
    parser.add_argument("--most", type=float, default=MOST_S, help="the probe's longest interval, in seconds")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    if options.histories and not any(options.histories.glob("*.csv")):
        parser.error(f"there is no history (*.csv) in {options.histories}")
    if not LEAST_S <= options.most <= LONGEST_S:
        parser.error(f"--most must lie between {LEAST_S:.0f} and {LONGEST_S:.0f}")
    return options


def main() -> int:
    """Print the figures, for people or as JSON; 1 if a goal was missed."""
    options = _options()
    found = measure(options)
    missed = [f"{name}: {goal}" for name, figures in found.items() for goal in missed_goals(figures)]
    if options.json:
        plain = {
            name: {method: one._asdict() for method, one in figures.items()}
            for name, figures in found.items()
        }
        print(json.dumps({"goals": GOALS, "found": plain, "missed": missed}))
        return 1 if missed else 0
    for name, figures in found.items():
        print(_text(name, figures))
    print(
        f"goals of the probe: at most {GOALS['turns_a_day']:.0f} turns a day,"
        f" {GOALS['reported']:.0%} reported,"
        f" mean delay at most {ERRORS:.0f} standard errors above the fixed pace's;"
        f" missed: {', '.join(missed) or 'none'}"
    )
    return 1 if missed else 0


def _text(name: str, found: Mapping[str, Figures]) -> str:
    one = found["fixed"]
    few = f" (fewer than {FEW_CHANGES}: delays are mostly luck)" if 0 < one.relevant < FEW_CHANGES else ""
    head = f"{name}: {one.relevant:,} relevant changes{few}, {one.brief:,} brief ones"
    titles = ("the model is woken", "turns/day", "probes/day", "reported", "mean", "p95", "brief reported")
    return "\n".join([head, _line(titles), *(_line(_cells(name, one)) for name, one in found.items())])


def _cells(name: str, one: Figures) -> Sequence[str]:
    delays = (f"{one.mean_s:.0f} s", f"{one.p95_s:.0f} s") if one.relevant else ("", "")
    shares = ["" if share is None else f"{share:.1%}" for share in (one.reported, one.brief_reported)]
    return (NAMES[name], f"{one.turns:.1f}", f"{one.probes:.0f}", shares[0], *delays, shares[1])


def _line(cells: Sequence[str]) -> str:
    return f"  {cells[0]:<20}" + "".join(
        f"{cell:>{width}}" for cell, width in zip(cells[1:], WIDTHS, strict=True)
    )


if __name__ == "__main__":
    sys.exit(main())
