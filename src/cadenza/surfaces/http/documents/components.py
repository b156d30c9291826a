"""Schemas that several operations share, collected as OpenAPI components."""

from collections.abc import Iterable
from copy import deepcopy
from typing import Any

from cadenza.operations.operation import AnyOperation, Route, View

Schema = dict[str, Any]
DEFS_PREFIX, COMPONENTS_PREFIX = "#/$defs/", "#/components/schemas/"
SHOWN = "Shown"


class Components:
    """Collects schemas under the names that the commands use.

    The schema of an answer differs from that of a command, because nothing in it may
    be left out: where they differ, it gets a name of its own.
    """

    def __init__(self, operations: Iterable[AnyOperation]) -> None:
        self._written: dict[str, Schema] = {}
        self._shown: dict[str, Schema] = {}
        for operation in operations:
            if operation.route is not None:
                self._add(operation.schema.get("$defs", {}))

    @property
    def schemas(self) -> dict[str, Schema]:
        """All of them."""
        return self._shown | self._written

    def split(self, operation: AnyOperation, route: Route) -> tuple[dict[str, Schema], dict[str, Schema]]:
        """The fields of a command: those in the path, and the others."""
        fields: dict[str, Schema] = _moved(operation.schema.get("properties", {}), {})
        in_path = {name: fields.pop(name) for name in list(fields) if f"{{{name}}}" in route.path}
        if not route.has_body:
            fields = {name: _without_null(field) for name, field in fields.items()}
        return in_path, fields

    def body(self, operation: AnyOperation, fields: dict[str, Schema]) -> Schema:
        """A reference to the schema of a body, and what of it must be there."""
        required = [name for name in operation.schema.get("required", []) if name in fields]
        schema = {**operation.schema, "properties": fields, "required": required}
        schema.pop("$defs", None)
        name = operation.command.__name__
        self._add({name: schema})
        return {"ref": {"$ref": f"{COMPONENTS_PREFIX}{name}"}, "required": required}

    def view(self, view: type[View]) -> Schema:
        """A reference to the schema of an answer."""
        schema = view.model_json_schema(mode="serialization")
        parts: dict[str, Schema] = schema.pop("$defs", {}) | {view.__name__: schema}
        names = self._renamed(parts)
        for name, part in parts.items():
            _put(self._shown, names.get(name, name), _moved(part, names))
        return {"$ref": f"{COMPONENTS_PREFIX}{names.get(view.__name__, view.__name__)}"}

    @staticmethod
    def title(view: type[View]) -> str:
        """The first line of a view's docstring."""
        return (view.__doc__ or view.__name__).partition("\n")[0]

    def _renamed(self, parts: dict[str, Schema]) -> dict[str, str]:
        """Names for the parts that differ from those of commands, by themselves or by what they refer to."""
        names: dict[str, str] = {}
        while True:
            known = {name: part for name, part in parts.items() if name in self._written}
            differing = {
                name: f"{name}{SHOWN}"
                for name, part in known.items()
                if name in names or _moved(part, names) != self._written[name]
            }
            if differing == names:
                return names
            names = differing

    def _add(self, parts: dict[str, Schema]) -> None:
        for name, part in parts.items():
            _put(self._written, name, _moved(part, {}))


def _put(schemas: dict[str, Schema], name: str, schema: Schema) -> None:
    """Add a schema, titled by its name: generators of clients name their classes by titles."""
    titled = schema | {"title": name} if "title" in schema else schema
    assert schemas.setdefault(name, titled) == titled, f"two schemas are called {name}"


def _moved(part: Any, names: dict[str, str]) -> Any:
    """A schema with its references pointing to the components."""
    if isinstance(part, dict):
        return {key: _moved(value, names) for key, value in part.items()}
    if isinstance(part, list):
        return [_moved(value, names) for value in part]
    if isinstance(part, str) and part.startswith(DEFS_PREFIX):
        name = part.removeprefix(DEFS_PREFIX)
        return f"{COMPONENTS_PREFIX}{names.get(name, name)}"
    return part


def _without_null(field: Schema) -> Schema:
    """A field without null: a query parameter is left out instead."""
    kinds = [kind for kind in field.get("anyOf", []) if kind.get("type") != "null"]
    if len(kinds) != 1:
        return field
    rest = {key: value for key, value in deepcopy(field).items() if key not in ("anyOf", "default")}
    return {**kinds[0], **rest}
