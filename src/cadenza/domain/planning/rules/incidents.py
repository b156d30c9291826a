"""What a rule does about its condition: incidents that begin, last, escalate and end."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from cadenza.domain.json_values import Json
from cadenza.domain.planning.rules.rule import Rule, Step
from cadenza.domain.validation import iso, milliseconds

PLANNER = "rules"
"""The name under which the rules' analyses, hints and notes are recorded."""
MOMENTS = ("began_at", "fired_at")
StepCheck = Callable[[Step], bool]


class IncidentState(NamedTuple):
    """What a rule keeps about one endpoint between analyses."""

    began_at: datetime | None = None
    """When the incident began; None while there is none."""
    fired_at: datetime | None = None
    """When `then` last fired, in this incident or an earlier one."""
    fired: bool = False
    """Whether `then` fired in this incident."""
    escalated: int = 0
    """How many steps of the escalation are done."""
    trouble: str | None = None
    """Why the condition could not be evaluated the last time."""
    outranked: bool = False
    """Whether `then` was called and not applied, because a person had decided otherwise."""


NO_INCIDENT = IncidentState()


class RuleDecision(NamedTuple):
    """The steps to take now, the new state, and when to decide again even if nothing happens."""

    steps: tuple[Step, ...]
    state: IncidentState
    look_again_at: datetime | None = None


class Evaluation(NamedTuple):
    """Whether a condition holds; None if it cannot be evaluated, with the reason in `trouble`."""

    holds: bool | None
    trouble: str | None = None


def decide(
    rule: Rule,
    state: IncidentState,
    evaluation: Evaluation,
    *,
    now: datetime,
    has_no_effect: StepCheck,
    is_outranked: StepCheck,
) -> RuleDecision:
    """Decide what to do; the checks say whether a step would change nothing, or not be applied.

    1. A condition that holds begins an incident; one that does not hold ends it, and relaxes.
       One that cannot be evaluated does neither: missing data is not a recovery.
    2. While the condition holds, `then` fires: after its cooldown, once if once is enough,
       and only if it would change something. Where a higher rank decided otherwise, it is called once,
       which is recorded, and counts as not fired: it fires when that decision is over.
    3. While the incident lasts, each step of the escalation fires once, when its time has come.
    4. Decide again when the cooldown or the next step's time is over.
    """
    after = state._replace(trouble=evaluation.trouble)
    if evaluation.holds is False:
        over = after._replace(began_at=None, fired=False, escalated=0, outranked=False)
        relax = [rule.relax] if state.began_at is not None and rule.relax is not None else []
        return RuleDecision(_effective(relax, has_no_effect), over)
    if evaluation.holds and after.began_at is None:
        after = after._replace(began_at=now)
    if after.began_at is None:
        return RuleDecision((), after)
    steps: list[Step] = []
    if evaluation.holds and _may_fire(rule, after, now) and not has_no_effect(rule.then):
        outranked = is_outranked(rule.then)
        steps = [] if outranked and after.outranked else [rule.then]
        after = after._replace(outranked=outranked)
        if not outranked:
            after = after._replace(fired=True, fired_at=now)
    return _with_escalation(rule, after, steps, now=now, has_no_effect=has_no_effect)


def _with_escalation(
    rule: Rule, state: IncidentState, steps: list[Step], *, now: datetime, has_no_effect: StepCheck
) -> RuleDecision:
    due = max(_escalations_due(rule, state, now), state.escalated)
    steps += _effective([one.then for one in rule.escalate[state.escalated : due]], has_no_effect)
    after = state._replace(escalated=due)
    return RuleDecision(tuple(steps), after, _look_again_at(rule, after, now))


def states_to_note(states: Mapping[str, IncidentState]) -> Json:
    """The states of rules, by rule id, as a planner's note."""
    return {rule_id: _state_to_note(state) for rule_id, state in states.items()}


def states_from_note(note: Any) -> dict[str, IncidentState]:
    """The states of rules from such a note; empty if there is no note yet."""
    return {rule_id: _state_from_note(one) for rule_id, one in (note or {}).items()}


def _state_to_note(state: IncidentState) -> Json:
    fields = {name: part for name, part in state._asdict().items() if part}
    return {name: iso(part) if isinstance(part, datetime) else part for name, part in fields.items()}


def _state_from_note(note: Mapping[str, Any]) -> IncidentState:
    fields = {name: part for name, part in note.items() if name in IncidentState._fields}
    moments: dict[str, Any] = {
        name: datetime.fromisoformat(fields[name]) for name in MOMENTS if name in fields
    }
    return IncidentState(**(fields | moments))


def _may_fire(rule: Rule, state: IncidentState, now: datetime) -> bool:
    if rule.once_per_incident and state.fired:
        return False
    return state.fired_at is None or now >= state.fired_at + milliseconds(rule.cooldown_ms)


def _escalations_due(rule: Rule, state: IncidentState, now: datetime) -> int:
    return sum(moment <= now for moment in _escalation_moments(rule, state))


def _escalation_moments(rule: Rule, state: IncidentState) -> list[datetime]:
    if state.began_at is None:
        return []
    return [state.began_at + milliseconds(one.after_ms) for one in rule.escalate]


def _look_again_at(rule: Rule, state: IncidentState, now: datetime) -> datetime | None:
    moments = _escalation_moments(rule, state)
    if state.fired_at is not None and not (rule.once_per_incident and state.fired):
        moments.append(state.fired_at + milliseconds(rule.cooldown_ms))
    return min((moment for moment in moments if moment > now), default=None)


def _effective(steps: list[Step], has_no_effect: StepCheck) -> tuple[Step, ...]:
    return tuple(step for step in steps if not has_no_effect(step))
