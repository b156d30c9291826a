"""An endpoint: what it does, when it should run, its state, and the job it belongs to."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple, TypeVar

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.json_values import Json, check_metadata
from cadenza.domain.monitoring.alert import Severity
from cadenza.domain.planning.planner_settings import Planning
from cadenza.domain.scheduling.baseline import Baseline, Every, Once
from cadenza.domain.scheduling.calendars.rules import NO_RULES, CalendarRules
from cadenza.domain.scheduling.hint import (
    INTERVAL,
    JOB_PAUSE,
    ONE_SHOT,
    PAUSE,
    HintKind,
    HintMode,
    InForce,
    IntervalHint,
    OneShotHint,
    Rank,
    rank_of,
    why_not_applied,
)
from cadenza.domain.scheduling.plan import Source
from cadenza.domain.scheduling.policy import Guard, Policy
from cadenza.domain.scheduling.requested_runs.queue import CancelRequest, RequestQueue
from cadenza.domain.scheduling.target import (
    CallableTarget,
    HeartbeatTarget,
    Target,
    check_fit,
)
from cadenza.domain.validation import check_count, check_id, check_labels, convert_to_utc

DEFAULT_INTERVAL_MS = 60_000
NO_GUARD = Guard()
PARTS: tuple[tuple[str, Any], ...] = (
    ("id", str),
    ("name", str),
    ("job_id", str),
    ("tenant_id", str),
    ("baseline", Baseline),
    ("target", Target),
    ("guard", Guard),
    ("policy", Policy),
    ("calendar_rules", CalendarRules),
    ("planning", Planning),
    ("interval_hint", IntervalHint | None),
    ("one_shot_hint", OneShotHint | None),
)
COUNTS = ("failure_count", "abandoned_count", "abandoned_alone_count", "missed_slots")
MOST = 2**31 - 1
HIGHEST_PRIORITY = 100
MOMENTS = ("created_at", "paused_until", "last_run_at", "next_run_at", "skipped_at", "quota_opens_at")


class EndpointKey(NamedTuple):
    """The identity of an endpoint. The tenant is part of it, so that no id crosses a tenant's border."""

    tenant_id: str
    id: str


class Lease(NamedTuple):
    """The right to run an endpoint once, and until when it protects."""

    token: str
    run_id: str
    until: datetime


class OpenSlot(NamedTuple):
    """A slot that was attempted and has no verdict yet."""

    slot: datetime
    attempts: int


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    """An endpoint, as one row holds it; every change is a new value.

    It has no slots, so that `evolve` can copy its fields in one step.
    """

    id: str
    name: str
    job_id: str = "default"
    tenant_id: str = "default"
    description: str | None = None
    target: Target = CallableTarget()
    baseline: Baseline = Every(DEFAULT_INTERVAL_MS)
    guard: Guard = Guard()
    policy: Policy = Policy()
    labels: Mapping[str, str] = field(default_factory=dict)
    planning: Planning = Planning()
    severity: Severity = Severity.WARNING
    """How much an alert about it matters."""
    parent_id: str | None = None
    """The endpoint that it depends on: while that is down, nobody is alerted of this one."""
    created_at: datetime | None = None
    limit_key: str | None = None
    """Endpoints with the same key share the limit of this key, if there is one."""
    priority: int = 0
    """Among endpoints of its tenant that are due and wait, the higher goes first."""
    calendar_rules: CalendarRules = NO_RULES
    """The calendars that it keeps to; those of its job are kept beside its own by whoever writes it."""

    hint_mode: HintMode = HintMode.OVERRIDE
    interval_hint: IntervalHint | None = None
    one_shot_hint: OneShotHint | None = None
    paused_until: datetime | None = None
    pause_reason: str | None = None
    pause_origin: str | None = None

    enabled: bool = True
    archived: bool = False
    job_active: bool = True
    """Whether its job runs; kept by the store beside the endpoint, so that one row tells what is due."""
    limited_by: tuple[str, ...] = ()
    """The keys of the limits that it is under, such as `job:shop`; kept by the store like `job_active`."""

    last_run_at: datetime | None = None
    skipped_at: datetime | None = None
    """When a slot was last skipped: planning starts anew there, though nothing ran."""
    next_run_at: datetime | None = None
    next_source: Source = Source.FIRST
    """What set `next_run_at`."""
    missed_slots: int = 0
    """Slots that passed during the last run, to be counted on the next one."""
    open_slot: OpenSlot | None = None
    quota_opens_at: datetime | None = None
    failure_count: int = 0
    abandoned_count: int = 0
    """How often in a row its process died while it was in flight."""
    abandoned_alone_count: int = 0
    """How often it was alone then."""
    lease: Lease | None = None
    requested: RequestQueue | None = None
    """Runs that wait beside the schedule."""
    cancel_request: CancelRequest | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "hint_mode", _member(HintMode, "hint_mode", self.hint_mode))
        object.__setattr__(self, "severity", _member(Severity, "severity", self.severity))
        if type(self.baseline) is Once and self.interval_hint is not None:
            raise InvalidRequest("An endpoint that runs once cannot have an interval hint.", "interval_hint")
        check_fit(self.target, self.baseline, self.policy)
        if self.parent_id == self.id:
            raise InvalidRequest("An endpoint cannot depend on itself.", "parent_id")
        for part, kind in PARTS:
            if not isinstance(getattr(self, part), kind):
                raise InvalidRequest(f"{part} is not of its kind.", part)
        for count in COUNTS:
            check_count(count, getattr(self, count), least=0, most=MOST)
        check_count("priority", self.priority, least=-HIGHEST_PRIORITY, most=HIGHEST_PRIORITY)
        if self.limit_key is not None:
            check_id("limit_key", self.limit_key)
        object.__setattr__(self, "labels", check_labels(self.labels))
        convert_to_utc(self, *MOMENTS)

    @property
    def key(self) -> EndpointKey:
        """Its identity."""
        return EndpointKey(self.tenant_id, self.id)

    def anchor(self, now: datetime) -> datetime:
        """Where planning starts: the last run or, if later, the last skip; `now` if there was neither."""
        last, skipped = self.last_run_at, self.skipped_at
        if last is None or (skipped is not None and skipped > last):
            last = skipped
        return last or now

    @property
    def has_history(self) -> bool:
        """Did it ever run or skip a slot?"""
        return self.last_run_at is not None or self.skipped_at is not None

    @property
    def live(self) -> bool:
        """Does it count towards a limit? What was deleted or has done its duty does not."""
        return not self.archived and self.next_source is not Source.FINISHED

    @property
    def switched_on(self) -> bool:
        """Is it enabled, in a job that is active, and not deleted?"""
        return self.enabled and self.job_active and not self.archived

    @property
    def retired(self) -> bool:
        """Is nothing planned for it because no process declares its function?"""
        return self.next_source is Source.RETIRED

    @property
    def effective_guard(self) -> Guard:
        """The guard as it applies: what runs once is not clamped, nor is what only waits for heartbeats."""
        is_free = type(self.baseline) is Once or type(self.target) is HeartbeatTarget
        return NO_GUARD if is_free else self.guard

    def paused(self, now: datetime) -> bool:
        """Is the gate closed?"""
        return self.paused_until is not None and self.paused_until > now

    def in_force(self, now: datetime) -> list[InForce]:
        """The pause and the hints that count now."""
        interval, one_shot, found = self.interval_hint, self.one_shot_hint, []
        if self.paused_until is not None and self.paused_until > now:
            found.append(InForce(PAUSE, self.pause_origin, self.paused_until))
        if interval is not None and interval.fresh(now):
            found.append(InForce(INTERVAL, interval.origin, interval.expires_at))
        if one_shot is not None and one_shot.fresh(now) and not one_shot.served(self.last_run_at, now):
            found.append(InForce(ONE_SHOT, one_shot.origin, one_shot.expires_at))
        return found


