"""The program `cadenza`: the command line, with everything that it can start."""

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING

from cadenza.surfaces.cli.app import run
from cadenza.surfaces.cli.launchers import Launchers

if TYPE_CHECKING:  # A command that is not given costs no imports.
    from cadenza.sim.report import Report


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command line; the exit code."""
    launchers = Launchers(sim=launch_sim, up=launch_up)
    return run(launchers, sys.argv[1:] if arguments is None else arguments)


def launch_sim(scenario: str, *, as_published: bool, step_seconds: int) -> "Report":
    """Simulate a scenario."""
    import asyncio

    from cadenza.sim.catalogue import simulate

    return asyncio.run(simulate(scenario, as_published=as_published, step_s=step_seconds))


def launch_up(*, demo: bool, speed: float) -> int:
    """Start everything in one process."""
    launch = import_module("cadenza.roots.up").launch
    code: int = launch(demo=demo, speed=speed)
    return code
