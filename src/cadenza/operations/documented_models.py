"""Models whose schema takes the description of a field from the docstring below it, made and written fast."""

import ast
import sys
from collections.abc import Callable, Iterator
from functools import cache
from inspect import cleandoc, getsource
from itertools import pairwise
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, GetJsonSchemaHandler

from cadenza.domain.errors import Fault, InvalidRequest

Result = TypeVar("Result")


class Documented(BaseModel):
    """A model whose JSON schema describes fields by the docstrings below them, read when it is built.

    `use_attribute_docstrings` does the same for every class when it is defined: that was half of the
    time in which a command starts.
    """

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: GetJsonSchemaHandler, /) -> Any:
        """The schema, with the descriptions in it."""
        schema = handler(core_schema)
        properties = handler.resolve_ref_schema(schema).get("properties", {})
        for name, field in cls.model_fields.items():
            docstring = _field_docstring(cls, name)
            if docstring and field.description is None and name in properties:
                properties[name]["description"] = docstring
        return schema


class Shape(Documented):
    """A part of an endpoint, as it is written."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def part(name: str, make: Callable[[], Result]) -> Result:
    """Make a part of a larger model; an InvalidRequest inside it gets the whole path of the field."""
    try:
        return make()
    except InvalidRequest as problem:
        path = name if problem.field in (None, name) else f"{name}.{problem.field}"
        raise InvalidRequest(problem.message, path, [Fault(path, problem.message)]) from None


def _field_docstring(model: type[BaseModel], field: str) -> str | None:
    """The docstring below a field, in the class that defines it last."""
    owner = next(kind for kind in model.__mro__ if field in vars(kind).get("__annotations__", {}))
    return _field_docstrings(owner.__module__).get((owner.__name__, field))


@cache
def _field_docstrings(module: str) -> dict[tuple[str, str], str]:
    """The docstrings of a module's fields, by class and field; none without its source."""
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
    """The names of a model's fields; one set for all instances, since they are frozen."""
    return set(kind.model_fields)


def unvalidated(kind: type[Model], fields: dict[str, Any]) -> Model:
    """A model of trusted values for all its fields; `model_construct` is slower, for aliases and defaults."""
    assert len(fields) == len(_fields(kind)), f"not the fields of {kind.__name__}: {fields.keys()}"
    model = kind.__new__(kind)
    object.__setattr__(model, "__dict__", fields)
    object.__setattr__(model, "__pydantic_fields_set__", _fields(kind))
    object.__setattr__(model, "__pydantic_extra__", None)
    object.__setattr__(model, "__pydantic_private__", None)
    return model


def as_json(model: BaseModel) -> bytes:
    """A model as JSON: its fields under their names, as Pydantic writes them, in a quarter of its time.

    What orjson does not know, such as a set or a number of more than 64 bits, and models that leave fields
    out are left to Pydantic.
    """
    try:
        return orjson.dumps(_fields_of(model), _fields_of, orjson.OPT_UTC_Z)
    except TypeError:
        return model.__pydantic_serializer__.to_json(model)


def _fields_of(value: object) -> dict[str, Any]:
    if _writes_all(type(value)):  # type: ignore[arg-type]  # A type can be hashed, though mypy doubts it.
        return value.__dict__
    raise TypeError


@cache
def _writes_all(kind: type) -> bool:
    """Whether it is a model that leaves no field out; asked of a model's instance, that is slow."""
    return issubclass(kind, BaseModel) and not any(
        field.exclude or field.exclude_if for field in kind.model_fields.values()
    )


Value = TypeVar("Value")


def remembered_by_identity(*, most: int) -> Callable[[Callable[[Value], Result]], Callable[[Value], Result]]:
    """Let a function of one frozen value remember its last results by the identity of the value.

    Stores return the same object again while nothing has changed. A remembered value is held, so that
    no other gets its id; with `most` of them, all are forgotten.
    """

    def decorate(make: Callable[[Value], Result]) -> Callable[[Value], Result]:
        remembered: dict[int, tuple[Value, Result]] = {}

        def made(value: Value) -> Result:
            found = remembered.get(id(value))
            if found is None:
                if len(remembered) >= most:
                    remembered.clear()
                found = remembered[id(value)] = (value, make(value))
            return found[1]

        return made

    return decorate
