"""A briefing as a model reads it: facts, and what endpoints answered, quoted so that it stays a quotation."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from cadenza.domain.planning.health import Health
from cadenza.domain.scheduling.baseline import Baseline, Cron, Every, Once
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.run import Run
from cadenza.domain.validation import iso
from cadenza.ports.planning import Briefing

MOST_RUNS = 20
LONGEST_RESPONSE = 2_000
LONGEST_ERROR = 300
OWN_SHARE = 0.6
"""How much of the room belongs to the endpoint's own responses; the rest is for its siblings'."""


def told(briefing: Briefing, *, room: int) -> str:
    """The whole briefing; responses take up no more characters than there is room for."""
    own = runs_told(briefing.recent[:MOST_RUNS], room=int(room * OWN_SHARE))
    left = max(room - int(room * OWN_SHARE), 0)
    latest = {name: run for name, run in briefing.latest.items() if name in briefing.siblings}
    told_latest = runs_told(list(latest.values()), room=left)
    facts = {
        "now": iso(briefing.now),
        "why_now": briefing.trigger,
        "endpoint": endpoint_told(briefing.endpoint),
        "health": health_told(briefing.health),
        "siblings": [endpoint_told(sibling) for sibling in briefing.siblings.values()],
    }
    answers = {"recent_runs": own, "latest_run_of_siblings": dict(zip(latest, told_latest, strict=True))}
    return f"<facts>\n{quoted_json(facts)}\n</facts>\n<responses>\n{quoted_json(answers)}\n</responses>"


def quoted_json(value: Any) -> str:
    """JSON in which no angle bracket stands, so that no text in it can end the block around it."""
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return written.replace("<", "\\u003c").replace(">", "\\u003e")


def runs_told(runs: Sequence[Run], *, room: int) -> list[dict[str, Any]]:
    """Runs with their responses; when the room is used up, the rest come without."""
    said: list[dict[str, Any]] = []
    for run in runs:
        response = response_told(run, most=min(LONGEST_RESPONSE, max(room, 0)))
        room -= len(quoted_json(response))
        said.append(_run_told(run) | {"response": response})
    return said


def response_told(run: Run, *, most: int) -> Any:
    """A response as it is or, if it is too long, the beginning of it as a text."""
    whole = quoted_json(run.response)
    if len(whole) <= most:
        return run.response
    return f"{whole[:most]} … (cut: {len(whole)} characters)" if most else "(left out)"


def endpoint_told(endpoint: Endpoint) -> dict[str, Any]:
    """An endpoint with everything that steers it; what is not set is left out."""
    interval, one_shot = endpoint.interval_hint, endpoint.one_shot_hint
    guard = endpoint.effective_guard
    facts = {
        "name": endpoint.name,
        "description": endpoint.description,
        "labels": dict(endpoint.labels) or None,
        "baseline": _baseline_told(endpoint.baseline),
        "min_interval_ms": guard.min_interval_ms,
        "max_interval_ms": guard.max_interval_ms,
        "hint_mode": endpoint.hint_mode,
        "interval_hint": interval and _hint_told(intervalMs=interval.interval_ms, hint=interval),
        "one_shot_hint": one_shot and _hint_told(at=iso(one_shot.at), hint=one_shot),
        "paused_until": endpoint.paused_until and iso(endpoint.paused_until),
        "pause_reason": endpoint.pause_reason,
        "last_run_at": endpoint.last_run_at and iso(endpoint.last_run_at),
        "next_run_at": endpoint.next_run_at and iso(endpoint.next_run_at),
        "next_source": endpoint.next_source,
        "failures_in_a_row": endpoint.failure_count,
    }
    return {name: value for name, value in facts.items() if value is not None}


def health_told(windows: Sequence[Health]) -> list[dict[str, Any]]:
    """Health, window by window."""
    return [window._asdict() for window in windows]


def _hint_told(*, hint: Any, **what: Any) -> Mapping[str, Any]:
    return {**what, "expires_at": iso(hint.expires_at), "reason": hint.reason}


def _baseline_told(baseline: Baseline) -> dict[str, Any]:
    match baseline:
        case Every(interval_ms=interval_ms):
            return {"every_ms": interval_ms}
        case Cron(expression=expression, timezone=timezone):
            return {"cron": expression, "timezone": timezone}
        case Once(at=at):
            return {"once_at": iso(at)}


def _run_told(run: Run) -> dict[str, Any]:
    facts = {
        "at": iso(run.started_at or run.due_at),
        "status": run.status,
        "source": run.source,
        "duration_ms": run.duration_ms,
        "late_ms": run.late_ms or None,
        "error": run.error and run.error[:LONGEST_ERROR],
        "reason": run.reason and run.reason[:LONGEST_ERROR],
    }
    return {name: value for name, value in facts.items() if value is not None}
