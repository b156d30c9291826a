"""`cadenza migrate` and `cadenza doctor`: the schema, and a self-check with advice."""

from collections.abc import Sequence

from cadenza.surfaces.cli.exits import Exit
from cadenza.surfaces.cli.launchers import Finding, Migration
from cadenza.surfaces.cli.stdout import write, write_json


def show_migration(migration: Migration, *, as_json: bool) -> int:
    """What was done to the schema."""
    if as_json:
        write_json(migration._asdict())
    elif migration.before == migration.after:
        write(f"The tables in {migration.database} are up to date ({migration.after}).\n")
    else:
        before = migration.before or "nothing"
        write(f"The tables in {migration.database} are brought from {before} to {migration.after}.\n")
    return Exit.DONE


def show_findings(findings: Sequence[Finding], *, as_json: bool) -> int:
    """What a self-check found; a failed check is a failed command."""
    passed = all(finding.passed for finding in findings)
    if as_json:
        write_json({"passed": passed, "checks": [finding._asdict() for finding in findings]})
    else:
        write("".join(_line(finding) for finding in findings))
    return Exit.DONE if passed else Exit.FAILED_CHECK


def _line(finding: Finding) -> str:
    verdict = "passed" if finding.passed else "failed"
    advice = f" {finding.advice}" if finding.advice and not finding.passed else ""
    return f"{verdict}  {finding.name:<10} {finding.detail}{advice}\n"
