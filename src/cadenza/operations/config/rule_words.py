"""The models of the rules of a configuration file, and the spans that may stand for milliseconds."""

from collections.abc import Callable, Mapping
from functools import reduce
from operator import or_
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, create_model

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.field_faults import FieldError
from cadenza.domain.planning.rules.rule import MOST_ESCALATIONS, MOST_RULES, STEPS
from cadenza.domain.scheduling.hint import LONGEST_TTL_MINUTES
from cadenza.domain.validation import parse_duration_ms
from cadenza.domain.wording import duration_in_words
from cadenza.operations.documented_models import Shape
from cadenza.operations.fields import IF_GIVEN, Flag, Id, Name, SpanFromZero
from cadenza.operations.planning.rule_schemas import SHAPES, AnyStep, EscalationShape, When


def with_milliseconds(words: Mapping[str, str]) -> Callable[[Any], Any]:
    """Put milliseconds in the place of spans such as 20s or 1h30m."""

    def read(value: Any) -> Any:
        if not isinstance(value, Mapping):
            return value
        given = dict(value)
        for word in words.keys() & given.keys():
            if words[word] in given:
                raise FieldError(word, f"{word} and {words[word]} are the same; give one of them.")
            given[words[word]] = milliseconds_of(word, given.pop(word))
        return given

    return read


def milliseconds_of(word: str, value: Any) -> int:
    """A span in milliseconds, or what is wrong with it."""
    try:
        return parse_duration_ms(word, value)
    except InvalidRequest as problem:
        raise FieldError(word, problem.message) from None


def duration_schema(name: str, base: type[Shape], words: Mapping[str, str]) -> type[Shape]:
    """A shape as a schema shows it: with the spans that may stand for its fields."""
    span = Field(default=None, description="A span such as 500ms, 20s, 5m or 1h30m.")
    own = base.model_fields
    fields: dict[str, Any] = {
        field: (Annotated[own[field].annotation, Field(), *own[field].metadata], None)
        for field in words.values()
        if field in own and own[field].is_required()
    }
    fields |= {word: (str | None, span) for word, field in words.items() if field in own}
    return create_model(name, __base__=base, **fields)


STEP = {"interval": "intervalMs", "in": "nextRunInMs", "pause": "pauseMs"}
RULE = {"cooldown": "cooldown_ms"}
ESCALATION = {"after": "after_ms"}
"""Spans as people write them, and the fields that they stand for."""
A_MINUTE_MS = 60_000
STEP_SHORTHANDS = STEP | {"ttl": "ttlMinutes"}
STEP_FIELDS = {tool: SHAPES[kind].model_fields.keys() for tool, kind in STEPS.items()}


def whole_step(value: Any) -> Any:
    """A step with milliseconds in the place of spans, and minutes in that of a ttl."""
    tool = value.get("tool") if isinstance(value, Mapping) else None
    fields = STEP_FIELDS.get(tool, ()) if isinstance(tool, str) else ()
    given = with_milliseconds({word: field for word, field in STEP.items() if field in fields})(value)
    if not isinstance(given, Mapping) or "ttl" not in given or "ttlMinutes" not in fields:
        return given
    if "ttlMinutes" in given:
        raise FieldError("ttl", "ttl and ttlMinutes are the same; give one of them.")
    ttl = milliseconds_of("ttl", given["ttl"]) / A_MINUTE_MS
    if ttl > LONGEST_TTL_MINUTES:
        longest = duration_in_words(LONGEST_TTL_MINUTES * A_MINUTE_MS)
        raise FieldError("ttl", f"ttl must be a span longer than 0 and up to {longest}.")
    rest = {name: part for name, part in given.items() if name != "ttl"}
    return {**rest, "ttlMinutes": ttl}


STEP_WORDS: Any = reduce(
    or_,
    [
        duration_schema(f"{kind.__name__.removesuffix('Shape')}Words", kind, STEP_SHORTHANDS)
        for kind in SHAPES.values()
    ],
)
ConfigStep = Annotated[AnyStep, BeforeValidator(whole_step, json_schema_input_type=STEP_WORDS)]


class WholeEscalation(EscalationShape):
    """What is to be done when an incident has lasted so long."""

    then: ConfigStep


EscalationWords = duration_schema("EscalationWords", WholeEscalation, ESCALATION)
ConfigEscalation = Annotated[
    WholeEscalation,
    BeforeValidator(with_milliseconds(ESCALATION), json_schema_input_type=EscalationWords),
]


class RuleWords(Shape):
    """A rule of a job. What is left out is as usual."""

    id: Id
    name: Name | None = IF_GIVEN
    """If left out, the id."""
    endpoint: Id | None = IF_GIVEN
    """The id of the endpoint it looks at; if left out, it looks at each of the job."""
    when: When
    then: ConfigStep
    relax: ConfigStep | None = IF_GIVEN
    cooldown_ms: SpanFromZero = 0
    once_per_incident: Flag = False
    escalate: Annotated[list[ConfigEscalation], Field(max_length=MOST_ESCALATIONS)] = []
    enabled: Flag | None = IF_GIVEN
    """If left out, it stays as it is; a new rule is enabled."""


RuleWithSpans = duration_schema("RuleWithSpans", RuleWords, RULE)
ConfigRule = Annotated[
    RuleWords, BeforeValidator(with_milliseconds(RULE), json_schema_input_type=RuleWithSpans)
]
ConfigRules = Annotated[list[ConfigRule], Field(max_length=MOST_RULES)]
