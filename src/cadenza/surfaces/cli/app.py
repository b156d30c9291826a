"""All commands, and what becomes of their errors."""

import sys
from collections.abc import Sequence
from typing import Annotated

from cyclopts import App, CycloptsError, Parameter

from cadenza.domain.errors import CadenzaError
from cadenza.surfaces.cli.exits import Exit, exit_code
from cadenza.surfaces.cli.launchers import Launchers
from cadenza.surfaces.cli.sim import sim_app
from cadenza.surfaces.cli.stdout import write
from cadenza.surfaces.cli.upkeep import show_findings, show_migration

Demo = Annotated[
    bool,
    Parameter(help="Load the flash-sale endpoints against a built-in world, to have something to watch."),
]
Json = Annotated[bool, Parameter(help="Print one JSON document.")]
Speed = Annotated[float, Parameter(help="How many times as fast as real time the demo's world moves.")]


def build(launchers: Launchers) -> App:
    """Every command; a new one is registered here, with an example and a launcher of its own."""
    app = _bare()
    app.command(sim_app(launchers.sim))

    @app.command(help_epilogue="Example: cadenza up --demo")
    def up(*, demo: Demo = False, speed: Speed = 1.0) -> int:
        """Start everything in one process, and serve until stopped."""
        return launchers.up(demo=demo, speed=speed)

    @app.command(help_epilogue="Example: CADENZA_DATABASE_URL=postgresql://localhost/cadenza cadenza worker")
    def worker() -> int:
        """Run one worker until it is stopped; on PostgreSQL, any number may run."""
        return launchers.worker()

    @app.command(help_epilogue="Example: cadenza migrate --json")
    def migrate(*, json: Json = False) -> int:
        """Bring the tables of the database up to date."""
        return show_migration(launchers.migrate(), as_json=json)

    @app.command(help_epilogue="Example: cadenza doctor")
    def doctor(*, json: Json = False) -> int:
        """Check settings, database and surroundings, and advise. Exits with 1 when a check fails."""
        return show_findings(launchers.doctor(), as_json=json)

    return app


def run(launchers: Launchers, arguments: Sequence[str]) -> int:
    """Carry out one command line; its exit code. Wrong use costs a sentence, and no traceback."""
    try:
        answer = build(launchers)(list(arguments))
    except CycloptsError as error:
        return _refused(str(error), Exit.WRONG_USE)
    except CadenzaError as error:
        return _refused(error.message, exit_code(error))
    except KeyboardInterrupt:
        return _refused("Interrupted", Exit.INTERRUPTED)
    except SystemExit as stop:
        # Rich, which prints the help, meets a closed pipe with an exit code of its own.
        if not isinstance(stop.__context__, BrokenPipeError):
            raise
        return Exit.DONE
    if sys.stdout is not None:
        write("")  # What the help has left in the buffer.
    return answer if isinstance(answer, int) else Exit.DONE


def _bare() -> App:
    return App(
        name="cadenza",
        help="A scheduler that keeps time and knows when to improvise.",
        help_epilogue="Example: cadenza sim flash-sale",
        help_format="plaintext",  # Markdown would cost a fifth of the time that help takes.
        version=_version,
        default_parameter=Parameter(negative=()),
        result_action="return_value",
        exit_on_error=False,
        print_error=False,
    )


def _refused(sentence: str, code: Exit) -> int:
    line = " ".join(sentence.split()).removesuffix(".")
    sys.stderr.write(f"cadenza: {line}.\n")
    return code


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("cadenza")
    except PackageNotFoundError:
        return "not installed"
