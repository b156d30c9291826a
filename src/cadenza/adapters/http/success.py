"""Whether an answer is what its owner calls a success."""

import re
from functools import lru_cache
from typing import NamedTuple

from cadenza.adapters.http.content import Document
from cadenza.adapters.http.failure import ExchangeFailed, Failure
from cadenza.domain.target import STEP, HttpTarget, Json


class Found(NamedTuple):
    """What a path led to; it may be null."""

    value: Json


def check_success(target: HttpTarget, *, status: int, document: Document | None) -> None:
    """Fail unless the status is one of those that count, and the path leads to what it should."""
    if not target.succeeds(status):
        raise ExchangeFailed(Failure.STATUS, f"answered {status}")
    if target.success_path is None:
        return
    if document is None:
        raise ExchangeFailed(Failure.CONTENT, "the answer is not JSON, or too long to be read whole")
    found = follow(target.success_path, document.value)
    if found is None:
        raise ExchangeFailed(Failure.CONTENT, f"the answer has nothing at {target.success_path}")
    if target.success_values and not any(same(found.value, value) for value in target.success_values):
        raise ExchangeFailed(Failure.CONTENT, f"the answer has another value at {target.success_path}")


def follow(path: str, value: Json) -> Found | None:
    """Go where the path leads."""
    for step in _steps(path):
        if isinstance(step, int):
            if not isinstance(value, list) or not -len(value) <= step < len(value):
                return None
            value = value[step]
        else:
            if not isinstance(value, dict) or step not in value:
                return None
            value = value[step]
    return Found(value)


def same(one: Json, other: Json) -> bool:
    """Equal as JSON: true is not 1, but 1.0 is."""
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    return isinstance(one, bool) == isinstance(other, bool) and one == other


@lru_cache(maxsize=1024)
def _steps(path: str) -> tuple[str | int, ...]:
    """The steps of a path that the domain has accepted."""
    return tuple(
        int(index) if index else name or single or double
        for name, index, single, double in re.findall(STEP, path)
    )
