"""An owner, and what it may spend."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple

from cadenza.domain.errors import InvalidRequest, NotAllowed
from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.endpoint import Endpoint, evolve
from cadenza.domain.scheduling.policy import Guard
from cadenza.domain.scheduling.run import RunStatus
from cadenza.domain.scheduling.settle import SettledRun
from cadenza.domain.validation import check_count, check_duration_ms

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
    """How much a tenant may have and spend; None is without limit. Agents have limits from the start."""

    endpoints: int | None = None
    min_interval_ms: int | None = None
    runs_per_month: int | None = None
    planner_tokens_per_month: int | None = None
    schedules_per_user: int | None = 50
    """So many agent schedules of one user may be active."""
    schedule_min_interval_ms: int | None = 60_000
    schedule_fires_per_day: int | None = 200
    """So often a day may the schedules of one user fire, all together."""
    schedule_tokens_per_day: int | None = 200_000
    """When one user's turns have spent so many tokens on a day, their schedules wait for the next."""

    def __post_init__(self) -> None:
        for name in ("min_interval_ms", "schedule_min_interval_ms"):
            if getattr(self, name) is not None:
                check_duration_ms(name, getattr(self, name))
        for name in COUNTED:
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name), least=0, most=MOST)

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

    def levels(self) -> list[tuple[str, int, int]]:
        """What has a limit in a month: its name, what was spent of it, and the limit."""
        found = [
            ("runs", self.spent.runs, self.limits.runs_per_month),
            ("planner_tokens", self.spent.planner_tokens, self.limits.planner_tokens_per_month),
        ]
        return [(name, spent, limit) for name, spent, limit in found if limit]


def month_of(moment: datetime) -> str:
    """The month that a moment is counted in: 2030-01."""
    return f"{moment.astimezone(UTC):%Y-%m}"


def next_month(moment: datetime) -> datetime:
    """When the counters begin anew."""
    first = moment.astimezone(UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return first.replace(year=first.year + first.month // 12, month=first.month % 12 + 1)


def too_many(most: int) -> NotAllowed:
    """The tenant has its number of endpoints."""
    return NotAllowed(f"There may be at most {most} endpoints: delete one, or ask for a higher limit.")


CHARGED = (RunStatus.SUCCESS, RunStatus.FAILURE, RunStatus.TIMEOUT, RunStatus.ABANDONED)
"""No set: to find a member in one takes as long as all the rest."""


class Charge(NamedTuple):
    """How many runs a tenant is charged for in a month."""

    tenant_id: str
    month: str
    runs: int


def charges(settled: Iterable[SettledRun]) -> list[Charge]:
    """Charge every run that was dispatched to the month in which it ended; by tenant and month, in order.

    What was cancelled or skipped costs nothing, and neither does a claim that was
    abandoned before it started.
    """
    counts = Counter(
        (run.tenant_id, ended.year, ended.month)
        for run in (one.run for one in settled)
        if run.started_at is not None and (ended := run.finished_at) is not None and run.status in CHARGED
    )
    return [
        Charge(tenant_id, month_of(datetime(year, month, 1, tzinfo=UTC)), runs)
        for (tenant_id, year, month), runs in sorted(counts.items())
    ]
