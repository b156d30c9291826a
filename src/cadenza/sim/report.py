"""The report of a simulation, for people and for machines."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from cadenza.domain.scheduling.run import Run
from cadenza.domain.validation import iso
from cadenza.sim.checks import Check
from cadenza.sim.prototype_run import Parity
from cadenza.sim.recording import RecordedRun, Recording, Snapshot
from cadenza.sim.world import elapsed_s


class Mode(StrEnum):
    """Which rules were simulated."""

    CORRECTED = "corrected"
    AS_PUBLISHED = "as-published"
    PLANNED = "planned"
    """No policies of the scenario's own: a planner steers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A simulation, its checks, and whether it passed."""

    mode: Mode
    step_s: int
    recording: Recording
    checks: tuple[Check, ...]
    parity: Parity
    planner: str | None = None
    judged: bool = True
    """Do the checks decide? A planner, and rules that never claimed to pass them, are only measured."""

    @property
    def passed(self) -> bool:
        """Did every check that decides pass, and are the published counts reached?"""
        return not self.judged or (
            all(check.passed for check in self.checks) and self.parity.equal is not False
        )


def document(report: Report) -> dict[str, Any]:
    """The report as JSON takes it."""
    recording = report.recording
    return {
        "scenario": recording.scenario.name,
        "mode": str(report.mode),
        "planner": report.planner,
        "step_seconds": report.step_s,
        "minutes": len(recording.snapshots),
        "passed": report.passed,
        **_counts(recording),
        "skipped": [_skipped(row) for row in recording.skipped()],
        "checks": [check._asdict() for check in report.checks],
        "parity": _parity(report.parity),
        "snapshots": [_snapshot(snapshot) for snapshot in recording.snapshots],
        "order": recording.order(),
        "timeline": [_played(run) for run in recording.runs],
    }


def _counts(recording: Recording) -> dict[str, Any]:
    return {
        "total_runs": len(recording.runs),
        "runs": recording.counts(),
        "tiers": recording.tiers(),
        "sources": recording.sources(),
        "causes": recording.causes(),
    }


def _parity(parity: Parity) -> dict[str, Any]:
    published = parity.reference
    return {
        "equal": parity.equal,
        "summary": parity.sentence,
        "total_runs": sum(parity.runs.values()),
        "runs": dict(parity.runs),
        "sources": dict(parity.sources),
        "broken": list(parity.broken),
        "published": None
        if published is None
        else {
            "total_runs": sum(published.runs.values()),
            "runs": dict(published.runs),
            "sources": dict(published.sources),
        },
    }


def _snapshot(snapshot: Snapshot) -> dict[str, Any]:
    return {"phase": snapshot.phase, **snapshot.row}


def _skipped(row: Run) -> dict[str, Any]:
    return {
        "slot": iso(row.slot),
        "second": elapsed_s(row.slot),
        "endpoint": row.endpoint_id,
        "reason": row.reason,
    }


def _played(run: RecordedRun) -> dict[str, Any]:
    return {
        "at": iso(run.at),
        "second": elapsed_s(run.at),
        "endpoint": run.endpoint,
        "cause": run.cause,
        "source": run.source,
        "next_run_at": None if run.next_run_at is None else iso(run.next_run_at),
    }
