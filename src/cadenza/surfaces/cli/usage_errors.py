"""What is wrong with a command line, in sentences of our own."""

from enum import Enum
from typing import Any, Literal, get_args, get_origin

from cyclopts import CycloptsError
from cyclopts.exceptions import (
    CoercionError,
    MissingArgumentError,
    RepeatArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)

from cadenza.domain.validation import quoted
from cadenza.domain.wording import nearest_first, one_of
from cadenza.surfaces.cli.connection import WITH_VALUE

WORDS = {int: "a whole number", float: "a number", bool: "true or false"}


def usage_sentence(error: CycloptsError) -> str:
    """One sentence about a command line that cannot be taken."""
    match error:
        case UnknownCommandError() | UnknownOptionError():
            return _unknown(error)
        case MissingArgumentError():
            return _missing(error)
        case CoercionError():
            return _coercion(error)
        case UnusedCliTokensError(unused_tokens=[token, *_]):
            return f"Unexpected argument: {quoted(token)}."
        case RepeatArgumentError(token=token):
            return f"{token.keyword} is given more than once."
        case _:
            return "Invalid command line; see --help."


def _unknown(error: UnknownCommandError | UnknownOptionError) -> str:
    if isinstance(error, UnknownOptionError):
        option = error.token.keyword or error.token.value
        taken = (name for one in error.argument_collection if one.parse for name in one.names)
        names = {name for name in taken if name.startswith("--")}
        return f"Unknown option {option[:60]}; options are {nearest_first(option, sorted(names))}."
    (word, *_), commands = error.unused_tokens or [""], error.app or ()
    if word in WITH_VALUE:
        return f"{word} needs a value."
    known = [name for name in commands if not name.startswith("-")]
    return f"Unknown command {quoted(word)}; commands are {nearest_first(word, known)}."


def _missing(error: MissingArgumentError) -> str:
    argument = error.argument
    assert argument is not None, "the error is about one"
    keywords = [error.keyword, *(one.keyword for one in argument.tokens)]
    given = next((one for one in keywords if one is not None), None)
    return f"{argument.name} is missing." if given is None else f"{given} needs a value."


def _coercion(error: CoercionError) -> str:
    token, argument = error.token, error.argument
    name = (token.keyword if token else None) or (argument.name if argument else "An argument")
    if error.msg is not None:
        return f"{name} is invalid: {str(error.msg).removesuffix('.')}."
    given = "" if token is None else f", not {quoted(token.value)}"
    return f"{name} must be {_type_in_words(error.target_type)}{given}."


def _type_in_words(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return one_of(get_args(kind))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return one_of(one.value for one in kind)
    return WORDS.get(kind, "something else")
