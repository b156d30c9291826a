"""Types, defaults and signatures in words that do not tell where something is defined."""

import inspect
from collections.abc import Callable
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin


def type_name(hint: Any) -> str:
    """A type without the module that it comes from."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        return f"one of {', '.join(map(str, parts))}"
    if origin in (Union, UnionType):
        return " or ".join(map(type_name, parts))
    if hint in (None, NoneType):
        return "none"
    if origin is not None:
        return f"{type_name(origin)}[{', '.join('...' if one is ... else type_name(one) for one in parts)}]"
    return str(getattr(hint, "__name__", hint))


def plain(value: Any) -> Any:
    """A default as JSON takes it."""
    if isinstance(value, Enum):
        return plain(value.value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return type(value).__name__


def parameters(function: Callable[..., Any]) -> list[str]:
    """The parameters of a function: their names and kinds, and which may be left out."""
    taken = inspect.signature(function).parameters.values()
    return [
        f"{one.name} ({one.kind.name.lower()}{'' if one.default is one.empty else ', optional'})"
        for one in taken
    ]
