"""`cadenza migrate`, `doctor`, `backup`, `restore`, `bench` and `--install-completion`."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from cadenza.domain.errors import InvalidRequest, Unavailable
from cadenza.surfaces.cli.exits import Exit
from cadenza.surfaces.cli.launchers import Backup, BenchLauncher, Finding, Migration, Restoration
from cadenza.surfaces.cli.output.stdout import write, write_json
from cadenza.surfaces.cli.output.terminal import counting, working

Shell = Literal["zsh", "bash", "fish", "powershell"]
Output = Annotated[
    Path | None, Parameter(help="Write the script here, and leave the shell's own files alone.")
]


def show_migration(migration: Migration, *, as_json: bool) -> int:
    """Print what the migration did."""
    if as_json:
        write_json(migration._asdict())
    elif migration.before == migration.after:
        write(f"The tables in {migration.database} are up to date ({migration.after}).\n")
    else:
        before = migration.before or "nothing"
        write(f"The tables in {migration.database} were migrated from {before} to {migration.after}.\n")
        for table, rows in migration.deleted.items():
            write(f"Deleted {rows} of {table} that had no parent row.\n")
    return Exit.DONE


def show_findings(findings: Sequence[Finding], *, as_json: bool) -> int:
    """Print the checks; a failed check is a failed command."""
    passed = all(finding.passed for finding in findings)
    if as_json:
        write_json({"passed": passed, "checks": [finding._asdict() for finding in findings]})
    else:
        write("".join(_line(finding) for finding in findings))
    return Exit.DONE if passed else Exit.FAILED_CHECK


def show_backup(copy: Callable[[], Backup], *, as_json: bool) -> int:
    """Back up, and print where the copy is."""
    with working("backing up"):
        done = copy()
    if as_json:
        write_json(done._asdict())
    else:
        size = f"{done.endpoints:,} endpoints, {done.bytes:,} bytes, tables of version {done.version}"
        write(f"{done.database} is copied to {done.path}: {size}.\n{done.note}\n")
    return Exit.DONE


def show_restoration(put_back: Callable[[], Restoration], *, as_json: bool) -> int:
    """Restore, and print where the old database is."""
    with working("restoring"):
        done = put_back()
    if as_json:
        write_json(done._asdict())
    else:
        kept = f" What was there is in {done.kept}." if done.kept else ""
        note = f"{done.note}\n" if done.note else ""
        write(f"{done.database} is again as in {done.path}: {done.endpoints:,} endpoints.{kept}\n{note}")
    return Exit.DONE


def show_benchmark(launch: BenchLauncher, seconds: float, *, as_json: bool) -> int:
    """Measure, and print the result."""
    with counting("measuring", total=seconds) as progress:
        figures = launch(seconds=seconds, progress=progress)
    if as_json:
        write_json(figures._asdict())
    else:
        write(
            f"{figures.plans_per_second:>9,} plans per second, half of them with hints\n"
            f"{figures.cycles_per_second:>9,} full cycles per second on SQLite\n"
            f"{figures.cpu_us_per_cycle:>9,.1f} µs of CPU for a cycle\n"
        )
    return Exit.DONE


def add_completion(app: App) -> None:
    """Add the option, beside --help and --version."""

    @app.command(
        name="--install-completion", help_epilogue="Example: cadenza --install-completion --shell bash"
    )
    def install_completion(*, shell: Shell | None = None, output: Output = None) -> int:
        """Let the shell complete commands and options."""
        from cyclopts.completion.detect import ShellDetectionError, detect_shell

        try:
            chosen = shell or detect_shell()
            path = app.install_completion(shell=chosen, output=output, add_to_startup=output is None)
        except ShellDetectionError:
            raise InvalidRequest("Unknown shell; name it with --shell.", "--shell") from None
        except OSError as problem:
            raise Unavailable(f"The script cannot be written: {problem.strerror}.") from None
        write(f"Completion for {chosen} is in {path}; it works in the next shell.\n")
        return Exit.DONE


def _line(finding: Finding) -> str:
    verdict = "passed" if finding.passed else "failed"
    advice = f" {finding.advice}" if finding.advice and not finding.passed else ""
    return f"{verdict}  {finding.name:<10} {finding.detail}{advice}\n"
