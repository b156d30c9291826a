"""A replay as a table."""

from collections.abc import Iterator

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from cadenza.domain.validation import iso
from cadenza.sim.delays import Figures
from cadenza.sim.replay import Replayed
from cadenza.sim.replay_report import measures

MINUTE_S, HOUR_S = 60, 3_600


def replay_parts(replayed: Replayed) -> Iterator[RenderableType]:
    """Everything that `cadenza sim replay` shows."""
    names = ", ".join(replayed.endpoints)
    span = f"{iso(replayed.since)} to {iso(replayed.until)}"
    yield Text.assemble((names, "bold"), f", {span}: {replayed.changes} changes")
    yield _courses(replayed)
    yield Text(
        "delay: from a change to the run that shows it, mean and 95th percentile; at least, if changes fell"
        " evenly between the runs that bound them, and at most"
    )
    if any(one.unnoticed for one in measures(replayed)):
        yield Text("unnoticed: changes that no run came to see; counted with the end of the replay")


def _courses(replayed: Replayed) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("policy", no_wrap=True)
    for name in ("runs", "of recorded", "least", "even", "most", "unnoticed"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in measures(replayed):
        delays = (_spoken(one.least), _spoken(one.even), _spoken(one.most))
        table.add_row(one.policy, str(one.runs), f"{one.per_cent:.0f} %", *delays, str(one.unnoticed))
    return table


def _spoken(figures: Figures) -> str:
    return f"{_span(figures.mean_s)} / {_span(figures.p95_s)}"


def _span(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    if seconds < 2 * MINUTE_S:
        return f"{seconds:.1f}s"
    return f"{seconds / MINUTE_S:.1f}m" if seconds < 2 * HOUR_S else f"{seconds / HOUR_S:.1f}h"
