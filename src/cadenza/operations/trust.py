"""Models of values that the domain has checked already."""

from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel

Model = TypeVar("Model", bound=BaseModel)


@cache
def _fields(kind: type[BaseModel]) -> set[str]:
    """One set for all of a kind; nobody changes what is frozen."""
    return set(kind.model_fields)


def trusted(kind: type[Model], words: dict[str, Any]) -> Model:
    """A model with every field given. `model_construct` looks for aliases and defaults, and takes longer."""
    made = kind.__new__(kind)
    object.__setattr__(made, "__dict__", words)
    object.__setattr__(made, "__pydantic_fields_set__", _fields(kind))
    object.__setattr__(made, "__pydantic_extra__", None)
    object.__setattr__(made, "__pydantic_private__", None)
    return made
