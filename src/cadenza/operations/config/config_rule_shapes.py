"""Rules as they stand in a file, in people's words or in those of REST."""

from collections.abc import Mapping
from functools import reduce
from operator import or_
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from cadenza.domain.planning.rules.rule import MOST_ESCALATIONS, MOST_RULES
from cadenza.operations.config.config_words import IF_SAID, in_milliseconds, milliseconds_of, spoken
from cadenza.operations.fields import Flag, Id, Name, SpanOrNone
from cadenza.operations.planning.rule_schemas import SHAPES, AnyStep, EscalationShape, When
from cadenza.operations.scheduling.schemas import Shape

STEP = {"interval": "intervalMs", "in": "nextRunInMs", "pause": "pauseMs"}
RULE = {"cooldown": "cooldown_ms"}
ESCALATION = {"after": "after_ms"}
"""Spans as people write them, and the fields that they stand for."""
A_MINUTE_MS = 60_000


def whole_step(value: Any) -> Any:
    """A step with milliseconds in the place of spans, and minutes in that of a ttl."""
    given = in_milliseconds(STEP)(value)
    if not isinstance(given, Mapping) or "ttl" not in given:
        return given
    if "ttlMinutes" in given:
        raise ValueError("takes ttl or ttlMinutes, not both")
    rest = {name: part for name, part in given.items() if name != "ttl"}
    return {**rest, "ttlMinutes": milliseconds_of("ttl", given["ttl"]) / A_MINUTE_MS}


STEP_WORDS: Any = reduce(
    or_,
    [
        spoken(f"{kind.__name__.removesuffix('Shape')}Words", kind, STEP | {"ttl": "ttlMinutes"})
        for kind in SHAPES.values()
    ],
)
ConfigStep = Annotated[AnyStep, BeforeValidator(whole_step, json_schema_input_type=STEP_WORDS)]


class WholeEscalation(EscalationShape):
    """What is to be done when an incident has lasted so long."""

    then: ConfigStep


ConfigEscalation = Annotated[WholeEscalation, BeforeValidator(in_milliseconds(ESCALATION))]


class RuleWords(Shape):
    """A rule of a job. What is left out is as usual."""

    id: Id
    name: Name | None = IF_SAID
    """If left out, the id."""
    endpoint: Id | None = IF_SAID
    """The id of the endpoint it looks at; if left out, it looks at each of the job."""
    when: When
    then: ConfigStep
    relax: ConfigStep | None = IF_SAID
    cooldown_ms: SpanOrNone = 0
    once_per_incident: Flag = False
    escalate: Annotated[list[ConfigEscalation], Field(max_length=MOST_ESCALATIONS)] = []
    enabled: Flag | None = IF_SAID
    """If left out, it stays as it is; a new rule is enabled."""


ConfigRule = Annotated[RuleWords, BeforeValidator(in_milliseconds(RULE))]
ConfigRules = Annotated[list[ConfigRule], Field(max_length=MOST_RULES)]
