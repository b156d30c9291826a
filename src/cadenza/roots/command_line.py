"""The program `cadenza`: the command line, with everything that it can start."""

import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import TYPE_CHECKING

from cadenza.surfaces.cli.app import run
from cadenza.surfaces.cli.connection import CliOptions, OperationClient
from cadenza.surfaces.cli.launchers import (
    Backup,
    BenchResult,
    Finding,
    Launchers,
    Migration,
    MoveRequest,
    MoveResult,
    ReplayRequest,
    Restoration,
)
from cadenza.surfaces.cli.output.terminal import Progress

if TYPE_CHECKING:  # A command that is not given costs no imports.
    from cadenza.sim.replay.replay import ReplayReport
    from cadenza.sim.report import Report


def main(arguments: Sequence[str] | None = None) -> int:
    """Carry out one command line; the exit code."""
    launchers = Launchers(
        sim=launch_sim,
        replay=launch_replay,
        up=launch_up,
        api=launch_api,
        worker=launch_worker,
        planner=launch_planner,
        daily=launch_daily,
        mcp=launch_mcp,
        migrate=launch_migrate,
        doctor=launch_doctor,
        backup=launch_backup,
        restore=launch_restore,
        move=launch_move,
        bench=launch_bench,
        application=connect,
        now=now,
        address=address,
    )
    return run(launchers, sys.argv[1:] if arguments is None else arguments)


@asynccontextmanager
async def connect(connection: CliOptions) -> AsyncIterator[OperationClient]:
    """Connect to the server that is meant, or else open the application on the database of the settings."""
    from cadenza.roots.clients.choice import open_client, operator
    from cadenza.roots.settings import DEFAULT_TENANT, read_settings

    caller = operator(connection.tenant or DEFAULT_TENANT, connection.rank)
    async with open_client(read_settings(), connection, caller, rank=connection.rank) as client:
        yield client


def now(connection: CliOptions) -> datetime:
    """The present moment, by the clock of the server or database that is asked."""
    from cadenza.roots.clients.choice import time_there
    from cadenza.roots.settings import read_settings

    return time_there(read_settings(), connection)


def address(connection: CliOptions) -> str:
    """The URL of the server that is asked, or that runs on the database that is asked."""
    from cadenza.roots.clients import choice
    from cadenza.roots.settings import read_settings

    return choice.address(read_settings(), connection)


def launch_sim(
    scenario: str, *, as_published: bool, step_seconds: int, planner: str | None = None
) -> "Report":
    """Simulate a scenario."""
    import asyncio

    from cadenza.sim.catalogue import simulate

    planners = None
    if planner is not None:
        from cadenza.roots.wiring.simulation_planners import planners_for

        planners = planners_for(planner, scenario)
    return asyncio.run(simulate(scenario, as_published=as_published, step_s=step_seconds, planners=planners))


def launch_replay(wish: ReplayRequest) -> "ReplayReport":
    """Play recorded history under other policies."""
    from cadenza.roots.replay import launch

    return launch(wish)


def launch_up(*, demo: bool, speed: float) -> int:
    """Start everything in one process."""
    from cadenza.roots.up import launch

    return launch(demo=demo, speed=speed)


def launch_api() -> int:
    """Serve the API."""
    from cadenza.roots.api import launch

    return launch()


def launch_worker() -> int:
    """Start one worker."""
    from cadenza.roots.worker import launch

    return launch()


def launch_mcp(connection: CliOptions) -> int:
    """Serve agents."""
    from cadenza.roots.mcp import launch

    return launch(connection)


def launch_planner() -> int:
    """Start the planners."""
    from cadenza.roots.planner import launch

    return launch()


def launch_daily() -> int:
    """Serve daily users."""
    from cadenza.roots.daily import launch

    return launch()


def launch_migrate() -> Migration:
    """Bring the tables up to date."""
    from cadenza.roots.doctor import migrate_database

    return migrate_database()


def launch_doctor() -> Sequence[Finding]:
    """Check everything."""
    from cadenza.roots.doctor import run_checks

    return run_checks()


def launch_backup(path: str, *, overwrite: bool) -> Backup:
    """Copy the database."""
    from cadenza.roots.backup import backup

    return Backup(**backup(path, overwrite=overwrite)._asdict())


def launch_restore(path: str) -> Restoration:
    """Put a copy back."""
    from cadenza.roots.backup import restore

    return Restoration(**restore(path)._asdict())


def launch_move(wish: MoveRequest, report: Callable[[str], None]) -> MoveResult:
    """Move an installation to another database."""
    from cadenza.roots.move import move

    return move(wish, report)


def launch_bench(*, seconds: float, progress: Progress) -> BenchResult:
    """Measure this machine."""
    from cadenza.roots.bench import bench

    return bench(seconds=seconds, progress=progress)
