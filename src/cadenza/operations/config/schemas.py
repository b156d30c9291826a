"""The models of a configuration file: those of REST, and shorthands such as `every 5m`."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    model_validator,
)

from cadenza.domain.errors import Fault, InvalidRequest
from cadenza.domain.field_faults import FieldError, path_as_written
from cadenza.domain.monitoring.alert import Severity
from cadenza.domain.monitoring.alert_route import MOST_ROUTES
from cadenza.domain.scheduling.baseline import MOST_PARTS
from cadenza.domain.scheduling.hint import HintMode
from cadenza.domain.validation import LONGEST_SPAN_MS
from cadenza.domain.wording import duration_in_words, number_as_span
from cadenza.operations.access.limits import ConfigLimits
from cadenza.operations.config.rule_words import (
    ESCALATION,
    RULE,
    STEP_SHORTHANDS,
    ConfigRules,
    duration_schema,
    milliseconds_of,
    with_milliseconds,
)
from cadenza.operations.daily.programme_schemas import ConfigProgrammes
from cadenza.operations.documented_models import Shape
from cadenza.operations.fields import IF_GIVEN, Flag, Id, Labels, Metadata, Name, Priority, Text
from cadenza.operations.monitoring.route_schemas import ChannelShape, MatchShape
from cadenza.operations.operation import Command
from cadenza.operations.scheduling.calendars.config_schemas import ConfigCalendars
from cadenza.operations.scheduling.calendars.schemas import JobCalendarShape
from cadenza.operations.scheduling.endpoint_parts.calendar_rules import CalendarRulesShape
from cadenza.operations.scheduling.schemas import (
    DEFAULT_PLANNING,
    DEFAULT_POLICY,
    NO_GUARD,
    BaselineShape,
    CadenceShape,
    CronShape,
    DayPartShape,
    DayPartsShape,
    EveryShape,
    GuardShape,
    OnceShape,
    PlanningShape,
    PolicyShape,
    TargetShape,
)

MOST_ENDPOINTS = 10_000
INTERVAL = {"interval": "interval_ms"}
GUARD = {"min": "min_interval_ms", "max": "max_interval_ms"}
POLICY = {"timeout": "timeout_ms", "retry_delay": "retry_delay_ms", "misfire_grace": "misfire_grace_ms"}
"""Spans as people write them, and the fields that they stand for."""
SHORTHANDS = {
    field: word
    for words in (STEP_SHORTHANDS, RULE, ESCALATION, INTERVAL, GUARD, POLICY)
    for word, field in words.items()
}
"""The words that may stand for fields."""
SHORT_BASELINE = re.compile(r"(every|cron|once) +(\S.*)")
SHORT_CRON = re.compile(r"(.+?)(?: +in +(\S+))?")


def whole_baseline(value: Any) -> Any:
    """`every 5m`, `cron 0 9 * * 1-5 in Europe/Berlin` and `once 2030-01-31T12:00:00Z`, spelt out."""
    if isinstance(value, Mapping) and value.get("kind") == "day-parts":
        return _whole_day_parts(value)
    if not isinstance(value, str):
        every = isinstance(value, Mapping) and value.get("kind") == "every"
        return with_milliseconds(INTERVAL if every else {})(value)
    said = SHORT_BASELINE.fullmatch(value.strip())
    if said is None:
        raise ValueError("must be `every 5m`, `cron */5 * * * *`, `once MOMENT`, or have a kind")
    kind, rest = said.groups()
    if kind == "every":
        return {"kind": kind, "interval_ms": _short_interval_ms(rest)}
    if kind == "once":
        return {"kind": kind, "at": rest}
    line = SHORT_CRON.fullmatch(rest)
    assert line is not None, "some text is a line"
    return {"kind": kind, "expression": line[1]} | ({"timezone": line[2]} if line[2] else {})


def _whole_day_parts(value: Mapping[str, Any]) -> dict[str, Any]:
    """Day parts with each cadence spelt out."""
    parts = value.get("parts")
    whole = {**value, "otherwise": whole_baseline(value.get("otherwise"))}
    if isinstance(parts, list):
        whole["parts"] = [
            {**one, "cadence": whole_baseline(one["cadence"])}
            if isinstance(one, Mapping) and "cadence" in one
            else one
            for one in parts
        ]
    return whole if "otherwise" in value else dict(value)


def _short_interval_ms(span: str) -> int:
    try:
        return milliseconds_of("every", span)
    except FieldError:
        longest = duration_in_words(LONGEST_SPAN_MS)
        raise ValueError(f"must be `every` with a span from 1ms to {longest}, such as `every 5m`") from None


def whole_target(value: Any) -> Any:
    """An address alone is an HTTP target with everything else as usual."""
    return {"kind": "http", "url": value} if isinstance(value, str) else value


GuardWords = duration_schema("GuardWords", GuardShape, GUARD)
PolicyWords = duration_schema("PolicyWords", PolicyShape, POLICY)


class DayPartWords(DayPartShape):
    """A day part whose cadence may be written as a text, such as `every 5m`."""

    cadence: CadenceShape | str  # type: ignore[assignment]


class DayPartsWords(DayPartsShape):
    """Day parts whose cadences may be written as texts, such as `every 5m`."""

    parts: Annotated[list[DayPartWords], Field(min_length=1, max_length=MOST_PARTS)]  # type: ignore[assignment]
    otherwise: CadenceShape | str  # type: ignore[assignment]


ConfigBaseline = Annotated[
    BaselineShape,
    BeforeValidator(
        whole_baseline, json_schema_input_type=EveryShape | CronShape | OnceShape | DayPartsWords | str
    ),
]
ConfigTarget = Annotated[TargetShape, BeforeValidator(whole_target, json_schema_input_type=TargetShape | str)]
ConfigGuard = Annotated[
    GuardShape, BeforeValidator(with_milliseconds(GUARD), json_schema_input_type=GuardWords)
]
ConfigPolicy = Annotated[
    PolicyShape, BeforeValidator(with_milliseconds(POLICY), json_schema_input_type=PolicyWords)
]


class ConfigEndpoint(Shape):
    """An endpoint of a job. What is left out is as usual; hints and pauses are no part of it."""

    id: Id
    name: Name | None = IF_GIVEN
    """If left out, the id."""
    description: Text | None = IF_GIVEN
    target: ConfigTarget
    """A whole target, or the address of an HTTP target."""
    baseline: ConfigBaseline
    """A whole baseline, or `every 5m`, `cron 0 9 * * 1-5 in Europe/Berlin`, `once 2030-01-31T12:00:00Z`.

    A cadence of day parts may be written in the same way.
    """
    guard: ConfigGuard = NO_GUARD
    policy: ConfigPolicy = DEFAULT_POLICY
    planning: PlanningShape = DEFAULT_PLANNING
    hint_mode: HintMode = HintMode.OVERRIDE
    labels: Labels = {}
    severity: Severity = Severity.WARNING
    """How much an alert about it matters."""
    parent_id: Id | None = None
    """The endpoint that it depends on: while that is down, no alert about this one is sent."""
    enabled: Flag | None = IF_GIVEN
    """If left out, it stays as it is; a new endpoint is enabled."""
    limit_key: Id | None = IF_GIVEN
    priority: Priority = 0
    calendar: CalendarRulesShape | None = IF_GIVEN
    """When it may run; if left out, always."""


class ConfigJob(Shape):
    """A job with its endpoints and rules."""

    id: Id
    name: Name | None = IF_GIVEN
    """If left out, the id."""
    description: Text | None = IF_GIVEN
    active: Flag | None = IF_GIVEN
    """If left out, it stays as it is; a new job is active."""
    metadata: Metadata = {}
    calendar: JobCalendarShape | None = IF_GIVEN
    """The calendars that keep its endpoints, beside those of their own; if left out, none."""
    endpoints: Annotated[list[ConfigEndpoint], Field(max_length=MOST_ENDPOINTS)] = []
    rules: ConfigRules = []


class ConfigAlertRoute(Shape):
    """An alert route: which conditions go to which channel."""

    id: Id
    name: Name | None = IF_GIVEN
    """If left out, the id."""
    enabled: Flag | None = IF_GIVEN
    """If left out, it stays as it is; a new route is enabled."""
    match: MatchShape = MatchShape()
    channel: ChannelShape


ConfigAlertRoutes = Annotated[list[ConfigAlertRoute], Field(max_length=MOST_ROUTES)]


class ConfigDocument(Command):
    """A whole configuration file."""

    version: Literal[1]
    limits: ConfigLimits | None = IF_GIVEN
    """Of runs; to change them takes the scope admin. If left out, they stay."""
    calendars: ConfigCalendars | None = IF_GIVEN
    """Of the tenant. If left out, they stay as they are, also when others are pruned."""
    jobs: Annotated[list[ConfigJob], Field(max_length=MOST_ENDPOINTS)] = []
    alert_routes: ConfigAlertRoutes | None = None
    """If left out, alert routes stay as they are, also when others are pruned."""
    programmes: ConfigProgrammes | None = IF_GIVEN
    """Daily programmes. If left out, they stay as they are, also when others are pruned."""
    _written: Any = PrivateAttr(default=None)

    @model_validator(mode="wrap")
    @classmethod
    def _keep(cls, value: Any, read: ModelWrapValidatorHandler[Self]) -> Self:
        """Keep the document as it was written, for refusals."""
        document = read(value)
        document._written = value  # noqa: SLF001 - Its own.
        return document

    def as_written(self, problem: InvalidRequest) -> InvalidRequest:
        """A refusal in the words of the document: `min` where it says so, and not `min_interval_ms`."""
        faults = [self._fault_as_written(fault) for fault in problem.faults]
        return InvalidRequest(faults[0].sentence, faults[0].field, faults) if faults else problem

    def _fault_as_written(self, fault: Fault) -> Fault:
        path, message = fault.field.split("."), fault.message
        for field, word in SHORTHANDS.items():
            if path_as_written([*path[:-1], field], self._written, SHORTHANDS)[-1:] == (word,):
                message = re.sub(rf"\b{field}\b", word, message)
        written = ".".join(path_as_written(path, self._written, SHORTHANDS))
        return Fault(written, message if written == fault.field else number_as_span(message))
