"""JSON values: their type, their size, and the paths that lead into them."""

import json
import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from math import isfinite
from typing import Any, NamedTuple

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.validation import check_text

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]

DEEPEST_JSON = 64
DEEPEST_DOCUMENT = DEEPEST_JSON + 16
"""A document around such a value has some levels of its own."""
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


def check_paths(field: str, paths: Any, *, most: int) -> tuple[str, ...]:
    """A list of JSON paths; InvalidRequest if one cannot be read, or if there are too many."""
    if not isinstance(paths, list | tuple) or len(paths) > most:
        raise InvalidRequest(f"{field} must be a list of at most {most} JSON paths.", field)
    if not all(JSON_PATH.fullmatch(check_text(field, path)) for path in paths):
        raise InvalidRequest(f"{field} must list paths: $, followed by .name, ['name'] or [0].", field)
    return tuple(paths)


@lru_cache(maxsize=1024)
def _steps(path: str) -> tuple[str | int, ...]:
    """The steps of a path that was accepted."""
    return tuple(
        int(index) if index else name or single or double
        for name, index, single, double in re.findall(PATH_STEP, path)
    )


def certainly_more_values(raw: bytes, *, most: int) -> bool:
    """Whether a JSON text has more than so many values, as far as can be told without parsing it.

    Each opening bracket begins a value, and each comma is followed by one; those inside of strings do not
    count. If the answer is no, it has at most twice as many values, and one.
    """
    if max(_openings(raw), raw.count(b",")) <= most:
        return False
    unescaped = raw.replace(rb"\\", b"").replace(rb"\"", b"")
    if unescaped.count(b'"') > 4 * most:
        return True
    outside = b"".join(unescaped.split(b'"')[::2])
    return max(_openings(outside), outside.count(b",")) > most


def _openings(raw: bytes) -> int:
    return raw.count(b"[") + raw.count(b"{")


def too_much_json(raw: bytes, value: Json, *, most: int) -> str | None:
    """What a JSON text has more of than is taken; None if it has neither too many values nor levels.

    Short and flat texts, which most are, are not walked through.
    """
    if len(raw) <= 2 * most and _openings(raw) <= DEEPEST_DOCUMENT:
        return None
    count, level = 1, [value]
    for _ in range(DEEPEST_DOCUMENT + 1):
        parts = [_parts(one) for one in level]
        count += sum(map(len, parts))
        if count > most:
            return f"{most:,} values"
        level = [one for several in parts for one in several]
        if not level:
            return None
    return f"{DEEPEST_DOCUMENT} levels"


def _parts(value: Json) -> Collection[Json]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


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


LONGEST_METADATA = 16_384
DEEPEST_METADATA = 8


def check_metadata(metadata: Any) -> None:
    """InvalidRequest, unless it is a JSON object of bounded size and depth."""
    if not isinstance(metadata, dict):
        raise InvalidRequest("metadata must be a JSON object.", "metadata")
    if (size := json_size("metadata", metadata, deepest=DEEPEST_METADATA)) > LONGEST_METADATA:
        raise InvalidRequest(f"metadata has {size:,} bytes; the maximum is {LONGEST_METADATA:,}.", "metadata")
