"""Reads configuration files, YAML or JSON, with the line of every part."""

import re
from collections.abc import Iterator
from itertools import accumulate
from typing import Any, NamedTuple

import yaml

from cadenza.domain.errors import Fault, InvalidRequest

LARGEST = 8 * 1024 * 1024
DEEPEST = 80
MOST_PARTS = 500_000
LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
NULL = re.compile(r"|~|null|Null|NULL")
TRUE = re.compile(r"true|True|TRUE")
FALSE = re.compile(r"false|False|FALSE")
WHOLE = re.compile(r"[-+]?[0-9]{1,40}")
FRACTION = re.compile(r"[-+]?(?:\.[0-9]{1,40}|[0-9]{1,40}(?:\.[0-9]{0,40})?)(?:[eE][-+]?[0-9]{1,3})?")
YAML_PROBLEMS = {
    "mapping values are not allowed": "a colon is out of place, or a text with a colon needs quotes",
    "could not find expected ':'": "a colon is missing behind a name",
    "did not find expected '-'": "it is indented unlike the lines around it",
    "did not find expected key": "it is indented unlike the lines around it",
    "cannot start any token": "it begins with a tab, or with a sign that needs quotes",
    "unexpected end of stream": "a quoted text or a bracket is not closed",
    "did not find expected ',' or": "a bracket is not closed, or a comma is missing",
}
"""What the library complains about most, in words."""
BEFORE = (yaml.StreamStartEvent, yaml.DocumentStartEvent)
ENDS = (yaml.SequenceEndEvent, yaml.MappingEndEvent)


class ConfigFile:
    """A parsed configuration, and the lines of its parts."""

    def __init__(self, text: str) -> None:
        reader = _Reader(text)
        self.document: dict[str, Any] = reader.document()
        self._lines = reader.lines

    def line(self, path: str) -> int:
        """The line of a part such as `jobs.0.endpoints.2.guard`, or of the nearest part around it."""
        around = list(accumulate(path.split("."), "{}.{}".format))
        return next((self._lines[one] for one in reversed(around) if one in self._lines), 1)

    def located(self, problem: InvalidRequest) -> InvalidRequest:
        """The error with the line of every fault."""
        faults = [Fault(one.field, f"line {self.line(one.field)}: {one.sentence}") for one in problem.faults]
        if not faults:
            return problem
        return InvalidRequest(" ".join(fault.message for fault in faults), problem.field, faults)


class _Anchored(NamedTuple):
    """The value of an anchor, and its number of parts."""

    value: Any
    parts: int


class _Reader:
    """Reads one document, strictly: YAML 1.2 values, each key once, no tags, bounded in size and depth.

    It reads events, because the library's own trees overflow the stack on deeply nested input.
    """

    def __init__(self, text: str) -> None:
        if len(text) > LARGEST:
            raise InvalidRequest(f"The file has {len(text):,} characters; the maximum is {LARGEST:,}.")
        self._events: Iterator[Any] = yaml.parse(text, Loader=LOADER)
        self._anchors: dict[str, _Anchored] = {}
        self._parts = 0
        self.lines: dict[str, int] = {}

    def document(self) -> dict[str, Any]:
        """The only document, which is a mapping."""
        try:
            first = next(one for one in self._events if not isinstance(one, BEFORE))
            if not isinstance(first, yaml.MappingStartEvent):
                raise InvalidRequest("The file must begin with `version: 1` and `jobs:`.", "body")
            document: dict[str, Any] = self._value(first, ())
            if any(isinstance(one, yaml.DocumentStartEvent) for one in self._events):
                raise InvalidRequest("The file must hold one document, not several.", "body")
        except yaml.YAMLError as problem:
            raise InvalidRequest(_yaml_problem(problem), "body") from None
        return document

    def _value(self, event: Any, path: tuple[str, ...]) -> Any:
        """The value that begins with an event."""
        line = event.start_mark.line + 1
        before = self._count(line)
        if len(path) > DEEPEST:
            raise InvalidRequest(f"Line {line} is nested more than {DEEPEST} levels deep.", "body")
        if isinstance(event, yaml.AliasEvent):
            return self._alias(event.anchor, line)
        if event.tag not in (None, "!"):
            raise InvalidRequest(
                f"Line {line} has a tag, {event.tag}; only plain values are allowed.", "body"
            )
        value = self._node(event, path)
        if event.anchor is not None:
            self._anchors[event.anchor] = _Anchored(value, self._parts - before)
        return value

    def _node(self, event: Any, path: tuple[str, ...]) -> Any:
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(path)
        if isinstance(event, yaml.SequenceStartEvent):
            return [self._part(one, (*path, str(place))) for place, one in enumerate(self._until_end())]
        return _scalar(event.value) if event.implicit[0] else event.value

    def _mapping(self, path: tuple[str, ...]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for event in self._until_end():
            line = event.start_mark.line + 1
            key = event.value if isinstance(event, yaml.ScalarEvent) else None
            if key is None:
                raise InvalidRequest(f"Line {line} has a key that is not text.", "body")
            if key in found:
                raise InvalidRequest(f"Line {line} repeats {key}.", ".".join((*path, key)))
            self.lines[".".join((*path, key))] = line
            found[key] = self._value(next(self._events), (*path, key))
        return found

    def _part(self, event: Any, path: tuple[str, ...]) -> Any:
        self.lines[".".join(path)] = event.start_mark.line + 1
        return self._value(event, path)

    def _until_end(self) -> Iterator[Any]:
        for event in self._events:
            if isinstance(event, ENDS):
                return
            yield event

    def _alias(self, anchor: str | None, line: int) -> Any:
        if anchor is None or anchor not in self._anchors:
            raise InvalidRequest(f"Line {line} refers to {anchor}, which is not finished before it.", "body")
        value, parts = self._anchors[anchor]
        self._count(line, parts)
        return value

    def _count(self, line: int, parts: int = 1) -> int:
        """Count what was read, references too; how much it was before."""
        before, self._parts = self._parts, self._parts + parts
        if self._parts > MOST_PARTS:
            raise InvalidRequest(f"Up to line {line} there are more than {MOST_PARTS:,} values.", "body")
        return before


def _scalar(text: str) -> Any:
    """A plain word as YAML 1.2 reads it: `no` and `2030-01-01` are texts."""
    if NULL.fullmatch(text):
        return None
    if TRUE.fullmatch(text) or FALSE.fullmatch(text):
        return text.lower() == "true"
    if WHOLE.fullmatch(text):
        return int(text)
    return float(text) if FRACTION.fullmatch(text) else text


def _yaml_problem(problem: yaml.YAMLError) -> str:
    mark = getattr(problem, "problem_mark", None)
    place = "The file" if mark is None else f"Line {mark.line + 1}"
    found = str(getattr(problem, "problem", None))
    why = next((words for said, words in YAML_PROBLEMS.items() if said in found), "it is not YAML")
    return f"{place} cannot be read: {why}."
