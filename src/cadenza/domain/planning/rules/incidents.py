"""What a rule does about what it sees: incidents that begin, last, escalate and end."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from cadenza.domain.planning.rules.rule import Rule, Step
from cadenza.domain.scheduling.target import Json
from cadenza.domain.validation import iso, milliseconds

NOTES_OF = "rules"
MOMENTS = ("began_at", "fired_at")


class Memory(NamedTuple):
    """What a rule remembers of one endpoint."""

    began_at: datetime | None = None
    """When the incident began; None while there is none."""
    fired_at: datetime | None = None
    """When `then` last fired, in this incident or an earlier one."""
    fired: bool = False
    """Did it fire in this incident?"""
    escalated: int = 0
    """How many steps of the escalation are done."""
    trouble: str | None = None
    """Why the condition could not be told when it was last looked at."""


UNTOUCHED = Memory()


class Decision(NamedTuple):
    """What a rule does now, what it remembers, and when it has to look again though nothing happens."""

    steps: tuple[Step, ...]
    memory: Memory
    look_again_at: datetime | None = None


class Sight(NamedTuple):
    """What a rule sees."""

    now: datetime
    holds: bool | None
    """Whether its condition holds; None if that cannot be told."""
    trouble: str | None = None
    """Why not."""


def decide(rule: Rule, sight: Sight, memory: Memory, *, done: Callable[[Step], bool]) -> Decision:
    """Decide what to do; `done` tells whether a step would change nothing.

    1. A condition that holds begins an incident; one that does not ends it, and relaxes.
       One that cannot be told does neither: no news is no recovery.
    2. While the condition holds, `then` fires: after its cooldown, once if once is enough,
       and only if it would change something.
    3. While the incident lasts, each step of the escalation fires once, when its time has come.
    4. Look again when the cooldown or the next step's time is over.
    """
    seen = memory._replace(trouble=sight.trouble)
    if sight.holds is False:
        over = seen._replace(began_at=None, fired=False, escalated=0)
        relaxed = [rule.relax] if memory.began_at is not None and rule.relax is not None else []
        return Decision(_undone(relaxed, done), over)
    if sight.holds and seen.began_at is None:
        seen = seen._replace(began_at=sight.now)
    return Decision((), seen) if seen.began_at is None else _lasting(rule, sight, seen, done=done)


def _lasting(rule: Rule, sight: Sight, memory: Memory, *, done: Callable[[Step], bool]) -> Decision:
    now, steps = sight.now, []
    if sight.holds and _may_fire(rule, memory, now) and not done(rule.then):
        steps.append(rule.then)
        memory = memory._replace(fired=True, fired_at=now)
    due = max(_escalations_due(rule, memory, now), memory.escalated)
    steps += _undone([one.then for one in rule.escalate[memory.escalated : due]], done)
    after = memory._replace(escalated=due)
    return Decision(tuple(steps), after, _look_again_at(rule, after, now))


def written(memories: Mapping[str, Memory]) -> Json:
    """What rules remember, by their ids, as a planner's note."""
    return {rule_id: _noted(memory) for rule_id, memory in memories.items()}


def recalled(note: Any) -> dict[str, Memory]:
    """What rules remember, from such a note; None if there is none yet."""
    return {rule_id: _recalled(one) for rule_id, one in (note or {}).items()}


def _noted(memory: Memory) -> Json:
    kept = {name: part for name, part in memory._asdict().items() if part}
    return {name: iso(part) if isinstance(part, datetime) else part for name, part in kept.items()}


def _recalled(note: Mapping[str, Any]) -> Memory:
    known = {name: part for name, part in note.items() if name in Memory._fields}
    moments: dict[str, Any] = {name: datetime.fromisoformat(known[name]) for name in MOMENTS if name in known}
    return Memory(**(known | moments))


def _may_fire(rule: Rule, memory: Memory, now: datetime) -> bool:
    if rule.once_per_incident and memory.fired:
        return False
    return memory.fired_at is None or now >= memory.fired_at + milliseconds(rule.cooldown_ms)


def _escalations_due(rule: Rule, memory: Memory, now: datetime) -> int:
    return sum(moment <= now for moment in _escalation_moments(rule, memory))


def _escalation_moments(rule: Rule, memory: Memory) -> list[datetime]:
    if memory.began_at is None:
        return []
    return [memory.began_at + milliseconds(one.after_ms) for one in rule.escalate]


def _look_again_at(rule: Rule, memory: Memory, now: datetime) -> datetime | None:
    moments = _escalation_moments(rule, memory)
    if memory.fired_at is not None and not (rule.once_per_incident and memory.fired):
        moments.append(memory.fired_at + milliseconds(rule.cooldown_ms))
    return min((moment for moment in moments if moment > now), default=None)


def _undone(steps: list[Step], done: Callable[[Step], bool]) -> tuple[Step, ...]:
    return tuple(step for step in steps if not done(step))
