"""What planners may do with an endpoint, as its owner chose."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.json_values import JSON_PATH
from cadenza.domain.validation import check_text

MOST_WATCHED = 16
LEAST_RUNS, MOST_RUNS = 0.01, 3_600_000


class Learning(StrEnum):
    """What the learning planner does: nothing, think without acting, or steer."""

    OFF = "off"
    SHADOW = "shadow"
    ON = "on"


@dataclass(frozen=True, slots=True, kw_only=True)
class Planning:
    """Which planners think about an endpoint, and what they look at."""

    learning: Learning = Learning.SHADOW
    llm: bool = False
    http_hints: bool = False
    """Whether `Retry-After` pauses it and `Cache-Control: max-age` sets its pace."""
    watch: tuple[str, ...] = ()
    """JSON paths in its response whose change is a change; if none, the whole response is."""
    runs_per_hour: float | None = None
    """What the learning planner may spend here, shared within the job; if None, what its baseline spends."""

    def __post_init__(self) -> None:
        if self.learning not in list(Learning):
            raise InvalidRequest(f"learning must be one of {', '.join(Learning)}.", "learning")
        object.__setattr__(self, "learning", Learning(self.learning))
        object.__setattr__(self, "watch", _watched(self.watch))
        object.__setattr__(self, "runs_per_hour", _budget(self.runs_per_hour))


def _budget(runs: Any) -> float | None:
    if runs is None:
        return None
    if type(runs) not in (int, float) or not LEAST_RUNS <= runs <= MOST_RUNS:
        raise InvalidRequest(
            f"runs_per_hour must be a number from {LEAST_RUNS} to {MOST_RUNS}.", "runs_per_hour"
        )
    return float(runs)


def _watched(paths: Any) -> tuple[str, ...]:
    if not isinstance(paths, list | tuple) or len(paths) > MOST_WATCHED:
        raise InvalidRequest(f"watch must be a list of at most {MOST_WATCHED} JSON paths.", "watch")
    if not all(JSON_PATH.fullmatch(check_text("watch", path)) for path in paths):
        raise InvalidRequest("watch must list paths: $, followed by .name, ['name'] or [0].", "watch")
    return tuple(paths)
