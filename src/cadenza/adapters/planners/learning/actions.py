"""What the learning planner does about a thought: a hint, a single look, or nothing."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from cadenza.adapters.planners.learning.cache import Hand, Memory
from cadenza.adapters.planners.learning.estimator import Thought
from cadenza.domain.planning.learning.explanation import reason
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.hint import LONGEST_TTL_MINUTES, IntervalHint
from cadenza.domain.validation import iso, milliseconds
from cadenza.ports.planning import Briefing

ALIKE = 0.1
"""An interval that differs by less is not worth a new hint, nor is a look that is sooner by less."""
LASTS, LEFT = 8, 2
"""For how many intervals a hint lasts, and how many are left when it is renewed."""
MINUTE_MS = 60_000


class Step(NamedTuple):
    """A tool to call."""

    tool: str
    arguments: Mapping[str, Any]


def step(briefing: Briefing, thought: Thought) -> Step | None:
    """What to do, where the planner may steer.

    1. Nothing while the endpoint is paused, and nothing beside somebody else's hint.
    2. After a look, an interval hint, unless the one that holds is about the same.
    3. After a sibling's change, a single look, if it is sooner than the next one.
    """
    endpoint, now = briefing.endpoint, briefing.now
    idle = endpoint.paused(now) or not endpoint.enabled
    if thought.beat.shadow or idle or foreign(endpoint, thought.memory, now):
        return None
    if not thought.looked:
        return _sooner(endpoint, thought, now)
    wanted_ms = thought.interval_ms
    if _holds(endpoint.interval_hint, wanted_ms, now):
        return None
    ttl = min(LASTS * wanted_ms / MINUTE_MS + 1, LONGEST_TTL_MINUTES)
    why = reason(thought.proposal, thought.beat)
    return Step("propose_interval", {"intervalMs": wanted_ms, "ttlMinutes": ttl, "reason": why})


def foreign(endpoint: Endpoint, memory: Memory, now: datetime) -> bool:
    """Does somebody else's hint hold?"""
    hint = endpoint.interval_hint
    return hint is not None and hint.fresh(now) and Hand.of(hint) != memory.mine


def _holds(hint: IntervalHint | None, wanted_ms: int, now: datetime) -> bool:
    """Is there such a hint already, for a while yet?"""
    if hint is None or hint.expires_at - now < milliseconds(LEFT * wanted_ms):
        return False
    return abs(hint.interval_ms - wanted_ms) <= ALIKE * wanted_ms


def _sooner(endpoint: Endpoint, thought: Thought, now: datetime) -> Step | None:
    """Once, and not in place of a one-shot that somebody waits for."""
    pending, next_run_at = endpoint.one_shot_hint, endpoint.next_run_at
    if next_run_at is None or (pending is not None and not pending.served(endpoint.last_run_at)):
        return None
    looked_at = datetime.fromtimestamp(thought.memory.known.at_s or 0.0, UTC)
    at = max(looked_at + milliseconds(thought.interval_ms), now)
    if at + ALIKE * timedelta(seconds=thought.beat.seconds) >= next_run_at:
        return None
    return Step(
        "propose_next_time", {"nextRunAtIso": iso(at), "reason": reason(thought.proposal, thought.beat)}
    )
