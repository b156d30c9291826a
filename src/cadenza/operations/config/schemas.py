"""A configuration as it stands in a file, in people's words or in those of REST."""

import re
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from cadenza.domain.scheduling.hint import HintMode
from cadenza.operations.config.config_rule_shapes import ConfigRules
from cadenza.operations.config.config_words import IF_SAID, in_milliseconds, milliseconds_of, spoken
from cadenza.operations.fields import Flag, Id, Labels, Name, Text
from cadenza.operations.operation import Command
from cadenza.operations.scheduling.schemas import (
    NO_GUARD,
    USUAL_PLANNING,
    USUAL_POLICY,
    BaselineShape,
    GuardShape,
    PlanningShape,
    PolicyShape,
    Shape,
    TargetShape,
)

MOST_ENDPOINTS = 10_000
INTERVAL = {"interval": "interval_ms"}
GUARD = {"min": "min_interval_ms", "max": "max_interval_ms"}
POLICY = {"timeout": "timeout_ms", "retry_delay": "retry_delay_ms", "misfire_grace": "misfire_grace_ms"}
"""Spans as people write them, and the fields that they stand for."""
SHORT_BASELINE = re.compile(r"(every|cron|once) +(\S.*)")
SHORT_CRON = re.compile(r"(.+?)(?: +in +(\S+))?")


def whole_baseline(value: Any) -> Any:
    """`every 5m`, `cron 0 9 * * 1-5 in Europe/Berlin` and `once 2030-01-31T12:00:00Z`, spelt out."""
    if not isinstance(value, str):
        return in_milliseconds(INTERVAL)(value)
    said = SHORT_BASELINE.fullmatch(value.strip())
    if said is None:
        raise ValueError("must be `every 5m`, `cron */5 * * * *`, `once MOMENT`, or have a kind")
    kind, rest = said.groups()
    if kind == "every":
        return {"kind": kind, "interval_ms": milliseconds_of("every", rest)}
    if kind == "once":
        return {"kind": kind, "at": rest}
    line = SHORT_CRON.fullmatch(rest)
    assert line is not None, "some text is a line"
    return {"kind": kind, "expression": line[1]} | ({"timezone": line[2]} if line[2] else {})


def whole_target(value: Any) -> Any:
    """An address alone is an HTTP target with everything else as usual."""
    return {"kind": "http", "url": value} if isinstance(value, str) else value


GuardWords = spoken("GuardWords", GuardShape, GUARD)
PolicyWords = spoken("PolicyWords", PolicyShape, POLICY)
ConfigBaseline = Annotated[
    BaselineShape, BeforeValidator(whole_baseline, json_schema_input_type=BaselineShape | str)
]
ConfigTarget = Annotated[TargetShape, BeforeValidator(whole_target, json_schema_input_type=TargetShape | str)]
ConfigGuard = Annotated[
    GuardShape, BeforeValidator(in_milliseconds(GUARD), json_schema_input_type=GuardWords)
]
ConfigPolicy = Annotated[
    PolicyShape, BeforeValidator(in_milliseconds(POLICY), json_schema_input_type=PolicyWords)
]


class ConfigEndpoint(Shape):
    """An endpoint of a job. What is left out is as usual; hints and pauses are no part of it."""

    id: Id
    name: Name | None = IF_SAID
    """If left out, the id."""
    description: Text | None = IF_SAID
    target: ConfigTarget
    """A whole target, or the address of an HTTP target."""
    baseline: ConfigBaseline
    """A whole baseline, or `every 5m`, `cron 0 9 * * 1-5 in Europe/Berlin`, `once 2030-01-31T12:00:00Z`."""
    guard: ConfigGuard = NO_GUARD
    policy: ConfigPolicy = USUAL_POLICY
    planning: PlanningShape = USUAL_PLANNING
    hint_mode: HintMode = HintMode.OVERRIDE
    labels: Labels = {}
    enabled: Flag | None = IF_SAID
    """If left out, it stays as it is; a new endpoint is enabled."""


class ConfigJob(Shape):
    """A job with its endpoints and rules."""

    id: Id
    name: Name | None = IF_SAID
    """If left out, the id."""
    description: Text | None = IF_SAID
    active: Flag | None = IF_SAID
    """If left out, it stays as it is; a new job is active."""
    endpoints: Annotated[list[ConfigEndpoint], Field(max_length=MOST_ENDPOINTS)] = []
    rules: ConfigRules = []


class ConfigDocument(Command):
    """A whole configuration file."""

    version: Literal[1]
    jobs: Annotated[list[ConfigJob], Field(max_length=MOST_ENDPOINTS)] = []
