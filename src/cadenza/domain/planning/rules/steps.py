"""Steps of rules as calls of tools, and whether they would change anything."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple, assert_never

from cadenza.domain.planning.rules.rule import Clear, Pace, Rest, Rule, RunSoon, Step, Wake
from cadenza.domain.scheduling.baseline import Every
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.hint import SHORTEST_TTL_MINUTES
from cadenza.domain.scheduling.settle import FOR_GOOD
from cadenza.domain.validation import LONGEST_SPAN_MS, iso, milliseconds


class Call(NamedTuple):
    """A tool by its name, with its arguments as they are named on the wire."""

    tool: str
    arguments: Mapping[str, Any]


def effective_interval_ms(endpoint: Endpoint, now: datetime) -> int | None:
    """The interval it runs at: a fresh hint's, or the baseline's; a baseline without one has none."""
    hint = endpoint.interval_hint
    if hint is not None and hint.fresh(now):
        return hint.interval_ms
    return endpoint.baseline.interval_ms if isinstance(endpoint.baseline, Every) else None


def already(step: Step, endpoint: Endpoint, now: datetime) -> bool:
    """Is it so already, and for long enough?

    A pace is, while more than half of the hint is left, or if it is the baseline's own. A pause is, if the
    gate is closed for half as long; to resume or wake what is not paused is nothing; nor is there anything
    to clear without a hint.
    """
    hint = endpoint.interval_hint
    hinted = hint is not None and hint.fresh(now)
    match step:
        case Pace():
            half = milliseconds(round(step.ttl_minutes * 30_000))
            lasting = hint is None or not hinted or hint.expires_at > now + half
            return lasting and effective_interval_ms(endpoint, now) == step.interval_ms
        case RunSoon():
            return False
        case Rest():
            return _rests(endpoint, step.for_ms, now)
        case Wake():
            return not endpoint.paused(now)
        case Clear():
            return not hinted
        case _:
            assert_never(step)


def _rests(endpoint: Endpoint, for_ms: int | None, now: datetime) -> bool:
    if for_ms is None:
        return not endpoint.paused(now)
    return endpoint.paused_until is not None and endpoint.paused_until > now + milliseconds(for_ms // 2)


def calls(step: Step, endpoint: Endpoint, *, rule: Rule, now: datetime) -> list[Call]:
    """The tools that a step calls, each with the rule's name as its reason."""
    reason = rule.name if step.reason is None else f"{rule.name}: {step.reason}"
    return [Call(tool, {**arguments, "reason": reason}) for tool, arguments in _calls(step, endpoint, now)]


def _calls(step: Step, endpoint: Endpoint, now: datetime) -> list[tuple[str, dict[str, Any]]]:
    match step:
        case Pace(interval_ms=interval_ms, ttl_minutes=ttl):
            return [("propose_interval", {"intervalMs": interval_ms, "ttlMinutes": ttl})]
        case RunSoon():
            return [_run_soon(step)]
        case Rest(for_ms=for_ms):
            until = None if for_ms is None else iso(min(now + milliseconds(for_ms), FOR_GOOD))
            return [("pause_until", {"untilIso": until})]
        case Wake():
            # The hint comes first: an endpoint that was resumed before it might run twice, once for each.
            return [_run_soon(step), ("pause_until", {"untilIso": None})]
        case Clear():
            # A hint of the shortest life takes the place of the one that is there; what it
            # asks for never comes before the baseline, to which it hands over at once.
            every = endpoint.baseline.interval_ms if isinstance(endpoint.baseline, Every) else LONGEST_SPAN_MS
            return [("propose_interval", {"intervalMs": every, "ttlMinutes": SHORTEST_TTL_MINUTES})]
        case _:
            assert_never(step)


def _run_soon(step: RunSoon | Wake) -> tuple[str, dict[str, Any]]:
    arguments: dict[str, Any] = {"nextRunInMs": step.in_ms}
    if step.ttl_minutes is not None:
        arguments["ttlMinutes"] = step.ttl_minutes
    return "propose_next_time", arguments
