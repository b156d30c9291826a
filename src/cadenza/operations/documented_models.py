"""Models whose fields are described by the sentences below them, read once somebody asks for a schema."""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from inspect import cleandoc, getsource
from itertools import pairwise
from typing import Any, TypeVar

from pydantic import BaseModel, GetJsonSchemaHandler


class Documented(BaseModel):
    """A model that says in its schema what stands below its fields.

    `use_attribute_docstrings` says the same, and looks for it whenever a class is made: that was half of
    the time in which a command starts.
    """

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: GetJsonSchemaHandler, /) -> Any:
        """The schema, with the descriptions in it."""
        schema = handler(core_schema)
        properties = handler.resolve_ref_schema(schema).get("properties", {})
        for name, field in cls.model_fields.items():
            sentence = _sentence(cls, name)
            if sentence and field.description is None and name in properties:
                properties[name]["description"] = sentence
        return schema


def _sentence(model: type[BaseModel], field: str) -> str | None:
    """What stands below a field in the class that has the last word on it."""
    owner = next(kind for kind in model.__mro__ if field in vars(kind).get("__annotations__", {}))
    return _sentences(owner.__module__).get((owner.__name__, field))


@cache
def _sentences(module: str) -> dict[tuple[str, str], str]:
    """All of a module's, by class and field; none where its source is not at hand."""
    try:
        tree = ast.parse(getsource(sys.modules[module]))
    except (OSError, TypeError):
        return {}
    return {key: text for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for key, text in _of(node)}


def _of(node: ast.ClassDef) -> Iterator[tuple[tuple[str, str], str]]:
    for field, below in pairwise(node.body):
        match field, below:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                yield (node.name, name), cleandoc(text)
            case _:
                pass


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
