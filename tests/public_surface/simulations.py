"""The reports of both simulators, in every mode: counts as they are, the rest as a digest."""

import hashlib
import json
from typing import Any

from tests.public_surface.program import printed
from tests.public_surface.snapshot import Snapshot, as_json

BOTH = (
    "",
    "--as-published",
    "--planner learned",
    "--step-seconds 1",
    "--step-seconds 2",
    "--step-seconds 10",
)
MODES = {
    "flash-sale": (*BOTH, "--planner rules", "--planner scripted"),
    "system-resources": BOTH,
}
LONG = ("snapshots", "order", "timeline")


def collect_simulations(into: Snapshot) -> None:
    lines = [f"sim {scenario} {mode}".strip() for scenario, modes in MODES.items() for mode in modes]
    reports = {line: json.loads(printed(*line.split(), "--json")) for line in lines}
    into.sentences("simulations", {line: _take_sentences(report) for line, report in reports.items()})
    into.shape("simulations", {line: _shortened(report) for line, report in reports.items()})


def _take_sentences(report: dict[str, Any]) -> dict[str, Any]:
    """Take what is said in words out of a report."""
    return {
        "checks": {check["name"]: check.pop("detail") for check in report["checks"]},
        "skipped": [skipped.pop("reason") for skipped in report["skipped"]],
        "parity": report["parity"].pop("summary"),
    }


def _shortened(report: dict[str, Any]) -> dict[str, Any]:
    digests = {part: _digest(report.pop(part)) for part in LONG}
    return report | {"digests": digests, "fields": sorted([*report, *LONG])}


def _digest(rows: list[Any]) -> dict[str, Any]:
    """How many rows there are, what a row holds, and a digest of all."""
    fields = sorted(rows[0]) if rows and isinstance(rows[0], dict) else None
    return {"rows": len(rows), "fields": fields, "sha256": hashlib.sha256(as_json(rows).encode()).hexdigest()}
