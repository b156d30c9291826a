"""An owner, and what it may spend."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from cadenza.domain.baseline import Every
from cadenza.domain.checks import a_count, a_span
from cadenza.domain.endpoint import Endpoint, evolve
from cadenza.domain.errors import InvalidRequest
from cadenza.domain.policy import Guard

MOST = 2**53


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much a tenant may have and spend; None is without limit."""

    endpoints: int | None = None
    min_interval_ms: int | None = None
    runs_per_month: int | None = None
    planner_tokens_per_month: int | None = None

    def __post_init__(self) -> None:
        if self.min_interval_ms is not None:
            a_span("min_interval_ms", self.min_interval_ms)
        for name in ("endpoints", "runs_per_month", "planner_tokens_per_month"):
            if getattr(self, name) is not None:
                a_count(name, getattr(self, name), least=0, most=MOST)

    def admit(self, endpoint: Endpoint) -> Endpoint:
        """The endpoint with its guard inside the limits; refused if its owner asked for less."""
        least = self.min_interval_ms
        if least is None:
            return endpoint
        if isinstance(endpoint.baseline, Every) and endpoint.baseline.interval_ms < least:
            raise InvalidRequest(f"An interval may not be shorter than {least} ms here.", "baseline")
        guard = endpoint.guard
        if guard.min_interval_ms is None:
            return evolve(endpoint, guard=_guard_from(least, guard))
        if guard.min_interval_ms < least:
            raise InvalidRequest(f"min_interval_ms may not be less than {least} here.", "guard")
        return endpoint


def _guard_from(least: int, guard: Guard) -> Guard:
    if guard.max_interval_ms is not None and guard.max_interval_ms < least:
        raise InvalidRequest(f"max_interval_ms may not be less than {least} here.", "guard")
    return Guard(least, guard.max_interval_ms)


NO_LIMITS = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """An owner of jobs and endpoints."""

    id: str
    name: str
    limits: Limits = NO_LIMITS


class Spent(NamedTuple):
    """What a tenant spent in one month."""

    runs: int = 0
    planner_tokens: int = 0


class Standing(NamedTuple):
    """What a tenant may spend, and what it has spent this month."""

    limits: Limits = NO_LIMITS
    spent: Spent = Spent()


def month_of(moment: datetime) -> str:
    """The month that a moment is counted in: 2030-01."""
    return f"{moment.astimezone(UTC):%Y-%m}"


def next_month(moment: datetime) -> datetime:
    """When the counters begin anew."""
    first = moment.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return first.replace(year=first.year + first.month // 12, month=first.month % 12 + 1)
