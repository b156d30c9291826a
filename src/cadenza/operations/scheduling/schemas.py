"""JSON models of baselines, targets, guards and policies, and their conversion to the domain and back."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import BeforeValidator, Field, JsonValue

from cadenza.domain.http_request import LONGEST_URL, MOST_HEADERS, MOST_KEYS, MOST_LISTED
from cadenza.domain.planning.planner_settings import (
    DEFAULT_PAUSE_MINUTES,
    LEAST_RUNS,
    MOST_PAUSE_MINUTES,
    MOST_RUNS,
    MOST_WATCHED,
    Learning,
    Planning,
)
from cadenza.domain.scheduling.baseline import MOST_PARTS, Baseline, Cron, DayParts, Every, Once
from cadenza.domain.scheduling.calendars.named_day_parts import NamedDayParts
from cadenza.domain.scheduling.policy import Backoff, Guard, Misfire, Policy
from cadenza.domain.scheduling.target import (
    CAPTURED_HEADERS,
    LONGEST_GRACE_MS,
    MOST_CAPTURED_BYTES,
    MOST_REDIRECTS,
    CallableTarget,
    HeartbeatTarget,
    HttpTarget,
    PromptTarget,
    Target,
)
from cadenza.domain.text_patterns import A_URL
from cadenza.operations.documented_models import Shape, remembered_by_identity, unvalidated
from cadenza.operations.fields import Flag, Id, Moment, Name, Span, SpanFromZero, Text, Whole, ZoneName


class EveryShape(Shape):
    """A fixed interval, measured from the start of the last run."""

    kind: Literal["every"]
    interval_ms: Span

    def to_domain(self) -> Every:
        """The baseline."""
        return Every(self.interval_ms)


class CronShape(Shape):
    """A cron line of five fields, or a name such as @hourly, in an IANA time zone."""

    kind: Literal["cron"]
    expression: Name
    timezone: ZoneName = "UTC"

    def to_domain(self) -> Cron:
        """The baseline; its expression is not checked here."""
        return Cron(self.expression, self.timezone)


class OnceShape(Shape):
    """One moment; when it has been served, the endpoint is finished."""

    kind: Literal["once"]
    at: Moment

    def to_domain(self) -> Once:
        """The baseline."""
        return Once(self.at)


CadenceShape = Annotated[EveryShape | CronShape, Field(discriminator="kind")]


class DayPartShape(Shape):
    """A cadence, and the calendar while which is open it counts."""

    calendar: Id
    cadence: CadenceShape


class DayPartsShape(Shape):
    """Cadences by calendar: the first part whose calendar is open counts, and otherwise another cadence."""

    kind: Literal["day-parts"]
    parts: Annotated[list[DayPartShape], Field(min_length=1, max_length=MOST_PARTS)]
    otherwise: CadenceShape

    def to_domain(self) -> NamedDayParts:
        """The day parts; their calendars are not looked up here."""
        parts = tuple((one.calendar, one.cadence.to_domain()) for one in self.parts)
        return NamedDayParts(parts, self.otherwise.to_domain())

    @classmethod
    def of(cls, day_parts: DayParts) -> Self:
        """The JSON model of day parts, with the ids of their calendars."""
        parts = [
            unvalidated(DayPartShape, {"calendar": one.calendar.id, "cadence": as_shape(one.cadence)})
            for one in day_parts.parts
        ]
        otherwise = as_shape(day_parts.otherwise)
        return unvalidated(cls, {"kind": "day-parts", "parts": parts, "otherwise": otherwise})


BaselineShape = Annotated[EveryShape | CronShape | OnceShape | DayPartsShape, Field(discriminator="kind")]


class HttpShape(Shape):
    """One HTTP exchange. `${env:NAME}` and `${secret:NAME}` in headers and body stand for secrets."""

    kind: Literal["http"]
    url: Annotated[str, Field(strict=True, max_length=LONGEST_URL, pattern=A_URL)]
    method: Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] = "GET"
    headers: Annotated[dict[str, str], Field(max_length=MOST_HEADERS)] = {}
    body: JsonValue = None
    """None is no body; a text is sent as it is; anything else is sent as JSON."""
    success_statuses: Annotated[list[str], Field(min_length=1, max_length=MOST_LISTED)] = ["2xx"]
    """Statuses that are a success: `204`, `200-204` or `2xx`."""
    success_path: Name | None = None
    """A JSON path that must lead somewhere in the response, such as `$.jobs[0].state`."""
    success_values: Annotated[list[JsonValue], Field(max_length=MOST_LISTED)] = []
    """What may be found there; if empty, anything."""
    capture_bytes: Annotated[int, Whole(0, MOST_CAPTURED_BYTES)] = 16_384
    capture_headers: Annotated[list[str], Field(max_length=MOST_LISTED)] = list(CAPTURED_HEADERS)
    max_redirects: Annotated[int, Whole(0, MOST_REDIRECTS)] = 0
    signing: Annotated[list[str], Field(max_length=MOST_KEYS)] = []
    """References to signing keys, the current one first; each signs, so that keys can overlap."""

    def to_domain(self) -> HttpTarget:
        """The target."""
        return HttpTarget(**self.model_dump(exclude={"kind"}))


class CallableShape(Shape):
    """A Python function that the embedding program registered under a name."""

    kind: Literal["callable"]
    function: Name = "noop"

    def to_domain(self) -> CallableTarget:
        """The target."""
        return CallableTarget(self.function)


class HeartbeatShape(Shape):
    """Work that somebody else does, and reports by heartbeats."""

    kind: Literal["heartbeat"]
    grace_ms: Annotated[int, Whole(1_000, LONGEST_GRACE_MS)] = 60_000
    """How long after its expected moment a heartbeat is missing."""
    max_run_ms: Annotated[int, Whole(1_000, LONGEST_GRACE_MS)] | None = None
    """How long after a start its end is missing; null if a start changes nothing."""

    def to_domain(self) -> HeartbeatTarget:
        """The target."""
        return HeartbeatTarget(self.grace_ms, self.max_run_ms)


class PromptShape(Shape):
    """A message to an agent, in the conversation of a user."""

    kind: Literal["prompt"]
    agent_id: Id
    user_id: Id
    prompt: Text


def _without_prompt(value: Any) -> Any:
    """What is given as a target, unless it is a prompt."""
    if isinstance(value, Mapping) and value.get("kind") == "prompt":
        raise ValueError("must not be a prompt, which a schedule sends: make it with `create_schedule`.")
    return value


TargetShape = Annotated[
    HttpShape | CallableShape | HeartbeatShape, Field(discriminator="kind"), BeforeValidator(_without_prompt)
]
"""What an owner may write."""
AnyTargetShape = Annotated[
    HttpShape | CallableShape | HeartbeatShape | PromptShape, Field(discriminator="kind")
]


class GuardShape(Shape):
    """The least and the most time between two runs."""

    min_interval_ms: Span | None = None
    max_interval_ms: Span | None = None

    def to_domain(self) -> Guard:
        """The guard."""
        return Guard(self.min_interval_ms, self.max_interval_ms)


class PolicyShape(Shape):
    """Timeout, retries, misfires and backoff."""

    timeout_ms: Span = 30_000
    """Over the whole exchange."""
    max_attempts: Annotated[int, Whole(1, 100)] = 1
    retry_delay_ms: SpanFromZero = 10_000
    misfire: Misfire = Misfire.RUN
    """What becomes of a slot that is served too late."""
    misfire_grace_ms: SpanFromZero = 60_000
    backoff: Backoff = Backoff.NONE
    """What failures do to the baseline interval."""

    def to_domain(self) -> Policy:
        """The policy."""
        return Policy(**self.model_dump())


class PlanningShape(Shape):
    """Which planners think about the endpoint, and what they look at."""

    learning: Learning = Learning.SHADOW
    """The learning planner: `off`, `shadow` (it thinks and records, without acting), or `on`."""
    llm: Flag = False
    """Whether a model may think about it, if one is set up."""
    http_hints: Flag = False
    """Whether `Retry-After` pauses it and `Cache-Control: max-age` sets its pace."""
    watch: Annotated[list[Name], Field(max_length=MOST_WATCHED)] = []
    """JSON paths in its response whose change is a change; if none, the whole response is."""
    runs_per_hour: Annotated[float, Field(strict=True, ge=LEAST_RUNS, le=MOST_RUNS)] | None = None
    """What the learning planner may spend here, shared within the job; if null, what the baseline spends."""

    max_pause_minutes: Annotated[int, Field(strict=True, ge=0, le=MOST_PAUSE_MINUTES)] = DEFAULT_PAUSE_MINUTES
    """For how long models and the learning planner may put off its next run; rules and people may always."""

    def to_domain(self) -> Planning:
        """The planning itself."""
        return Planning(**self.model_dump())


NO_GUARD = GuardShape()
DEFAULT_POLICY = PolicyShape()
DEFAULT_PLANNING = PlanningShape()
KINDS: dict[type, type[Shape]] = {
    Every: EveryShape,
    Cron: CronShape,
    Once: OnceShape,
    DayParts: DayPartsShape,
    HttpTarget: HttpShape,
    CallableTarget: CallableShape,
    HeartbeatTarget: HeartbeatShape,
    PromptTarget: PromptShape,
    Guard: GuardShape,
    Policy: PolicyShape,
    Planning: PlanningShape,
}


MOST_CACHED = 20_000


@remembered_by_identity(most=MOST_CACHED)
def as_shape(value: Baseline | Target | Guard | Policy | Planning) -> Any:
    """The JSON model of a value of the domain."""
    if isinstance(value, DayParts):
        return DayPartsShape.of(value)
    shape = KINDS[type(value)]
    named = shape.model_fields.get("kind")
    words: dict[str, Any] = {} if named is None else {"kind": get_args(named.annotation)[0]}
    for name in shape.model_fields:  # A value may know more, which is nobody's business.
        if name not in words:
            part = getattr(value, name)
            words[name] = list(part) if isinstance(part, tuple) else part
    return unvalidated(shape, words)
