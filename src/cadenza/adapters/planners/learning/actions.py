"""The action that follows from an estimate: an interval hint, a single run, or none."""

from datetime import UTC, datetime, timedelta

from cadenza.adapters.planners.learning.estimator import Estimate, foreign_hint
from cadenza.domain.planning.analysis import ToolRequest
from cadenza.domain.planning.learning.explanation import short_reason
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.hint import LONGEST_TTL_MINUTES, IntervalHint
from cadenza.domain.validation import iso, milliseconds
from cadenza.ports.planning import Briefing

TOLERANCE = 0.1
"""An interval that differs by less is not worth a new hint, nor is a run that is sooner by less."""
TTL_INTERVALS, RENEW_INTERVALS = 8, 2
"""For how many intervals a hint lasts, and how many are left when it is renewed."""
MINUTE_MS = 60_000


def choose_action(briefing: Briefing, estimate: Estimate) -> ToolRequest | None:
    """The tool to call where the planner may steer.

    1. None while the endpoint is paused, or while another origin's hint is in effect.
    2. After a run, an interval hint, unless the one in effect is about the same.
    3. After a sibling's change, a single run, if it is sooner than the next one.
    """
    endpoint, now = briefing.endpoint, briefing.now
    idle = endpoint.paused(now) or not endpoint.enabled
    if estimate.period.shadow or idle or foreign_hint(endpoint, now) is not None:
        return None
    if not estimate.has_new_run:
        return _earlier_run(endpoint, estimate, now)
    wanted_ms = estimate.interval_ms
    if _is_in_effect(endpoint.interval_hint, wanted_ms, now):
        return None
    ttl = min(TTL_INTERVALS * wanted_ms / MINUTE_MS + 1, LONGEST_TTL_MINUTES)
    why = short_reason(estimate.proposal, estimate.period)
    return ToolRequest("propose_interval", {"intervalMs": wanted_ms, "ttlMinutes": ttl, "reason": why})


def _is_in_effect(hint: IntervalHint | None, wanted_ms: int, now: datetime) -> bool:
    """Whether such a hint is in effect already, and for long enough."""
    if hint is None or hint.expires_at - now < milliseconds(RENEW_INTERVALS * wanted_ms):
        return False
    return abs(hint.interval_ms - wanted_ms) <= TOLERANCE * wanted_ms


def _earlier_run(endpoint: Endpoint, estimate: Estimate, now: datetime) -> ToolRequest | None:
    """A single earlier run; a pending one-shot hint is not replaced."""
    pending, next_run_at = endpoint.one_shot_hint, endpoint.next_run_at
    if next_run_at is None or (pending is not None and not pending.served(endpoint.last_run_at, now)):
        return None
    last_run_at = datetime.fromtimestamp(estimate.state.model.at_s or 0.0, UTC)
    at = max(last_run_at + milliseconds(estimate.interval_ms), now)
    if at + TOLERANCE * timedelta(seconds=estimate.period.seconds) >= next_run_at:
        return None
    return ToolRequest(
        "propose_next_time",
        {"nextRunAtIso": iso(at), "reason": short_reason(estimate.proposal, estimate.period)},
    )
