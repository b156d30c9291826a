"""Which planners an endpoint's owner has enabled, and their settings."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.json_values import check_paths
from cadenza.domain.validation import check_count

MOST_WATCHED = 16
LEAST_RUNS, MOST_RUNS = 0.01, 3_600_000
DEFAULT_PAUSE_MINUTES, MOST_PAUSE_MINUTES = 4 * 60, 366 * 24 * 60


class Learning(StrEnum):
    """The learning planner's mode: off, proposing without steering, or steering."""

    OFF = "off"
    SHADOW = "shadow"
    ON = "on"


@dataclass(frozen=True, slots=True, kw_only=True)
class Planning:
    """The planners that analyze an endpoint, and what they watch."""

    learning: Learning = Learning.SHADOW
    llm: bool = False
    http_hints: bool = False
    """Whether `Retry-After` pauses it and `Cache-Control: max-age` sets its interval."""
    watch: tuple[str, ...] = ()
    """JSON paths in its response whose values are compared; if none, the whole response is."""
    runs_per_hour: float | None = None
    """The learning planner's budget, shared within the job; if None, the runs of the baseline."""

    max_pause_minutes: int = DEFAULT_PAUSE_MINUTES
    """For how long models and the learning planner may put off its next run, whatever they call."""

    def __post_init__(self) -> None:
        if self.learning not in list(Learning):
            raise InvalidRequest(f"learning must be one of {', '.join(Learning)}.", "learning")
        object.__setattr__(self, "learning", Learning(self.learning))
        object.__setattr__(self, "watch", check_paths("watch", self.watch, most=MOST_WATCHED))
        check_count("max_pause_minutes", self.max_pause_minutes, least=0, most=MOST_PAUSE_MINUTES)
        object.__setattr__(self, "runs_per_hour", _budget(self.runs_per_hour))


def _budget(runs: Any) -> float | None:
    if runs is None:
        return None
    if type(runs) not in (int, float) or not LEAST_RUNS <= runs <= MOST_RUNS:
        raise InvalidRequest(
            f"runs_per_hour must be a number from {LEAST_RUNS} to {MOST_RUNS}.", "runs_per_hour"
        )
    return float(runs)
