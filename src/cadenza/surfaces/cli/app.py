"""The program: its commands, and how their errors are reported."""

import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError, Parameter

from cadenza.domain.errors import CadenzaError
from cadenza.domain.text_patterns import visible
from cadenza.surfaces.cli.connection import options_last
from cadenza.surfaces.cli.exits import Exit, exit_code
from cadenza.surfaces.cli.groups import ALSO_ALONE, add_groups, called_group
from cadenza.surfaces.cli.launchers import Launchers
from cadenza.surfaces.cli.operation_command import Commands
from cadenza.surfaces.cli.output.stdout import unwritable, write

LONGEST_SENTENCE = 10_000
HELP = frozenset({"--help", "-h", "--version"})


def build(launchers: Launchers, words: Sequence[str] | None = None) -> App:
    """All commands; for a given command line, only as much as it needs."""
    app = _bare()

    def instance(kind: type[Commands]) -> Commands:
        return kind(launchers.application, launchers.now)

    add_groups(app, instance, words)
    if called_group(words) is None or called_group(words) in ALSO_ALONE:
        from cadenza.surfaces.cli.single_commands import add_single_commands

        add_single_commands(app, instance, launchers)
    return app


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
