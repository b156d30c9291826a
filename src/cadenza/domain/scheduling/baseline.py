"""The schedule an endpoint's owner chose: Every, Cron or Once."""

from dataclasses import dataclass
from datetime import datetime

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.validation import check_duration_ms, check_moment, check_text, convert_to_utc


@dataclass(frozen=True, slots=True)
class Every:
    """A fixed interval, measured from the start of the last run."""

    interval_ms: int

    def __post_init__(self) -> None:
        check_duration_ms("interval_ms", self.interval_ms)


@dataclass(frozen=True, slots=True)
class Cron:
    """A cron line in a time zone. Not parsed here: callers check it with the cron port."""

    expression: str
    timezone: str = "UTC"

    def __post_init__(self) -> None:
        if not check_text("expression", self.expression).strip():
            raise InvalidRequest("expression must have five fields.", "expression")
        check_text("timezone", self.timezone)


@dataclass(frozen=True, slots=True)
class Once:
    """One moment; when it has been served, the endpoint is finished."""

    at: datetime

    def __post_init__(self) -> None:
        check_moment("at", self.at)
        convert_to_utc(self, "at")


Baseline = Every | Cron | Once
