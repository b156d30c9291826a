"""The program: all commands, and how their errors are reported."""

import sys
from collections.abc import Sequence
from typing import Annotated

from cyclopts import App, CycloptsError, Parameter

from cadenza.domain.errors import CadenzaError, InvalidRequest
from cadenza.domain.text_patterns import visible
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
from cadenza.surfaces.cli.connection import CliOptions, Key, Server, Tenant, options_last
from cadenza.surfaces.cli.exits import Exit, exit_code
from cadenza.surfaces.cli.groups import add_groups
from cadenza.surfaces.cli.launchers import Launchers
from cadenza.surfaces.cli.operation_command import Commands, register
from cadenza.surfaces.cli.output.stdout import unwritable, write

Demo = Annotated[
    bool,
    Parameter(help="Load the flash-sale endpoints against a built-in world, to have something to watch."),
]
Json = Annotated[bool, Parameter(help="Print one JSON document.")]
BackupFile = Annotated[str, Parameter(help="The file of the backup.")]
Overwrite = Annotated[bool, Parameter(help="Write over a file that is there.")]
Seconds = Annotated[float, Parameter(help="How long to measure.")]
Speed = Annotated[float, Parameter(help="How many times as fast as real time the demo's world moves.")]
LONGEST_SENTENCE = 10_000
HELP = frozenset({"--help", "-h", "--version"})


def build(launchers: Launchers, words: Sequence[str] | None = None) -> App:
    """All commands; for a given command line, only as much as it needs."""
    app = _bare()
    app.command(sim_app(launchers))
    _add_operations(app, launchers, words)
    _add_roles(app, launchers)
    _add_maintenance(app, launchers)
    add_move(app, launchers.move)
    add_completion(app)
    return app


def _add_operations(app: App, launchers: Launchers, words: Sequence[str] | None) -> None:
    """Add the commands that ask operations."""

    def instance(kind: type[Commands]) -> Commands:
        return kind(launchers.application, launchers.now)

    add_groups(app, instance, words)
    register(app, instance(Overview), instance(Config))
    login = LoginLinks(launchers.application, launchers.now, launchers.address)
    register(app, login)


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


def run(launchers: Launchers, arguments: Sequence[str]) -> int:
    """Carry out one command line; its exit code. An error prints one sentence, never a traceback."""
    try:
        arguments = options_last(arguments)
        return _carry_out(build(launchers, arguments), arguments)
    except KeyboardInterrupt:
        return _report("Interrupted", Exit.INTERRUPTED)


def _carry_out(app: App, arguments: Sequence[str]) -> int:
    try:
        answer = _call(app, arguments)
        if sys.stdout is not None:
            write("")  # What the help has left in the buffer.
    except CycloptsError as error:
        from cadenza.surfaces.cli.usage_errors import usage_sentence

        return _report(usage_sentence(error), Exit.WRONG_USE)
    except CadenzaError as error:
        from cadenza.surfaces.cli.written_words import sentence_of

        return _report(sentence_of(error, app, arguments), exit_code(error))
    return answer if isinstance(answer, int) else Exit.DONE


def _call(app: App, arguments: Sequence[str]) -> object:
    """Call a command. Rich writes the help, and reports a closed pipe in its own way."""
    try:
        return app(list(arguments))
    except SystemExit as stop:  # A closed pipe.
        if not isinstance(stop.__context__, BrokenPipeError):
            raise
        return Exit.DONE
    except OSError as problem:
        if arguments and HELP.isdisjoint(arguments):
            raise
        raise unwritable(problem) from None


def _bare() -> App:
    return App(
        name="cadenza",
        help="A scheduler that keeps time and knows when to improvise.",
        help_epilogue="Example: cadenza sim flash-sale",
        help_format="plaintext",  # Markdown would cost a fifth of the time that help takes.
        version=_version,
        default_parameter=Parameter(negative=(), show_default=_default),
        result_action="return_value",
        exit_on_error=False,
        print_error=False,
        suppress_keyboard_interrupt=False,
    )


def _default(value: object) -> str | None:
    """A default as the help shows it; none for flags and empty lists."""
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or None
    return None if value is False or value is None else str(value)


def _report(sentence: str, code: Exit) -> int:
    line = visible(" ".join(sentence.split())).removesuffix(".")
    end = "" if line.endswith("?") else "."
    if len(line) > LONGEST_SENTENCE:  # It repeats what it was given.
        line = f"{line[:LONGEST_SENTENCE]}…"
    sys.stderr.write(f"cadenza: {line}{end}\n")
    return code


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("cadenza")
    except PackageNotFoundError:
        return "not installed"
