"""Tenants, their limits, and what runs are charged to them."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from cadenza.domain.errors import InvalidRequest, LimitReached
from cadenza.domain.scheduling.baseline import Every, cadences_of
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.policy import Guard
from cadenza.domain.scheduling.run import RunStatus
from cadenza.domain.scheduling.settle import SettledRun
from cadenza.domain.validation import check_count, check_duration_ms
from cadenza.domain.wording import duration_in_words

MOST = 2**53
COUNTED = (
    "endpoints",
    "runs_per_month",
    "planner_tokens_per_month",
    "schedules_per_user",
    "schedule_fires_per_day",
    "schedule_tokens_per_day",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a tenant; None is unlimited. Limits about agent schedules have defaults."""

    endpoints: int | None = None
    min_interval_ms: int | None = None
    runs_per_month: int | None = None
    planner_tokens_per_month: int | None = None
    schedules_per_user: int | None = 50
    """Active agent schedules of one user."""
    schedule_min_interval_ms: int | None = 60_000
    schedule_fires_per_day: int | None = 1_440
    """How often a day the schedules of one user may fire, all together."""
    schedule_tokens_per_day: int | None = 200_000
    """Tokens a day for one user's turns; once they are spent, schedules wait for the next day."""

    def __post_init__(self) -> None:
        for name in ("min_interval_ms", "schedule_min_interval_ms"):
            if getattr(self, name) is not None:
                check_duration_ms(name, getattr(self, name))
        for name in COUNTED:
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name), least=0, most=MOST)

    def apply_to(self, endpoint: Endpoint) -> Endpoint:
        """The endpoint with its guard within the limits; InvalidRequest if it asks for a shorter interval."""
        least = self.min_interval_ms
        if least is None:
            return endpoint
        every = [one.interval_ms for one in cadences_of(endpoint.baseline) if isinstance(one, Every)]
        if every and min(every) < least:
            raise InvalidRequest(f"Limited by minimum interval: {duration_in_words(least)}.", "baseline")
        guard = endpoint.guard
        if guard.min_interval_ms is None:
            return evolve(endpoint, guard=_guard_from(least, guard))
        if guard.min_interval_ms < least:
            raise _too_short("min_interval_ms", least)
        return endpoint


def _guard_from(least: int, guard: Guard) -> Guard:
    if guard.max_interval_ms is not None and guard.max_interval_ms < least:
        raise _too_short("max_interval_ms", least)
    return Guard(least, guard.max_interval_ms)


def _too_short(field: str, least: int) -> InvalidRequest:
    return InvalidRequest(f"{field} may not be less than {duration_in_words(least)} here.", f"guard.{field}")


NO_LIMITS = Limits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tenant:
    """An owner of jobs and endpoints."""

    id: str
    name: str
    limits: Limits = NO_LIMITS


class MonthlyUsage(NamedTuple):
    """What a tenant used in one month."""

    runs: int = 0
    planner_tokens: int = 0


class QuotaUsage(NamedTuple):
    """A tenant's limits, and what it has used this month."""

    limits: Limits = NO_LIMITS
    spent: MonthlyUsage = MonthlyUsage()

    def limited(self) -> list[tuple[str, int, int]]:
        """The resources with a monthly limit: name, amount used, and limit."""
        found = [
            ("runs", self.spent.runs, self.limits.runs_per_month),
            ("planner_tokens", self.spent.planner_tokens, self.limits.planner_tokens_per_month),
        ]
        return [(name, spent, limit) for name, spent, limit in found if limit]


def month_of(moment: datetime) -> str:
    """The month of a moment in UTC, as `2030-01`."""
    return f"{moment.astimezone(UTC):%Y-%m}"


def next_month(moment: datetime) -> datetime:
    """When the monthly counters start again."""
    first = moment.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return first.replace(year=first.year + first.month // 12, month=first.month % 12 + 1)


def too_many(most: int) -> LimitReached:
    """The error for a tenant that has as many endpoints as it may."""
    return LimitReached(f"There may be at most {most:,} endpoints: delete one, or ask for a higher limit.")


CHARGED = (RunStatus.SUCCESS, RunStatus.FAILURE, RunStatus.TIMEOUT, RunStatus.ABANDONED)
"""A tuple: looking a member up in a set takes as long as all the rest."""


class Charge(NamedTuple):
    """How many runs a tenant is charged for in a month."""

    tenant_id: str
    month: str
    runs: int


def charges(settled: Iterable[SettledRun]) -> list[Charge]:
    """Charge every run that was dispatched to the month in which it ended; by tenant and month, in order.

    Cancelled and skipped runs cost nothing, and neither does a claim that was
    abandoned before it started. A look that found nothing new was dispatched all the same.
    """
    counts = Counter(
        (run.tenant_id, ended.year, ended.month)
        for run, seen in ((one.run, one.seen) for one in settled)
        if run.started_at is not None and (ended := run.finished_at) is not None
        if run.status in CHARGED or seen is not None
    )
    return [
        Charge(tenant_id, month_of(datetime(year, month, 1, tzinfo=UTC)), runs)
        for (tenant_id, year, month), runs in sorted(counts.items())
    ]
