"""The program `cadenza`: the command line, with everything that it can start."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from cadenza.surfaces.cli.app import run
from cadenza.surfaces.cli.launchers import Finding, Launchers, Migration

if TYPE_CHECKING:  # A command that is not given costs no imports.
    from cadenza.sim.report import Report


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command line; the exit code."""
    launchers = Launchers(
        sim=launch_sim, up=launch_up, worker=launch_worker, migrate=launch_migrate, doctor=launch_doctor
    )
    return run(launchers, sys.argv[1:] if arguments is None else arguments)


def launch_sim(scenario: str, *, as_published: bool, step_seconds: int) -> "Report":
    """Simulate a scenario."""
    import asyncio

    from cadenza.sim.catalogue import simulate

    return asyncio.run(simulate(scenario, as_published=as_published, step_s=step_seconds))


def launch_up(*, demo: bool, speed: float) -> int:
    """Start everything in one process."""
    from cadenza.roots.up import launch

    return launch(demo=demo, speed=speed)


def launch_worker() -> int:
    """Start one worker."""
    from cadenza.roots.up import launch

    return launch(demo=False, speed=1)


def launch_migrate() -> Migration:
    """Bring the tables up to date."""
    from cadenza.roots.upkeep import bring_up_to_date

    return bring_up_to_date()


def launch_doctor() -> Sequence[Finding]:
    """Check everything."""
    from cadenza.roots.upkeep import examine

    return examine()
