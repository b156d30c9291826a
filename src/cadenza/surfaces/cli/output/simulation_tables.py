"""A simulation's report as tables."""

from collections.abc import Iterator, Mapping
from itertools import groupby

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from cadenza.domain.validation import iso
from cadenza.sim.checks import Check
from cadenza.sim.recording import Recording, Snapshot
from cadenza.sim.replay.replay import DelayStatistics, ReplayReport
from cadenza.sim.replay.report import measures
from cadenza.sim.report import Mode, Report
from cadenza.sim.scenario import SnapshotColumn, Value
from cadenza.sim.world import elapsed_s


def report_parts(report: Report) -> Iterator[RenderableType]:
    """The output of `cadenza sim`."""
    recording = report.recording
    yield _headline(report)
    for phase, snapshots in groupby(recording.snapshots, key=lambda snapshot: snapshot.phase):
        yield _phase(phase, list(snapshots), recording.scenario.columns)
    yield _counts(recording)
    yield _tally("sources: what set the next run after each run", recording.sources())
    if causes := recording.causes():
        yield _tally("causes: what set the time of each run", causes)
    if recording.skipped():
        yield _skipped(recording)
    if report.checks:
        yield _checks(report)
    yield Text(report.parity.sentence, style="red" if report.parity.equal is False else "")
    yield _verdict(report)


def _headline(report: Report) -> Text:
    recording = report.recording
    minutes, runs = len(recording.snapshots), len(recording.runs)
    facts = f"{minutes} minutes in steps of {report.step_s} s, {runs} runs"
    steered = report.mode if report.planner is None else f"steered by {report.planner}"
    return Text.assemble((recording.scenario.name, "bold"), f", {steered}: {facts}")


def _phase(name: str, snapshots: list[Snapshot], columns: tuple[SnapshotColumn, ...]) -> Group:
    first, last = snapshots[0].minute, snapshots[-1].minute
    table = _table()
    for column in columns:
        table.add_column(column.name, justify="right", no_wrap=True)
    for snapshot in snapshots:
        table.add_row(*(_cell(snapshot.row[column.name], column.unit) for column in columns))
    return _titled(f"{name} (minutes {first} to {last})", table)


def _cell(value: Value, unit: str) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "-" if value is None else f"{value}{unit}"


def _counts(recording: Recording) -> Group:
    table = _table()
    table.add_column("tier", no_wrap=True)
    table.add_column("endpoint", no_wrap=True)
    table.add_column("runs", justify="right", no_wrap=True)
    counts = recording.counts()
    for tier, total in recording.tiers().items():
        table.add_row(Text(tier, style="bold"), "", Text(str(total), style="bold"))
        for endpoint in recording.scenario.endpoints:
            if endpoint.tier == tier:
                table.add_row("", endpoint.name, str(counts[endpoint.name]))
    table.add_row(Text("all", style="bold"), "", Text(str(len(recording.runs)), style="bold"))
    return _titled("runs", table)


def _tally(title: str, counts: Mapping[str, int]) -> Group:
    table = _table()
    table.add_column("source", no_wrap=True)
    table.add_column("runs", justify="right", no_wrap=True)
    for source, count in counts.items():
        table.add_row(source, str(count))
    return _titled(title, table)


def _skipped(recording: Recording) -> Group:
    table = _table()
    table.add_column("endpoint", no_wrap=True)
    table.add_column("slot", justify="right", no_wrap=True)
    table.add_column("reason", overflow="fold")
    for row in recording.skipped():
        table.add_row(row.endpoint_id, f"{elapsed_s(row.slot)}s", row.reason)
    return _titled("slots without a run", table)


def _checks(report: Report) -> Group:
    table = _table()
    table.add_column("verdict", no_wrap=True)
    table.add_column("check", overflow="fold")
    table.add_column("measured", overflow="fold")
    for check in report.checks:
        table.add_row(_checked(check, judged=report.judged), check.name, check.detail)
    return _titled("checks", table)


def _checked(check: Check, *, judged: bool) -> Text:
    if check.passed:
        return Text("passed", style="green")
    return Text("FAILED", style="bold red") if judged else Text("not passed")


def _verdict(report: Report) -> Text:
    passed = sum(check.passed for check in report.checks)
    line = f"{passed} of {len(report.checks)} checks passed" if report.checks else "no checks in this mode"
    if report.mode is Mode.PLANNED:
        line += "; the checks are for the policies, a planner is only measured against them"
    elif not report.judged:
        line += "; the published rules are only measured against them"
    return Text(line, style="bold green" if report.passed else "bold red")


def _table() -> Table:
    return Table(box=box.SIMPLE_HEAD)


def _titled(title: str, table: Table) -> Group:
    """A title above its table; rich would wrap the table's own title at its width."""
    return Group(Text(title, style="bold"), table)


MINUTE_S, HOUR_S = 60, 3_600


def replay_parts(replayed: ReplayReport) -> Iterator[RenderableType]:
    """The output of `cadenza sim replay`."""
    names = ", ".join(replayed.endpoints)
    span = f"{iso(replayed.since)} to {iso(replayed.until)}"
    yield Text.assemble((names, "bold"), f", {span}: {replayed.changes} changes")
    yield _courses(replayed)
    yield Text(
        "delay: from a change to the run that shows it, mean and 95th percentile; at least, if changes fell"
        " evenly between the runs that bound them, and at most"
    )
    if any(one.unnoticed for one in measures(replayed)):
        yield Text("undetected: changes that no run detected; their delay counts until the end of the replay")


def _courses(replayed: ReplayReport) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("policy", no_wrap=True)
    for name in ("runs", "of recorded", "least", "even", "most", "unnoticed"):
        table.add_column(name, justify="right", no_wrap=True)
    for one in measures(replayed):
        delays = (_delay(one.least), _delay(one.even), _delay(one.most))
        table.add_row(one.policy, str(one.runs), f"{one.per_cent:.0f} %", *delays, str(one.unnoticed))
    return table


def _delay(figures: DelayStatistics) -> str:
    return f"{_span(figures.mean_s)} / {_span(figures.p95_s)}"


def _span(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    if seconds < 2 * MINUTE_S:
        return f"{seconds:.1f}s"
    return f"{seconds / MINUTE_S:.1f}m" if seconds < 2 * HOUR_S else f"{seconds / HOUR_S:.1f}h"
