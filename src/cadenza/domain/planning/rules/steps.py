"""The tool calls that a rule's step makes, and whether they would change anything."""

from datetime import datetime
from typing import Any, assert_never

from cadenza.domain.planning.analysis import ToolRequest
from cadenza.domain.planning.rules.rule import (
    ClearStep,
    PauseStep,
    ProposeIntervalStep,
    ProposeNextTimeStep,
    Rule,
    Step,
    WakeStep,
)
from cadenza.domain.scheduling.baseline import interval_at
from cadenza.domain.scheduling.due import FOREVER
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.hint import SHORTEST_TTL_MINUTES, HintKind, why_not_applied
from cadenza.domain.scheduling.slots import cadence_ms
from cadenza.domain.validation import LONGEST_SPAN_MS, iso, milliseconds


def has_no_effect(step: Step, endpoint: Endpoint, now: datetime) -> bool:
    """Whether a step would change nothing, because the endpoint is in that state already for long enough.

    - an interval: more than half of such a hint's time is left, or without a hint it runs so anyway;
    - a pause: the endpoint is paused for at least half as long;
    - resume or wake: it is not paused;
    - clear: there is no hint.
    """
    hint = endpoint.interval_hint
    has_hint = hint is not None and hint.fresh(now)
    match step:
        case ProposeIntervalStep():
            half = milliseconds(round(step.ttl_minutes * 30_000))
            if hint is None or not has_hint:
                return cadence_ms(endpoint, now) == step.interval_ms
            return hint.expires_at > now + half and hint.interval_ms == step.interval_ms
        case ProposeNextTimeStep():
            return False
        case PauseStep():
            return _is_paused_for(endpoint, step.for_ms, now)
        case WakeStep():
            return not endpoint.paused(now)
        case ClearStep():
            return not has_hint
        case _:
            assert_never(step)


KINDS: dict[type[Step], HintKind] = {
    ProposeIntervalStep: HintKind.INTERVAL,
    ProposeNextTimeStep: HintKind.ONE_SHOT,
    ClearStep: HintKind.INTERVAL,
    WakeStep: HintKind.RESUME,
}


def is_outranked(step: Step, endpoint: Endpoint, *, rule: Rule, now: datetime) -> bool:
    """Whether a step would not be applied, because what is in force has a higher rank than the rule."""
    resumes = isinstance(step, PauseStep) and step.for_ms is None
    kind = KINDS.get(type(step), HintKind.RESUME if resumes else HintKind.PAUSE)
    return why_not_applied(endpoint.in_force(now), kind, rule.origin) is not None


def _is_paused_for(endpoint: Endpoint, for_ms: int | None, now: datetime) -> bool:
    if for_ms is None:
        return not endpoint.paused(now)
    return endpoint.paused_until is not None and endpoint.paused_until > now + milliseconds(for_ms // 2)


def tool_requests(step: Step, endpoint: Endpoint, *, rule: Rule, now: datetime) -> list[ToolRequest]:
    """The tools that a step calls, each with the rule's name as its reason."""
    reason = rule.name if step.reason is None else f"{rule.name}: {step.reason}"
    return [
        ToolRequest(tool, {**arguments, "reason": reason})
        for tool, arguments in _requests(step, endpoint, now)
    ]


def _requests(step: Step, endpoint: Endpoint, now: datetime) -> list[tuple[str, dict[str, Any]]]:
    match step:
        case ProposeIntervalStep(interval_ms=interval_ms, ttl_minutes=ttl):
            return [("propose_interval", {"intervalMs": interval_ms, "ttlMinutes": ttl})]
        case ProposeNextTimeStep():
            return [_run_soon(step)]
        case PauseStep(for_ms=for_ms):
            until = None if for_ms is None else iso(min(now + milliseconds(for_ms), FOREVER))
            return [("pause_until", {"untilIso": until})]
        case WakeStep():
            # The hint comes first: an endpoint that was resumed before it might run twice, once for each.
            return [_run_soon(step), ("pause_until", {"untilIso": None})]
        case ClearStep():
            # A hint of the shortest TTL replaces the one that is there; its
            # interval is no shorter than the baseline's, which takes over at once.
            every = interval_at(endpoint.baseline, now) or LONGEST_SPAN_MS
            return [("propose_interval", {"intervalMs": every, "ttlMinutes": SHORTEST_TTL_MINUTES})]
        case _:
            assert_never(step)


def _run_soon(step: ProposeNextTimeStep | WakeStep) -> tuple[str, dict[str, Any]]:
    arguments: dict[str, Any] = {"nextRunInMs": step.in_ms}
    if step.ttl_minutes is not None:
        arguments["ttlMinutes"] = step.ttl_minutes
    return "propose_next_time", arguments
