"""JSON values: their type, their size, and the paths that lead into them."""

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from math import isfinite
from typing import Any, NamedTuple

from cadenza.domain.errors import InvalidRequest

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]

DEEPEST_JSON = 64
PATH_STEP = r"""\.([^\W\d]\w*)|\[(0|-?[1-9][0-9]{0,14})\]|\['([^'\\]*)'\]|\["([^"\\]*)"\]"""
JSON_PATH = re.compile(rf"\$(?:{PATH_STEP})*")


class FoundValue(NamedTuple):
    """The value at a path; it may be null."""

    value: Json


def follow_path(path: str, value: Json) -> FoundValue | None:
    """The value at a path; None if there is none."""
    for step in _steps(path):
        if isinstance(step, int):
            if not isinstance(value, list) or not -len(value) <= step < len(value):
                return None
            value = value[step]
        else:
            if not isinstance(value, dict) or step not in value:
                return None
            value = value[step]
    return FoundValue(value)


@lru_cache(maxsize=1024)
def _steps(path: str) -> tuple[str | int, ...]:
    """The steps of a path that was accepted."""
    return tuple(
        int(index) if index else name or single or double
        for name, index, single, double in re.findall(PATH_STEP, path)
    )


def unreadable_json(problem: ValueError) -> str:
    """Where a text stops being JSON."""
    if not isinstance(problem, json.JSONDecodeError):
        return "it is not JSON"
    return f"it is not JSON from line {problem.lineno}, column {problem.colno} on"


def texts(value: Json) -> Iterator[str]:
    """Every text in a JSON value, names of fields left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts(part)


def json_size(field: str, value: Any, *, deepest: int = DEEPEST_JSON) -> int:
    """How many bytes a value has as JSON; InvalidRequest if it is too deep or not JSON."""
    if not _is_json(value, deepest):
        raise InvalidRequest(f"{field} must be JSON, at most {deepest} levels deep.", field)
    try:
        return len(json.dumps(value, ensure_ascii=False).encode())
    except UnicodeEncodeError:
        raise InvalidRequest(f"{field} must be valid Unicode.", field) from None


def _is_json(value: Any, depth: int) -> bool:
    if isinstance(value, float):
        return isfinite(value)
    if isinstance(value, int):
        return -(2**63) <= value < 2**63
    if isinstance(value, dict):
        return depth > 0 and all(type(k) is str and _is_json(v, depth - 1) for k, v in value.items())
    if isinstance(value, list):
        return depth > 0 and all(_is_json(part, depth - 1) for part in value)
    return value is None or isinstance(value, str)
