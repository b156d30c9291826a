"""Rules: a condition, the step to take while it holds, and how to escalate and relax."""

from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Any, ClassVar

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.scheduling.hint import LONGEST_TTL_MINUTES, SHORTEST_TTL_MINUTES, Rank, lowered, rank_of
from cadenza.domain.validation import check_duration_ms, check_text, convert_to_utc

LONGEST_WHEN = 1_000
MOST_ESCALATIONS = 8
MOST_RULES = 100
"""How many rules a job may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepBase:
    """Fields of every step: the endpoint it acts on, and the reason."""

    tool: ClassVar[str]

    endpoint: str | None = None
    """The name of a sibling; None means the endpoint that the rule is evaluated for."""
    reason: str | None = None
    """Added to the rule's name in the reason of the hint."""

    def __post_init__(self) -> None:
        if self.endpoint is not None:
            check_text("endpoint", self.endpoint, longest=200)
        if self.reason is not None:
            check_text("reason", self.reason, longest=1_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposeIntervalStep(StepBase):
    """Propose an interval until its TTL is over."""

    tool = "propose_interval"

    interval_ms: int
    ttl_minutes: float = 60

    def __post_init__(self) -> None:
        StepBase.__post_init__(self)
        check_duration_ms("intervalMs", self.interval_ms)
        _check_ttl(self.ttl_minutes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposeNextTimeStep(StepBase):
    """Propose one run."""

    tool = "propose_next_time"

    in_ms: int
    ttl_minutes: float | None = None

    def __post_init__(self) -> None:
        StepBase.__post_init__(self)
        _check_run(self.in_ms, self.ttl_minutes)


@dataclass(frozen=True, slots=True, kw_only=True)
class PauseStep(StepBase):
    """Pause for a duration; None resumes."""

    tool = "pause_until"

    for_ms: int | None

    def __post_init__(self) -> None:
        StepBase.__post_init__(self)
        if self.for_ms is not None:
            check_duration_ms("pauseMs", self.for_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class WakeStep(StepBase):
    """Resume a paused endpoint, and propose a run."""

    tool = "wake"

    in_ms: int = 0
    ttl_minutes: float | None = None

    def __post_init__(self) -> None:
        StepBase.__post_init__(self)
        _check_run(self.in_ms, self.ttl_minutes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearStep(StepBase):
    """Clear the interval hint, so that the baseline resumes."""

    tool = "clear"


Step = ProposeIntervalStep | ProposeNextTimeStep | PauseStep | WakeStep | ClearStep
STEPS: dict[str, type[Step]] = {
    kind.tool: kind for kind in (ProposeIntervalStep, ProposeNextTimeStep, PauseStep, WakeStep, ClearStep)
}


@dataclass(frozen=True, slots=True)
class Escalation:
    """The step to take when an incident has lasted for `after_ms`."""

    after_ms: int
    then: Step

    def __post_init__(self) -> None:
        check_duration_ms("after_ms", self.after_ms)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule of a job, for all of its endpoints or for one."""

    id: str
    name: str
    job_id: str
    when: str
    """An expression over the endpoint's variables; while it holds, an incident lasts."""
    then: Step
    tenant_id: str = "default"
    endpoint_id: str | None = None
    relax: Step | None = None
    """The step to take when the incident is over."""
    cooldown_ms: int = 0
    """The least time between two firings of `then`, also across incidents."""
    once_per_incident: bool = False
    escalate: tuple[Escalation, ...] = ()
    enabled: bool = True
    created_at: datetime | None = None
    rank: Rank = Rank.RULE
    """With which it acts: that of whoever wrote it last, and at most a rule's."""

    def __post_init__(self) -> None:
        if not check_text("when", self.when, longest=LONGEST_WHEN).strip():
            raise InvalidRequest("when must not be empty.", "when")
        check_duration_ms("cooldown_ms", self.cooldown_ms, least=0)
        object.__setattr__(self, "escalate", _escalations(self.escalate))
        convert_to_utc(self, "created_at")

    @property
    def origin(self) -> str:
        """The origin of what it does."""
        return lowered(f"rule:{self.name}", self.rank)

    def written_by(self, origin: str) -> "Rule":
        """The rule with the rank of its author: what a model writes acts as a model."""
        return replace(self, rank=min(Rank.RULE, rank_of(origin)))

    def applies_to(self, endpoint_id: str) -> bool:
        """Whether it is evaluated for this endpoint of its job."""
        return self.enabled and self.endpoint_id in (None, endpoint_id)


OWNER_FIELDS = (
    "name",
    "job_id",
    "endpoint_id",
    "when",
    "then",
    "relax",
    "cooldown_ms",
    "once_per_incident",
    "escalate",
    "enabled",
)
"""The fields that its owner writes."""


def _check_ttl(minutes: Any) -> None:
    if type(minutes) not in (int, float) or not SHORTEST_TTL_MINUTES <= minutes <= LONGEST_TTL_MINUTES:
        message = f"ttlMinutes must be a number up to {LONGEST_TTL_MINUTES}, above 0."
        raise InvalidRequest(message, "ttlMinutes")


def _check_run(in_ms: int, ttl_minutes: float | None) -> None:
    check_duration_ms("nextRunInMs", in_ms, least=0)
    if ttl_minutes is None:
        return
    _check_ttl(ttl_minutes)
    if ttl_minutes * 60_000 <= in_ms:
        raise InvalidRequest(
            "The hint would expire before its moment; give a longer ttlMinutes.", "ttlMinutes"
        )


def _escalations(steps: Any) -> tuple[Escalation, ...]:
    if len(steps) > MOST_ESCALATIONS:
        raise InvalidRequest(f"escalate may have {MOST_ESCALATIONS} steps.", "escalate")
    if any(later.after_ms <= earlier.after_ms for earlier, later in pairwise(steps)):
        raise InvalidRequest("escalate steps must be in order, each later than the one before.", "escalate")
    return tuple(steps)
