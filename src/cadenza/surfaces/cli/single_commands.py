"""Commands that stand alone: what serves until it is stopped, the database and the machine, overviews."""

from collections.abc import Callable
from typing import Annotated

from cyclopts import App, Parameter

from cadenza.domain.errors import InvalidRequest
from cadenza.surfaces.cli.commands.access import LoginLinks
from cadenza.surfaces.cli.commands.config import Config
from cadenza.surfaces.cli.commands.maintenance import (
    add_completion,
    show_backup,
    show_benchmark,
    show_findings,
    show_migration,
    show_restoration,
)
from cadenza.surfaces.cli.commands.move import add_move
from cadenza.surfaces.cli.commands.overview import Overview
from cadenza.surfaces.cli.commands.sim import sim_app
from cadenza.surfaces.cli.connection import CliOptions, Key, Server, Tenant
from cadenza.surfaces.cli.launchers import Launchers
from cadenza.surfaces.cli.operation_command import Commands, register

Demo = Annotated[
    bool,
    Parameter(help="Load the flash-sale endpoints against a built-in world, to have something to watch."),
]
Json = Annotated[bool, Parameter(help="Print one JSON document.")]
BackupFile = Annotated[str, Parameter(help="The file of the backup.")]
Overwrite = Annotated[bool, Parameter(help="Write over a file that is there.")]
Seconds = Annotated[float, Parameter(help="How long to measure.")]
Speed = Annotated[float, Parameter(help="How many times as fast as real time the demo's world moves.")]


def add_single_commands(
    app: App, instance: Callable[[type[Commands]], Commands], launchers: Launchers
) -> None:
    """Add all of them; the groups are there already."""
    register(app, instance(Overview), instance(Config))
    register(app, LoginLinks(launchers.application, launchers.now, launchers.address))
    app.command(sim_app(launchers))
    _add_roles(app, launchers)
    _add_maintenance(app, launchers)
    add_move(app, launchers.move)
    add_completion(app)


def _add_roles(app: App, launchers: Launchers) -> None:
    """Add the commands that serve until they are stopped."""

    @app.command(help_epilogue="Example: cadenza up --demo")
    def up(*, demo: Demo = False, speed: Speed = 1.0) -> int:
        """Start everything in one process, and run until stopped."""
        if speed != 1 and not demo:
            raise InvalidRequest("--speed goes with --demo: only the demo has a clock of its own.", "--speed")
        return launchers.up(demo=demo, speed=speed)

    @app.command(help_epilogue="Example: CADENZA_PORT=8700 cadenza api")
    def api() -> int:
        """Serve the API until stopped. On PostgreSQL, any number may run."""
        return launchers.api()

    @app.command(help_epilogue="Example: CADENZA_DATABASE_URL=postgresql://localhost/cadenza cadenza worker")
    def worker() -> int:
        """Run one worker until stopped. On PostgreSQL, any number may run."""
        return launchers.worker()

    @app.command(help_epilogue="Example: CADENZA_DATABASE_URL=postgresql://localhost/cadenza cadenza planner")
    def planner() -> int:
        """Run the planners until stopped. Of several processes, one is active at a time."""
        return launchers.planner()

    alone = app["daily"]
    alone.help_epilogue = "Example: CADENZA_DAILY_TARGET=https://example.com/daily cadenza daily"

    @alone.default
    def daily() -> int:
        """Serve daily users until stopped; on PostgreSQL, any number may share them."""
        return launchers.daily()

    @app.command(help_epilogue="Example: CADENZA_MCP_SCOPES=steer cadenza mcp")
    def mcp(*, server: Server = None, key: Key = None, tenant: Tenant = None) -> int:
        """Serve agents over standard input and output, with the scopes of CADENZA_MCP_SCOPES."""
        return launchers.mcp(CliOptions(server=server, key=key, tenant=tenant))


def _add_maintenance(app: App, launchers: Launchers) -> None:
    """Add the commands for the database and the machine."""

    @app.command(help_epilogue="Example: cadenza migrate --json")
    def migrate(*, json: Json = False) -> int:
        """Migrate the database tables to the current version."""
        return show_migration(launchers.migrate(), as_json=json)

    @app.command(help_epilogue="Example: cadenza doctor")
    def doctor(*, json: Json = False) -> int:
        """Check settings, database and surroundings, and advise. Exits with 1 when a check fails."""
        return show_findings(launchers.doctor(), as_json=json)

    @app.command(help_epilogue="Example: cadenza backup cadenza-backup.db")
    def backup(path: BackupFile, /, *, overwrite: Overwrite = False, json: Json = False) -> int:
        """Write a consistent backup of the SQLite file, also while it is in use."""
        return show_backup(lambda: launchers.backup(path, overwrite=overwrite), as_json=json)

    @app.command(help_epilogue="Example: cadenza restore cadenza-backup.db")
    def restore(path: BackupFile, /, *, json: Json = False) -> int:
        """Restore a backup of the SQLite file, also while it is in use. The previous file is kept."""
        return show_restoration(lambda: launchers.restore(path), as_json=json)

    @app.command(help_epilogue="Example: cadenza bench --seconds 5 --json")
    def bench(*, seconds: Seconds = 5.0, json: Json = False) -> int:
        """Measure cycles per second of this machine, on a temporary SQLite file."""
        return show_benchmark(launchers.bench, seconds, as_json=json)
