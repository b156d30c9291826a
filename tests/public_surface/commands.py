"""Every command of `cadenza`: its options as values, and its help as text."""

from collections.abc import Iterator
from inspect import Parameter
from io import StringIO
from typing import Any

from cyclopts import App
from cyclopts.argument import Argument
from rich.console import Console
from tests.public_surface.internals import build
from tests.public_surface.naming import plain, type_name
from tests.public_surface.snapshot import Snapshot
from tests.surfaces.cli.recording_launchers import Recorder

WIDTH = 110
FLAGS = frozenset({"--help", "-h", "--version"})


def collect_commands(into: Snapshot) -> None:
    program = build(Recorder().launchers())
    found = {"cadenza": program} | {
        f"cadenza {' '.join(words)}": app for words, app in sorted(_commands(program))
    }
    into.shape("commands", {name: _shape(app) for name, app in found.items()})
    into.text("sentences/help.txt", "\n".join(_help(program, name) for name in found))


def _commands(app: App, *before: str) -> Iterator[tuple[tuple[str, ...], App]]:
    for name in app:
        if name not in FLAGS:
            words, found = (*before, name), app[name]
            yield words, found
            if not name.startswith("-"):
                yield from _commands(found, *words)


def _shape(app: App) -> dict[str, Any]:
    runs = app.default_command is not None
    taken = (
        [one for one in app.assemble_argument_collection() if one.parse and one.names != ("*",)]
        if runs
        else []
    )
    return {
        "runs": runs,
        "commands": sorted(app),
        "arguments": [_argument(one) for one in taken],
    }


def _argument(argument: Argument) -> dict[str, Any]:
    default = argument.field_info.default
    return {
        "names": list(argument.names),
        "negatives": list(argument.negatives),
        "kind": argument.field_info.kind.name.lower(),
        "type": type_name(argument.hint),
        "required": argument.required,
        "choices": None if argument.get_choices() is None else list(argument.get_choices() or ()),
        "flag": argument.is_flag(),
        "shown": argument.show,
        "variables": list(argument.parameter.env_var or ()),
        **({} if default is Parameter.empty else {"default": plain(default)}),
    }


def _help(program: App, name: str) -> str:
    """The same on every terminal."""
    shown = StringIO()
    console = Console(file=shown, width=WIDTH, color_system=None, force_terminal=False, legacy_windows=False)
    program.help_print(name.split()[1:], console=console)
    text = "\n".join(line.rstrip() for line in shown.getvalue().splitlines()).strip()
    return f"$ {name} --help\n{text}\n"
