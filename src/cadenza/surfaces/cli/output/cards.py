"""A job, an endpoint and a plan as people see them."""

from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType

from cadenza.surfaces.cli.output.columns import CANDIDATES
from cadenza.surfaces.cli.output.formatting import (
    Item,
    as_json,
    baseline,
    card,
    moment,
    pairs,
    span,
    state,
    table,
    target,
    text,
    yes,
)


def job_card(job: Any) -> Iterator[RenderableType]:
    """All about a job."""
    yield card(
        {
            "job": job["name"],
            "id": job["id"],
            "description": job["description"],
            "active": yes(job["active"]),
            "applied": yes(job["applied"]),
            "created": moment(job["created_at"]),
        }
    )


def endpoint_card(endpoint: Any) -> Iterator[RenderableType]:
    """All about an endpoint: where it stands, and what its owner wrote."""
    shape, guard = endpoint["target"], endpoint["guard"]
    facts: dict[str, object] = {
        "endpoint": endpoint["name"],
        "id": endpoint["id"],
        "job": endpoint["job_id"],
        "description": endpoint["description"],
        "labels": pairs(endpoint["labels"]),
        "target": target(shape),
        "headers": pairs(shape.get("headers") or {}),
        "body": None if shape.get("body") is None else as_json(shape["body"]),
        "prompt": shape.get("prompt"),
        "baseline": baseline(endpoint["baseline"]),
        "at least": span(guard["min_interval_ms"]),
        "at most": span(guard["max_interval_ms"]),
        "hint mode": endpoint["hint_mode"],
        **_policy(endpoint["policy"]),
        **_standing(endpoint),
    }
    yield card({name: fact for name, fact in facts.items() if fact not in (None, "")})


def _policy(policy: Item) -> dict[str, object]:
    attempts = f"{policy['max_attempts']}, {span(policy['retry_delay_ms'])} apart"
    return {
        "timeout": span(policy["timeout_ms"]),
        "attempts": attempts if policy["max_attempts"] > 1 else 1,
        "misfire": f"{policy['misfire']} when over {span(policy['misfire_grace_ms'])} late",
        "backoff": policy["backoff"],
    }


def _standing(endpoint: Item) -> dict[str, object]:
    interval, one_shot = endpoint["interval_hint"], endpoint["one_shot_hint"]
    return {
        "state": state(endpoint),
        "paused until": moment(endpoint["paused_until"]),
        "paused for": endpoint["pause_reason"],
        "interval hint": interval
        and _hint(f"every {span(interval['interval_ms'])} until {moment(interval['expires_at'])}", interval),
        "one-shot hint": one_shot and _hint(f"at {moment(one_shot['at'])}", one_shot),
        "next run": moment(endpoint["next_run_at"]),
        "source": endpoint["next_source"],
        "last run": moment(endpoint["last_run_at"]),
        "failures": endpoint["failure_count"],
        "created": moment(endpoint["created_at"]),
    }


def _hint(what: str, hint: Item) -> str:
    return f"{what} ({hint['reason']})" if hint["reason"] else what


def plan(view: Any) -> Iterator[RenderableType]:
    """Why the next run is when it is: the answer, then what it was chosen from."""
    yield text(view["answer"])
    chosen = view["governor"]
    candidates = [
        {**one, "mark": "wins" if one["at"] == chosen["next_run_at"] else " "} for one in chosen["candidates"]
    ]
    if candidates:
        yield table(candidates, CANDIDATES)
