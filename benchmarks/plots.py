"""Draws the plots of recorded figures as SVG: the same figures give the same files."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

OURS, OTHERS = "#2f6fde", "#9aa5b1"


def bars(names: Sequence[str], values: Sequence[float], *, title: str, file: Path, log: bool = False) -> None:
    """One bar for each name, ours in another colour."""
    figure = Figure(figsize=(7, 0.45 * len(names) + 1), layout="constrained")
    axes = figure.subplots()
    colours = [OURS if name.startswith(("Cadenza", "learning")) else OTHERS for name in names]
    drawn = axes.barh(names, values, color=colours, log=log)
    axes.bar_label(drawn, [f"{value:,.0f}" if log else f"{value:.2f}" for value in values], padding=3)
    axes.invert_yaxis()
    axes.margins(x=0.15)
    axes.set_title(title)
    figure.savefig(file, metadata={"Date": None})


def draw(folder: Path) -> None:
    """All plots of a folder's figures."""
    mpl.rcParams["svg.hashsalt"] = "cadenza"
    contenders: Mapping[str, Any] = json.loads((folder / "peers.json").read_text())["contenders"]
    ordered = sorted(contenders, key=lambda name: -contenders[name]["per_second"])
    speeds = [contenders[name]["per_second"] for name in ordered]
    bars(ordered, speeds, title="Full cycles a second, PostgreSQL", file=folder / "peers.svg", log=True)
    for name, found in json.loads((folder / "traces.json").read_text()).items():
        policies = found["policies"]
        delays = [policies[policy]["to_fixed"]["mean"] for policy in policies]
        title = f"{name.replace('_', ' ')}: mean delay to a fixed cadence, at equal runs"
        bars(list(policies), delays, title=title, file=folder / f"{name}.svg")


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