FIELDS = frozenset(one.name for one in fields(Endpoint))


def restore_endpoint(state: dict[str, Any]) -> Endpoint:
    """An endpoint from all of its fields, as a store kept them; they were checked when they were made.

    The dictionary becomes the endpoint's own.
    """
    assert len(state) == len(FIELDS), (
        f"missing: {FIELDS - state.keys()}, no such fields: {state.keys() - FIELDS}"
    )
    endpoint = object.__new__(Endpoint)
    object.__setattr__(endpoint, "__dict__", state)
    return endpoint


def evolve(endpoint: Endpoint, **changes: Any) -> Endpoint:
    """The endpoint with some fields changed: `dataclasses.replace` for checked values, ten times as fast."""
    return restore_endpoint(vars(endpoint) | changes)


Member = TypeVar("Member", bound=StrEnum)


def _member(kind: type[Member], name: str, value: str) -> Member:
    try:
        return kind(value)
    except ValueError:
        raise InvalidRequest(f"{name} must be one of {', '.join(kind)}.", name) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Endpoints that belong together; none of them is due while their job is not active."""

    id: str
    name: str
    tenant_id: str = "default"
    active: bool = True
    description: str | None = None
    applied: bool = False
    """Whether it was written by a configuration file, which may then also remove it."""
    created_at: datetime | None = None
    metadata: Mapping[str, Json] = field(default_factory=dict)
    """What its owner keeps beside it, such as a team or a runbook; the scheduler does not read it."""
    pause_origin: str | None = None
    """Who switched it off."""
    calendar_rules: CalendarRules = NO_RULES
    """Its `only_during` and `never_during` keep its endpoints, too."""

    def __post_init__(self) -> None:
        convert_to_utc(self, "created_at")
        check_metadata(self.metadata)

    def in_force(self) -> list[InForce]:
        """The pause of all its endpoints, while it is not active."""
        return [] if self.active else [InForce(JOB_PAUSE, self.pause_origin, None)]

    def switched(self, origin: str, *, active: bool) -> "Job":
        """The job, switched on or off; whoever switched it off keeps lower ranks from switching it on."""
        return replace(self, active=active, pause_origin=None if active else origin)


def why_job_stays(
    job: Job, endpoints: Iterable[Endpoint], kind: HintKind, origin: str, now: datetime
) -> str | None:
    """What of a higher rank keeps a call from pausing or resuming a job; None if it may act.

    1. A job that a higher rank has paused stays paused.
    2. A pause does not silence a higher rank's fresh hint on one of its endpoints.
    3. A model does not pause a job at all, as that lasts until somebody resumes it.
    """
    in_force = job.in_force()
    if kind is HintKind.PAUSE:
        hints = (one for endpoint in endpoints for one in endpoint.in_force(now))
        in_force += [one for one in hints if one.what is not PAUSE]
    outranked = why_not_applied(in_force, kind, origin)
    if outranked is None and kind is HintKind.PAUSE and rank_of(origin) <= Rank.LLM:
        return "a model pauses no job, only its endpoints and for a while"
    return outranked
