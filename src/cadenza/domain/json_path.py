"""Where a JSON path leads."""

import re
from functools import lru_cache
from typing import NamedTuple

from cadenza.domain.scheduling.target import STEP, Json


class Found(NamedTuple):
    """What a path led to; it may be null."""

    value: Json


def follow_path(path: str, value: Json) -> Found | None:
    """Go where the path leads; None if it leads nowhere."""
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


@lru_cache(maxsize=1024)
def _steps(path: str) -> tuple[str | int, ...]:
    """The steps of a path that was accepted."""
    return tuple(
        int(index) if index else name or single or double
        for name, index, single, double in re.findall(STEP, path)
    )
