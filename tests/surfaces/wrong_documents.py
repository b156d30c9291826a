"""Documents that are wrong in one place each, made from a JSON schema."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

Schema = Mapping[str, Any]
WRONG_VALUES: tuple[Any, ...] = (
    None,
    True,
    "",
    "zz",
    "a\x00b",
    "two\nlines",
    " ",
    "x" * 20_000,
    -1,
    0,
    2.5,
    10**15,
    float("inf"),
    [],
    [None],
    {},
    {"zz": 1},
)
UNKNOWN = "nonsense"


class WrongDocument(NamedTuple):
    """A document, and the path to what is wrong in it."""

    document: Any
    path: tuple[str, ...]


def wrong_documents(schema: Schema) -> Iterator[WrongDocument]:
    """All of them, for every field at any depth; what a schema happens to take is among them."""
    return _wrong(schema, schema.get("$defs", {}))


def _wrong(schema: Schema, definitions: Schema) -> Iterator[WrongDocument]:
    yield from (WrongDocument(value, ()) for value in WRONG_VALUES)
    for branch in _branches(schema, definitions):
        if "properties" in branch:
            yield from _wrong_object(branch, definitions)
        if isinstance(branch.get("items"), Mapping):
            for inner, path in _wrong(branch["items"], definitions):
                yield WrongDocument([inner], ("0", *path))
            yield WrongDocument([_example(branch["items"], definitions)] * 1_001, ())
        if isinstance(branch.get("additionalProperties"), Mapping):
            for inner, path in _wrong(branch["additionalProperties"], definitions):
                yield WrongDocument({"some": inner}, ("some", *path))
            yield WrongDocument({f"name{n}": "x" for n in range(200)}, ())


def _wrong_object(branch: Schema, definitions: Schema) -> Iterator[WrongDocument]:
    whole = _example(branch, definitions)
    for name, field in branch["properties"].items():
        if "const" not in field:
            for inner, path in _wrong(field, definitions):
                yield WrongDocument({**whole, name: inner}, (name, *path))
        if name in whole:
            yield WrongDocument({key: value for key, value in whole.items() if key != name}, (name,))
    yield WrongDocument({**whole, UNKNOWN: 1}, (UNKNOWN,))


def _branches(schema: Schema, definitions: Schema) -> list[Schema]:
    if "$ref" in schema:
        return _branches(definitions[schema["$ref"].rsplit("/", 1)[1]], definitions)
    several = schema.get("anyOf") or schema.get("oneOf")
    return [one for part in several for one in _branches(part, definitions)] if several else [schema]


def _example(schema: Schema, definitions: Schema) -> Any:
    """The smallest value that a schema takes, or something like it."""
    branch = _branches(schema, definitions)[0]
    if "const" in branch or "enum" in branch:
        return branch.get("const", branch.get("enum", [None])[0])
    match branch.get("type"):
        case "object":
            fields = branch.get("properties", {})
            return {name: _example(fields[name], definitions) for name in branch.get("required", ())}
        case "array":
            return [_example(branch["items"], definitions)] if branch.get("minItems") else []
        case "integer" | "number":
            return branch.get("minimum", 1)
        case "boolean":
            return True
        case _:
            return _example_text(branch)


def _example_text(schema: Schema) -> str:
    if "format" in schema:
        return {"date": "2025-01-01", "date-time": "2030-01-31T12:00:00Z"}.get(schema["format"], "x")
    return {"^https?": "https://example.com", "^([01": "07:30"}.get(schema.get("pattern", "")[:7], "x")
