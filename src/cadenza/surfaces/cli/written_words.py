"""Refusals in the words of the command line: options instead of fields, commands instead of operations."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from cadenza.domain.errors import CadenzaError, Fault, InvalidRequest
from cadenza.domain.wording import name_operations, number_as_span

if TYPE_CHECKING:  # It costs time, and most command lines are right.
    from cyclopts import App, Argument

FILE = "--file"
NO_PLAIN_WORD = re.compile(r"[_.A-Z]")
"""What the name of a field has that is no word of a sentence."""


class Fills:
    """The fields of operations that an argument or option fills; without it, the field of its own name."""

    def __init__(self, *fields: str) -> None:
        self.fields = fields


class Option(NamedTuple):
    """An option or argument of a command, and the fields that it fills."""

    name: str
    fields: tuple[str, ...]
    text: bool
    """Whether it takes a text, such as a span for a number."""
    given: bool

    def part_below(self, field: str) -> str | None:
        """The rest of a field's path below what this fills; None if it does not fill the field."""
        below = (field.removeprefix(one) for one in self.fields if f"{field}.".startswith(f"{one}."))
        return min(below, key=len, default=None)


def sentence_of(error: CadenzaError, app: "App", words: Sequence[str]) -> str:
    """What an error says to the writer of a command line, with all that is wrong."""
    from cadenza.surfaces.cli.groups import command_of

    message = error.message
    if isinstance(error, InvalidRequest):
        message = _with_options(error, list(options_of(app, words)))
    return name_operations(message, command_of)


def options_of(app: "App", words: Sequence[str]) -> Iterator[Option]:
    """The options and arguments of the command that a command line calls."""
    called = app.parse_commands(words)[1][-1]
    if called.default_command is None:
        return
    for argument in called.assemble_argument_collection():
        if argument.parse and argument.name != "*":
            yield Option(argument.name, _fields(argument), _takes_text(argument), _is_given(argument, words))


def _fields(argument: "Argument") -> tuple[str, ...]:
    metadata = getattr(argument.field_info.annotation, "__metadata__", ())
    declared = next((one.fields for one in metadata if isinstance(one, Fills)), None)
    return (str(argument.field_info.name).strip("_"),) if declared is None else declared


def _takes_text(argument: "Argument") -> bool:
    kind: Any = argument.hint
    return str in (kind, *get_args(kind))


def _is_given(argument: "Argument", words: Sequence[str]) -> bool:
    return not argument.name.startswith("-") or any(
        word == name or word.startswith(f"{name}=") for name in argument.names for word in words
    )


def _with_options(error: InvalidRequest, options: Sequence[Option]) -> str:
    """What stands in a file keeps the names that it has there."""
    file = any(one.name == FILE and one.given for one in options)
    written = [one for one in options if one.given or not file]
    if len(error.faults) <= 1:
        field = error.faults[0].field if error.faults else ""
        return _renamed(Fault(field, error.message), written).message
    return "; ".join(_renamed(fault, written).sentence.removesuffix(".") for fault in error.faults)


def _renamed(fault: Fault, options: Sequence[Option]) -> Fault:
    option, below = _filling(fault.field, options)
    if option is None:
        return Fault(fault.field, _with_mentions(fault.message, options))
    message = fault.message
    place = f"{option.name}: {_short(below)}" if below else option.name
    for name in (fault.field, fault.field.rsplit(".", 1)[-1]):
        if message.startswith(f"{name} "):
            message = place + message.removeprefix(name)
    if NO_PLAIN_WORD.search(fault.field):
        message = _word(fault.field).sub(place, message)
    message = _with_mentions(_shortened(message) if below else message, options)
    if option.name not in message:
        message = f"{option.name}: {message}"
    return Fault(option.name, number_as_span(message) if option.text else message)


def _filling(field: str, options: Iterable[Option]) -> tuple[Option | None, str]:
    """The option that fills a field, and the last name below it; or the only one given for a part of it."""
    found = [(len(below), one, below) for one in options if (below := one.part_below(field)) is not None]
    if found:
        _, option, below = min(found, key=lambda one: (one[0], not one[1].given))
        return option, next((name for name in reversed(below.split(".")) if not name.isdigit()), "")
    inside = [one for one in options if one.given and any(f.startswith(f"{field}.") for f in one.fields)]
    return (inside[0], "") if len(inside) == 1 else (None, "")


def _short(name: str) -> str:
    """A name inside a step as it is written there: `interval` for `intervalMs`."""
    from cadenza.operations.config.schemas import SHORTHANDS

    return SHORTHANDS.get(name, name)


def _shortened(message: str) -> str:
    """A message about a part of a step with all names as they are written there."""
    from cadenza.operations.config.schemas import SHORTHANDS

    for field, word in SHORTHANDS.items():
        message = _word(field).sub(word, message)
    return message


def _with_mentions(message: str, options: Iterable[Option]) -> str:
    """A message with options in the place of other fields: in backticks, or if they are no plain words."""
    for option in options:
        for field in option.fields:
            for name in (field, field.rsplit(".", 1)[-1]):
                message = message.replace(f"`{name}`", option.name)
                if NO_PLAIN_WORD.search(name):
                    message = _word(name).sub(option.name, message)
    return message


def _word(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)")
