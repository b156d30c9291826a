"""What a rule may say."""

from typing import Any

import pytest

from cadenza.domain.errors import InvalidRequest
from cadenza.domain.planning.rules.rule import (
    LONGEST_WHEN,
    MOST_ESCALATIONS,
    STEPS,
    ClearStep,
    Escalation,
    PauseStep,
    ProposeIntervalStep,
    ProposeNextTimeStep,
    Rule,
    Step,
    WakeStep,
)


def a_rule(**fields: Any) -> Rule:
    given: dict[str, Any] = {
        "id": "rule",
        "name": "rule",
        "job_id": "job",
        "when": "true",
        "then": ClearStep(),
    }
    return Rule(**(given | fields))


def at_fault(problem: pytest.ExceptionInfo[InvalidRequest]) -> str | None:
    return problem.value.field


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"when": ""}, "when"),
        ({"when": " \n"}, "when"),
        ({"when": "x" * (LONGEST_WHEN + 1)}, "when"),
        ({"cooldown_ms": -1}, "cooldown_ms"),
        ({"cooldown_ms": True}, "cooldown_ms"),
        ({"escalate": [Escalation(1, ClearStep()), Escalation(1, ClearStep())]}, "escalate"),
        ({"escalate": [Escalation(2, ClearStep()), Escalation(1, ClearStep())]}, "escalate"),
        ({"escalate": [Escalation(n + 1, ClearStep()) for n in range(MOST_ESCALATIONS + 1)]}, "escalate"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_field(fields: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequest) as problem:
        a_rule(**fields)
    assert at_fault(problem) == field


@pytest.mark.parametrize(
    "fields",
    [
        {"when": "x" * LONGEST_WHEN},
        {"cooldown_ms": 0},
        {"escalate": [Escalation(n + 1, ClearStep()) for n in range(MOST_ESCALATIONS)]},
    ],
)
def test_what_is_just_bearable_is_taken(fields: dict[str, Any]) -> None:
    rule = a_rule(**fields)
    for name, value in fields.items():
        assert getattr(rule, name) == (tuple(value) if isinstance(value, list) else value)


@pytest.mark.parametrize(
    ("kind", "fields", "field"),
    [
        (ProposeIntervalStep, {"interval_ms": 0}, "intervalMs"),
        (ProposeIntervalStep, {"interval_ms": 1, "ttl_minutes": 0}, "ttlMinutes"),
        (ProposeIntervalStep, {"interval_ms": 1, "ttl_minutes": 366 * 24 * 60 + 1}, "ttlMinutes"),
        (ProposeIntervalStep, {"interval_ms": 1, "ttl_minutes": True}, "ttlMinutes"),
        (ProposeNextTimeStep, {"in_ms": -1}, "nextRunInMs"),
        (ProposeNextTimeStep, {"in_ms": 60_000, "ttl_minutes": 1}, "ttlMinutes"),
        (ProposeNextTimeStep, {"in_ms": 0, "ttl_minutes": 0}, "ttlMinutes"),
        (WakeStep, {"in_ms": -1}, "nextRunInMs"),
        (WakeStep, {"in_ms": 60_000, "ttl_minutes": 1}, "ttlMinutes"),
        (PauseStep, {"for_ms": 0}, "pauseMs"),
        (ClearStep, {"endpoint": "x" * 201}, "endpoint"),
        (ClearStep, {"reason": "x" * 1_001}, "reason"),
        (WakeStep, {"reason": "x" * 1_001}, "reason"),
        (PauseStep, {"for_ms": None, "reason": "x" * 1_001}, "reason"),
        (ProposeIntervalStep, {"interval_ms": 1, "reason": "x" * 1_001}, "reason"),
        (ProposeNextTimeStep, {"in_ms": 0, "reason": "x" * 1_001}, "reason"),
    ],
)
def test_a_step_is_checked_when_it_is_written(kind: Any, fields: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidRequest) as problem:
        kind(**fields)
    assert at_fault(problem) == field


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        (ProposeIntervalStep, {"interval_ms": 1, "ttl_minutes": 1 / 60_000}),
        (ProposeIntervalStep, {"interval_ms": 1, "ttl_minutes": 366 * 24 * 60}),
        (ProposeNextTimeStep, {"in_ms": 59_999, "ttl_minutes": 1}),
        (ProposeNextTimeStep, {"in_ms": 0}),
        (WakeStep, {"in_ms": 59_999, "ttl_minutes": 1.5}),
        (WakeStep, {}),
        (PauseStep, {"for_ms": 1}),
        (PauseStep, {"for_ms": None}),
        (ClearStep, {"endpoint": "x" * 200, "reason": "x" * 1_000}),
    ],
)
def test_a_step_that_is_just_bearable_is_taken(kind: type[Step], fields: dict[str, Any]) -> None:
    step = kind(**fields)
    assert STEPS[step.tool] is kind
    assert {name: getattr(step, name) for name in fields} == fields


def test_a_rule_concerns_its_endpoint_or_all_of_its_job() -> None:
    assert a_rule().applies_to("any")
    assert a_rule(endpoint_id="one").applies_to("one")
    assert not a_rule(endpoint_id="one").applies_to("other")
    assert not a_rule(enabled=False).applies_to("any")


def test_an_escalation_takes_time() -> None:
    assert Escalation(1, ClearStep()).after_ms == 1
    with pytest.raises(InvalidRequest) as problem:
        Escalation(0, ClearStep())
    assert at_fault(problem) == "after_ms"
