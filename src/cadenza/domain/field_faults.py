"""Turns what a validator says about a JSON document into sentences about the fields that callers wrote."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from cadenza.domain.errors import MOST_FAULTS, Fault, InvalidRequest
from cadenza.domain.wording import nearest_first, number_in_words, one_of, text_in_words

Schema = Mapping[str, Any]
ANYTHING: Schema = {}
WHOLE_DOCUMENT = "body"
LONGEST_NAME = 100
NO_SHORTHANDS: Mapping[str, str] = {}
OWN_WORDS = ("value_error", "assertion_error")
"""Errors of our own checks, whose texts are for people already."""


class FieldError(ValueError):
    """A check's own words about a field below the one that it was given."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


def refuse_fields(
    schema: Schema, document: Any, errors: Sequence[Mapping[str, Any]], elsewhere: Collection[str] = ()
) -> InvalidRequest:
    """The refusal of a document that a validator found wrong, by the document's JSON schema.

    Fields that are given elsewhere, such as in the path of a request, are not proposed.
    """
    faults = [_fault(schema, document, error, elsewhere) for error in errors[:MOST_FAULTS]]
    return InvalidRequest(faults[0].message, faults[0].field, faults)


def _fault(schema: Schema, document: Any, error: Mapping[str, Any], elsewhere: Collection[str]) -> Fault:
    place = _place(schema, error["loc"])
    place = place._replace(path=path_as_written(place.path, document))
    kind, own = error["type"], error.get("ctx", {}).get("error")
    if isinstance(own, FieldError):
        return Fault(".".join((*place.path, own.field)), f"{'.'.join((*place.path, ''))}{own}")
    path = ".".join(place.path) or WHOLE_DOCUMENT
    if kind in OWN_WORDS:
        return Fault(path, f"{path} {str(own).removesuffix('.')}.")
    if kind == "missing":
        return Fault(path, f"{path} is missing.")
    if kind == "extra_forbidden":
        return Fault(path, _unknown(path, place, elsewhere))
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        tag = _tag_field(place.branches())
        path = ".".join((*place.path, tag))
        return Fault(path, f"{path} must be {one_of(_tags(place.branches(), tag))}.")
    return Fault(path, f"{path} must be {_expected(place.schema, place.definitions, path)}.")


class _Place(NamedTuple):
    """Where an error is: its path as callers write it, and the schemas there and around it."""

    path: tuple[str, ...]
    schema: Schema
    around: Schema
    definitions: Mapping[str, Schema]

    def branches(self) -> list[Schema]:
        """The schemas of which the value may be one."""
        return _branches(self.schema, self.definitions)


def _place(schema: Schema, location: Iterable[int | str]) -> _Place:
    """Follow a location through a schema, without the tags of unions, which callers do not write."""
    definitions: Mapping[str, Schema] = schema.get("$defs", {})
    path: list[str] = []
    here = around = schema
    for part in location:
        branches = _branches(here, definitions)
        tagged = [one for one in branches if part in _tags([one], _tag_field([one]))]
        if tagged and len(branches) > 1:
            here = tagged[0]
            continue
        path.append(str(part)[:LONGEST_NAME])
        around = next((one for one in branches if _holds(one, part)), branches[0])
        here = _inner(around, part)
    return _Place(tuple(path), here, around, definitions)


def path_as_written(
    path: Iterable[str], document: Any, shorthands: Mapping[str, str] = NO_SHORTHANDS
) -> tuple[str, ...]:
    """The part of a path that a document has: `target` where an address stands for a whole target.

    A shorthand is in the path where the document has it in the place of a field.
    """
    found: list[str] = []
    for name in path:
        part = name
        match document:
            case Mapping():
                if name not in document and shorthands.get(name) in document:
                    part = shorthands[name]
                document = document.get(part, {})
            case list() if part.isdigit() and int(part) < len(document):
                document = document[int(part)]
            case _:
                break
        found.append(part)
    return tuple(found)


def _branches(schema: Schema, definitions: Mapping[str, Schema]) -> list[Schema]:
    """What a schema may stand for, without references and null."""
    if "$ref" in schema:
        return _branches(definitions[schema["$ref"].rsplit("/", 1)[1]], definitions)
    several = schema.get("anyOf") or schema.get("oneOf")
    if several is None:
        return [schema]
    return [branch for one in several if one.get("type") != "null" for branch in _branches(one, definitions)]


def _holds(schema: Schema, part: int | str) -> bool:
    return ("items" if isinstance(part, int) else "properties") in schema


def _inner(schema: Schema, part: int | str) -> Schema:
    inner = schema.get("items") if isinstance(part, int) else schema.get("properties", {}).get(part)
    extra = schema.get("additionalProperties")
    found = inner if inner is not None else extra
    return found if isinstance(found, Mapping) else ANYTHING


def _tag_field(branches: Sequence[Schema]) -> str:
    """The field by whose value the branches are told apart."""
    fields = (
        name for one in branches for name, field in one.get("properties", {}).items() if "const" in field
    )
    return next(fields, "")


def _tags(branches: Sequence[Schema], field: str) -> list[str]:
    found = (one.get("properties", {}).get(field, ANYTHING) for one in branches)
    return [one["const"] for one in found if "const" in one]


def _unknown(path: str, place: _Place, elsewhere: Collection[str]) -> str:
    fields = list(place.around.get("properties", {}))
    if len(place.path) == 1:
        fields = [name for name in fields if name not in elsewhere]
    return unknown_field(path, fields)


def unknown_field(path: str, fields: Collection[str]) -> str:
    """What is said about a field that there is not, with those that there are."""
    if not fields:
        return f"{path} is unknown here."
    return f"{path} is unknown here; known are {nearest_first(path.rsplit('.', 1)[-1], fields)}."


def _expected(schema: Schema, definitions: Mapping[str, Schema], name: str) -> str:
    """What a value must be, in words."""
    branches = _branches(schema, definitions)
    tag = _tag_field(branches)
    tags = _tags(branches, tag)
    if len(branches) > 1 and tags:
        rest = [one for one in branches if tag not in one.get("properties", {})]
        words = [*(_in_words(one, name) for one in rest), f"an object whose {tag} is {one_of(tags)}"]
    else:
        words = [_in_words(one, name) for one in branches]
    return " or ".join(dict.fromkeys(words))


def _in_words(schema: Schema, name: str) -> str:
    if "const" in schema or "enum" in schema:
        return one_of(schema.get("enum") or [schema["const"]])
    kind = schema.get("type")
    if kind in ("integer", "number"):
        return number_in_words(
            name,
            least=schema.get("minimum"),
            above=schema.get("exclusiveMinimum"),
            most=schema.get("maximum"),
            whole=kind == "integer",
        )
    if kind == "string":
        return text_in_words(
            schema.get("pattern"),
            form=schema.get("format"),
            least=schema.get("minLength", 0),
            most=schema.get("maxLength"),
        )
    if kind == "array":
        return "a list" + _count(schema.get("minItems", 0), schema.get("maxItems"))
    if kind == "object":
        return _object(schema) + _count(schema.get("minProperties", 0), schema.get("maxProperties"))
    return "true or false" if kind == "boolean" else "a JSON value"


def _object(schema: Schema) -> str:
    values = schema.get("additionalProperties")
    texts = isinstance(values, Mapping) and values.get("type") == "string"
    return "an object of texts" if texts else "an object"


def _count(least: int, most: int | None) -> str:
    if most is None:
        return " with at least one entry" if least else ""
    return f" with {f'{least} to' if least else 'at most'} {most:,} entries"
