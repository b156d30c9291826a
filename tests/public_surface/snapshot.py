"""A snapshot in two levels, and how a document is divided between them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

PROSE = frozenset({"description", "summary"})
VALUES = frozenset({"const", "default", "enum", "example", "examples"})
"""What stands under these keys is a value, whatever its own keys are called."""


@dataclass(frozen=True)
class Snapshot:
    """Texts by the names of their files: `shape/…` and `sentences/…`."""

    files: dict[str, str] = field(default_factory=dict)

    def shape(self, name: str, document: Any) -> None:
        """Names, fields, options, codes, types, defaults, tables and counts."""
        self.files[f"shape/{name}.json"] = as_json(document)

    def sentences(self, name: str, document: Any) -> None:
        """Texts for people."""
        self.files[f"sentences/{name}.json"] = as_json(document)

    def text(self, name: str, text: str) -> None:
        """A text as it is, under the whole name of its file."""
        self.files[name] = text

    def both(self, name: str, document: Any) -> None:
        """Divide a document: its sentences with their places, and the rest."""
        self.shape(name, without_prose(document))
        self.sentences(name, prose(document))


def as_json(document: Any) -> str:
    return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def without_prose(part: Any) -> Any:
    """A document without its sentences."""
    if isinstance(part, Mapping):
        return {
            key: value if key in VALUES else without_prose(value)
            for key, value in part.items()
            if not _is_prose(key, value)
        }
    return [without_prose(value) for value in part] if isinstance(part, list) else part


def prose(part: Any, place: str = "") -> dict[str, str]:
    """The sentences of a document by their places in it."""
    found: dict[str, str] = {}
    for key, value in _parts(part):
        here = f"{place}/{key}"
        if _is_prose(key, value):
            found[here] = value
        elif key not in VALUES:
            found |= prose(value, here)
    return found


def _parts(part: Any) -> list[tuple[Any, Any]]:
    if isinstance(part, Mapping):
        return list(part.items())
    return (
        [(_named(value, number), value) for number, value in enumerate(part)]
        if isinstance(part, list)
        else []
    )


def _named(value: Any, number: int) -> str:
    """A part of a list by its name if it has one, so that a new part moves no others."""
    name = value.get("name") if isinstance(value, Mapping) else None
    return name if isinstance(name, str) else str(number)


def _is_prose(key: Any, value: Any) -> bool:
    """A field that is called `description` has a schema, not a text."""
    return key in PROSE and isinstance(value, str)
