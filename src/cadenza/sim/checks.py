"""Checks: a name, a verdict, and the facts that were measured for it."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from cadenza.domain.validation import milliseconds
from cadenza.sim.recording import Gap, Recording
from cadenza.sim.world import MINUTES, elapsed_s

MOST_LATE_S = 10
"""The longest step: what comes due between two ticks waits for the second."""


class CheckResult(NamedTuple):
    """A verdict, and the facts behind it."""

    passed: bool
    detail: str


class Check(NamedTuple):
    """A finding under its name."""

    name: str
    passed: bool
    detail: str


CheckRule = Callable[[Recording], CheckResult]
CheckRules = Mapping[str, CheckRule]


def run_checks(recording: Recording, rules: CheckRules) -> tuple[Check, ...]:
    """The result of every rule, in their order."""
    return tuple(Check(name, *check(recording)) for name, check in rules.items())


def all_of_length(gaps: Sequence[Gap], seconds: int) -> CheckResult:
    """Are all these gaps of one length, and is there any?"""
    if not gaps:
        return CheckResult(
            passed=False, detail=f"should run every {seconds} s there, but ran too seldom to tell"
        )
    for gap in gaps:
        if gap.length != seconds:
            return CheckResult(
                passed=False,
                detail=f"should run every {seconds} s, but ran at {gap.start} s and next at {gap.end} s",
            )
    return CheckResult(
        passed=True,
        detail=f"every {seconds} s, {len(gaps)} times from {gaps[0].start} s to {gaps[-1].end} s",
    )


def between(gaps: Sequence[Gap], since: int, until: int) -> list[Gap]:
    """Those that lie between two seconds."""
    return [gap for gap in gaps if since <= gap.start and gap.end <= until]


def beginning_within(gaps: Sequence[Gap], since: int, until: int) -> list[Gap]:
    """Those that begin between two seconds, wherever they end."""
    return [gap for gap in gaps if since <= gap.start < until]


def all_of(*findings: CheckResult) -> CheckResult:
    """One result of several: the details of those that fail, if any does."""
    failing = [finding.detail for finding in findings if not finding.passed]
    return CheckResult(not failing, "; ".join(failing or [finding.detail for finding in findings]))


def minimum_interval_kept(recording: Recording) -> CheckResult:
    """No endpoint runs twice within its minimum interval."""
    least = {endpoint.name: endpoint.min_s for endpoint in recording.scenario.endpoints}
    for name, seconds in least.items():
        for gap in recording.gaps(name):
            if gap.length < seconds:
                detail = f"{name} ran at {gap.start} s and {gap.end} s; its minimum is {seconds} s"
                return CheckResult(passed=False, detail=detail)
    measured = sum(len(recording.gaps(name)) for name in least)
    return CheckResult(measured > 0, f"{measured} gaps measured, none shorter than its endpoint's minimum")


def one_verdict_per_slot(recording: Recording) -> CheckResult:
    """Every slot that came due has one verdict, and so has every slot in the history."""
    history = recording.history
    verdicts = Counter((row.endpoint_id, row.slot) for row in history.rows if row.verdict)
    slots = {*history.due, *((row.endpoint_id, row.slot) for row in history.rows)}
    odd = sorted((name, elapsed_s(slot)) for name, slot in slots if verdicts[name, slot] != 1)
    if odd:
        name, second = odd[0]
        detail = f"{len(odd)} slots without exactly one verdict, first that of {name} at {second} s"
        return CheckResult(passed=False, detail=detail)
    return CheckResult(
        bool(slots), f"{len(slots)} slots, {len(history.due)} of them came due, one verdict each"
    )


def runs_on_time(recording: Recording) -> CheckResult:
    """Nothing starts before its moment, or later than the longest step after it."""
    late = [
        ((row.started_at - row.due_at) // milliseconds(1), row.endpoint_id, elapsed_s(row.started_at))
        for row in recording.history.rows
        if row.started_at is not None
    ]
    odd = [start for start in late if not 0 <= start[0] <= MOST_LATE_S * 1_000]
    if odd:
        span_ms, name, second = odd[0]
        detail = f"{len(odd)} starts off time, such as {name} at {second} s, {span_ms} ms after its moment"
        return CheckResult(passed=False, detail=detail)
    worst_ms = max((start[0] for start in late), default=0)
    return CheckResult(
        bool(late), f"{len(late)} starts, none early, the latest {worst_ms} ms after its moment"
    )


def every_minute_seen(oldest_s: int) -> CheckRule:
    """There is a snapshot for each minute, and none shows a sample older than that."""

    def check(recording: Recording) -> CheckResult:
        minutes = [snapshot.minute for snapshot in recording.snapshots]
        age_s = max(int(snapshot.sample_age.total_seconds()) for snapshot in recording.snapshots)
        detail = f"{len(minutes)} snapshots, the oldest sample in them {age_s} s old, {oldest_s} s allowed"
        return CheckResult(minutes == list(range(MINUTES)) and age_s <= oldest_s, detail)

    return check
