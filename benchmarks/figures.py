"""Writes the tables and plots of `docs/explanation/benchmarks.md` from figures that benchmarks recorded.

`scripts/figures` measures, and then calls this. Plots are drawn by matplotlib, in an environment of its own.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.peers.environments import interpreter

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "explanation" / "benchmarks.md"
FOLDER = ROOT / "docs" / "explanation" / "figures"
MATPLOTLIB = ("matplotlib>=3.10,<4",)
END = "<!-- end -->"
Figures = Mapping[str, Any]


def table(head: str, rows: list[str]) -> str:
    """A table of Markdown."""
    columns = head.count("|") + 1
    return "\n".join([f"| {head} |", "|" + "---|" * columns, *(f"| {row} |" for row in rows)])


def peers(found: Figures) -> str:
    """Cycles of each contender, most first."""
    ordered = sorted(found["contenders"].items(), key=lambda one: -one[1]["per_second"])
    rows = [
        f"{name} | {one['per_second']:,} | {one['cpu_us']:,} | {one['ours_to_it']:.2f}"
        for name, one in ordered
    ]
    return table("| cycles a second | µs of CPU a cycle, worker and server | Cadenza to it", rows)


def traces(found: Figures) -> str:
    """Mean and p95 delay of each policy to the fixed cadence, for each history."""
    policies = list(next(iter(found.values()))["policies"])
    head = f"| {' | '.join(policies)}"
    rows = [
        f"{name.replace('_', ' ')}: {one['sites']} sites, {one['changes']} changes | "
        + " | ".join(_ratios(one["policies"][policy]["to_fixed"]) for policy in policies)
        for name, one in found.items()
    ]
    return table(head, rows)


def _ratios(to_fixed: Figures) -> str:
    return f"{to_fixed['mean']:.2f} / {to_fixed['p95']:.2f}"


def plain(found: Figures) -> str:
    """Every figure under its own name."""
    return table("figure | value", [f"`{name}` | {value:,}" for name, value in found.items()])


def postgres_cycles(found: Figures) -> str:
    """One and two processes of each kind, and then how they compare."""
    laps = {name: one for name, one in found.items() if name.rstrip("12").endswith("_")}
    rows = [
        f"`{name}` | {one['per_second']:,} | {one['cpu_us']} | {one['cores']}" for name, one in laps.items()
    ]
    others = {name: one for name, one in found.items() if name not in laps and name != "goals"}
    head = "| cycles a second | µs of CPU a cycle, worker and server | cores"
    return f"{table(head, rows)}\n\n{plain(others)}"


TABLES: Mapping[str, Callable[[Figures], str]] = {
    "peers": peers,
    "postgres_cycles": postgres_cycles,
    "cycles": plain,
    "rest": plain,
    "commands": plain,
    "traces": traces,
}


def recorded(name: str) -> Any:
    """The figures of one benchmark, as it printed them."""
    return json.loads((FOLDER / f"{name}.json").read_text())


def with_tables(page: str) -> str:
    """The page with its tables as the recorded figures have them."""
    for name, render in TABLES.items():
        before, mark, rest = page.partition(f"<!-- {name} -->\n")
        page = before + mark + render(recorded(name)) + "\n" + rest[rest.index(END) :]
    return page


def main() -> None:
    """Write the page, and draw the plots."""
    PAGE.write_text(with_tables(PAGE.read_text()))
    python = interpreter("plots", MATPLOTLIB)
    if python is None:
        sys.exit("The plots need matplotlib, which could not be installed.")
    subprocess.run([python, "-m", "benchmarks.plots", str(FOLDER)], check=True, cwd=ROOT)


if __name__ == "__main__":
    main()
