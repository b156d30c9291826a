"""A briefing as text for a model; responses are quoted so that they cannot end their quotation."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, assert_never

from cadenza.domain.planning.health import HealthSummary
from cadenza.domain.scheduling.baseline import Baseline, Cron, DayParts, Every, Once
from cadenza.domain.scheduling.calendars.wording import rules_in_words
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.run import Run
from cadenza.domain.validation import iso
from cadenza.ports.planning import Briefing

MOST_RUNS = 20
LONGEST_RESPONSE = 2_000
LONGEST_ERROR = 300
OWN_SHARE = 0.6
"""The share of characters for the endpoint's own responses; the rest is for its siblings'."""


def briefing_text(briefing: Briefing, *, most_characters: int) -> str:
    """The whole briefing; responses take at most `most_characters`."""
    own = runs_data(briefing.recent[:MOST_RUNS], most_characters=int(most_characters * OWN_SHARE))
    left = max(most_characters - int(most_characters * OWN_SHARE), 0)
    latest = {name: run for name, run in briefing.latest.items() if name in briefing.siblings}
    latest_data = runs_data(list(latest.values()), most_characters=left)
    facts = {
        "now": iso(briefing.now),
        "why_now": briefing.trigger,
        "endpoint": endpoint_data(briefing.endpoint),
        "health": health_data(briefing.health),
        "siblings": [endpoint_data(sibling) for sibling in briefing.siblings.values()],
    }
    answers = {"recent_runs": own, "latest_run_of_siblings": dict(zip(latest, latest_data, strict=True))}
    return f"<facts>\n{quoted_json(facts)}\n</facts>\n<responses>\n{quoted_json(answers)}\n</responses>"


def quoted_json(value: Any) -> str:
    """JSON without angle brackets, so that no text in it can end the block around it."""
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
    return written.replace("<", "\\u003c").replace(">", "\\u003e")


def runs_data(runs: Sequence[Run], *, most_characters: int) -> list[dict[str, Any]]:
    """Runs with their responses, as long as characters are left; the others without."""
    data: list[dict[str, Any]] = []
    for run in runs:
        response = response_data(run, most=min(LONGEST_RESPONSE, max(most_characters, 0)))
        most_characters -= len(quoted_json(response))
        data.append(_run_data(run) | {"response": response})
    return data


def response_data(run: Run, *, most: int) -> Any:
    """A response as it is or, if it is too long, its beginning as text."""
    whole = quoted_json(run.response)
    if len(whole) <= most:
        return run.response
    return f"{whole[:most]} … (cut: {len(whole)} characters)" if most else "(left out)"


def endpoint_data(endpoint: Endpoint) -> dict[str, Any]:
    """An endpoint with everything that determines its schedule; unset fields are left out."""
    interval, one_shot = endpoint.interval_hint, endpoint.one_shot_hint
    guard = endpoint.effective_guard
    facts = {
        "name": endpoint.name,
        "description": endpoint.description,
        "labels": dict(endpoint.labels) or None,
        "baseline": _baseline_data(endpoint.baseline),
        "calendars": " ".join(rules_in_words(endpoint.calendar_rules)) or None,
        "min_interval_ms": guard.min_interval_ms,
        "max_interval_ms": guard.max_interval_ms,
        "hint_mode": endpoint.hint_mode,
        "llm": endpoint.planning.llm,
        "interval_hint": interval and _hint_data(intervalMs=interval.interval_ms, hint=interval),
        "one_shot_hint": one_shot and _hint_data(at=iso(one_shot.at), hint=one_shot),
        "paused_until": endpoint.paused_until and iso(endpoint.paused_until),
        "pause_reason": endpoint.pause_reason,
        "last_run_at": endpoint.last_run_at and iso(endpoint.last_run_at),
        "next_run_at": endpoint.next_run_at and iso(endpoint.next_run_at),
        "next_source": endpoint.next_source,
        "failures_in_a_row": endpoint.failure_count,
    }
    return {name: value for name, value in facts.items() if value is not None}


def health_data(windows: Sequence[HealthSummary]) -> list[dict[str, Any]]:
    """Health, window by window."""
    return [window._asdict() for window in windows]


def _hint_data(*, hint: Any, **what: Any) -> Mapping[str, Any]:
    return {**what, "expires_at": iso(hint.expires_at), "reason": hint.reason}


def _baseline_data(baseline: Baseline) -> dict[str, Any]:
    match baseline:
        case Every(interval_ms=interval_ms):
            return {"every_ms": interval_ms}
        case Cron(expression=expression, timezone=timezone):
            return {"cron": expression, "timezone": timezone}
        case Once(at=at):
            return {"once_at": iso(at)}
        case DayParts(parts=parts, otherwise=otherwise):
            in_parts = [{"during": one.calendar.id, **_baseline_data(one.cadence)} for one in parts]
            return {"day_parts": in_parts, "otherwise": _baseline_data(otherwise)}
    assert_never(baseline)


def _run_data(run: Run) -> dict[str, Any]:
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
