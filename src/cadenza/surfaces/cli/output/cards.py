"""One thing as people see it: a job, an endpoint, a plan, a rule, a user, an agent, a key."""

from collections.abc import Iterator
from typing import Any

from cadenza.domain.scheduling.abandon import TRIAL_WORDS
from cadenza.domain.text_patterns import visible
from cadenza.surfaces.cli.output.columns import CANDIDATES, USER_CHANNELS, route_match, rule_step
from cadenza.surfaces.cli.output.formatting import (
    Item,
    Part,
    as_json,
    baseline,
    calendar_words,
    card,
    job_calendar_words,
    many,
    moment,
    pairs,
    span,
    state,
    table,
    target,
    text,
    yes,
)
from cadenza.surfaces.cli.output.layout import Paragraph


def job_card(job: Any) -> Iterator[Part]:
    """All about a job, after what is to be known about the call."""
    if job["note"]:
        yield text(job["note"])
    yield card(
        {
            "job": job["name"],
            "id": job["id"],
            "description": job["description"],
            "calendar": job_calendar_words(job["calendar"]),
            "active": yes(job["active"]),
            "paused by": job["pause_origin"],
            "applied": yes(job["applied"]),
            "created": moment(job["created_at"]),
            "metadata": as_json(job["metadata"]) if job["metadata"] else None,
        }
    )


def endpoint_card(endpoint: Any) -> Iterator[Part]:
    """All about an endpoint: where it stands, and what its owner wrote."""
    if endpoint["note"]:
        yield text(endpoint["note"])
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
        "maximum run time": span(shape["max_run_ms"]) if shape.get("max_run_ms") else None,
        "baseline": baseline(endpoint["baseline"]),
        "minimum interval": span(guard["min_interval_ms"]),
        "maximum interval": span(guard["max_interval_ms"]),
        "calendar": calendar_words(endpoint["calendar"]),
        "hint mode": endpoint["hint_mode"],
        "severity": endpoint["severity"],
        "parent": endpoint["parent_id"],
        "priority": endpoint["priority"] or None,
        "limit key": endpoint["limit_key"],
        "limited by": ", ".join(endpoint["limited_by"]),
        **_policy(endpoint["policy"]),
        **_standing(endpoint),
    }
    yield card({name: fact for name, fact in facts.items() if fact not in (None, "")})


def _policy(policy: Item) -> dict[str, object]:
    attempts = f"{policy['max_attempts']}, {span(policy['retry_delay_ms'])} apart"
    return {
        "timeout": span(policy["timeout_ms"]),
        "attempts": attempts if policy["max_attempts"] > 1 else 1,
        "misfire": f"{policy['misfire']} if more than {span(policy['misfire_grace_ms'])} late",
        "backoff": policy["backoff"],
    }


def _standing(endpoint: Item) -> dict[str, object]:
    interval, one_shot = endpoint["interval_hint"], endpoint["one_shot_hint"]
    return {
        "state": state(endpoint),
        "paused until": moment(endpoint["paused_until"]),
        "pause reason": endpoint["pause_reason"],
        "interval hint": interval
        and _hint(f"every {span(interval['interval_ms'])} until {moment(interval['expires_at'])}", interval),
        "one-shot hint": one_shot and _hint(f"at {moment(one_shot['at'])}", one_shot),
        "next run": moment(endpoint["next_run_at"]),
        "source": endpoint["next_source"],
        "last run": moment(endpoint["last_run_at"]),
        "failures": endpoint["failure_count"],
        "suspect": _suspect(endpoint),
        "created": moment(endpoint["created_at"]),
    }


def _suspect(endpoint: Item) -> str | None:
    if not endpoint.get("suspect"):
        return None
    deaths = f"its worker process died {many(endpoint['abandoned_count'], 'time')} during a run"
    alone = endpoint["abandoned_alone_count"]
    words = f"{deaths}, {many(alone, 'time')} alone" if alone else deaths
    return f"{words}; runs {TRIAL_WORDS[endpoint['suspect']]}"


def _hint(what: str, hint: Item) -> str:
    return f"{what} ({hint['by']}{', ' + hint['reason'] if hint['reason'] else ''})"


def plan(view: Any) -> Iterator[Part]:
    """Why the next run is when it is: the answer, then what it was chosen from."""
    yield text(view["answer"])
    winner = {"at": view["next_run_at"], "source": view["source"]}
    candidates = [
        {**one, "mark": "selected" if one == winner else " "} for one in view["governor"]["candidates"]
    ]
    if candidates:
        yield table(candidates, CANDIDATES)


def rule_card(rule: Any) -> Iterator[Part]:
    """All about a rule."""
    facts: dict[str, object] = {
        "rule": rule["name"],
        "id": rule["id"],
        "job": rule["job_id"],
        "endpoint": rule["endpoint_id"] or "every endpoint of the job",
        "when": rule["when"],
        "then": rule_step(rule["then"]),
        "relax": rule["relax"] and rule_step(rule["relax"]),
        "cooldown": span(rule["cooldown_ms"] or None),
        "once per incident": yes(rule["once_per_incident"]),
        **{f"after {span(one['after_ms'])}": rule_step(one["then"]) for one in rule["escalate"]},
        "enabled": yes(rule["enabled"]),
        "rank": rule["rank"],
        "created": moment(rule["created_at"]),
    }
    yield card({name: fact for name, fact in facts.items() if fact not in (None, "")})


def rule_trial(found: Any) -> Iterator[Part]:
    """Whether a rule holds for an endpoint, and what it would do about it."""
    holds = {
        True: "The condition is true.",
        False: "The condition is false.",
        None: f"Error: {found['trouble']}",
    }
    yield text(holds[found["holds"]])
    if found["incident_since"] is not None:
        yield text(f"True since {moment(found['incident_since'])}.")
    for call in found["calls"]:
        yield text(f"{call['tool']} of {call['endpoint']}: {as_json(call['arguments'])}")
    if not found["calls"]:
        yield text("Dry run, no changes made: no tool would be called.")


def new_schedule(schedule: Any) -> Iterator[Part]:
    """A schedule that was created, and when it fires."""
    fires = "\n".join(schedule["next_fires"])
    yield card({"schedule": schedule["name"], "id": schedule["id"], "fires": fires})


def user_card(user: Any) -> Iterator[Part]:
    """All about a user."""
    yield card({"user": user["id"], "time zone": user["timezone"], "created": moment(user["created_at"])})


def agent_card(agent: Any) -> Iterator[Part]:
    """All about an agent."""
    facts = {"agent": agent["name"], "id": agent["id"], "model": agent["model"]}
    if agent["runtime"] != "model":
        facts |= {"runtime": agent["runtime"], "url": (agent["target"] or {}).get("url")}
    yield card(
        {**facts, "instructions": agent["instructions"] or None, "created": moment(agent["created_at"])}
    )


def reply(answer: Any) -> Iterator[Part]:
    """What an agent answered: texts, and commands as JSON."""
    for message in answer["messages"]:
        yield text(message["text"] if message["type"] == "subtitle" else as_json(message["command"]))


def new_token(made: Any) -> Iterator[Part]:
    """A user's token, which is shown this once."""
    yield card({"user": made["user_id"], "expires": moment(made["expires_at"])})
    yield text("Valid for this user only. It is not shown again:")
    yield _unbroken(made["token"])


def new_key(key: Any) -> Iterator[Part]:
    """A key that was created, with its secret, which is shown this once."""
    facts = {"key": key["name"], "id": key["id"], "scopes": " ".join(key["scopes"])}
    yield card({**facts, "expires": moment(key["expires_at"]) or "never"})
    yield text("Store this now. It is not shown again:")
    yield _unbroken(key["key"])


def new_heartbeat_token(made: Any) -> Iterator[Part]:
    """The path to which a sender reports heartbeats, which is shown this once."""
    yield text("Its sender reports with POST to this path of the server; it is shown only now:")
    yield _unbroken(made["path"])


def condition_card(one: Any) -> Iterator[Part]:
    """All about a condition."""
    facts = {
        "alert": one["text"],
        "id": one["id"],
        "state": one["state"],
        "severity": one["severity"],
        "since": moment(one["since"]),
        "acknowledged by": one["acknowledged_by"],
        "note": one["note"],
        "silenced until": moment(one["silenced_until"]),
        "reason": one["silence_reason"],
        "waits for": one["suppressed_by"],
    }
    yield card({name: fact for name, fact in facts.items() if fact})


def condition_counts(found: Any) -> Iterator[Part]:
    """How many conditions are open."""
    yield card({name: str(count) for name, count in found.items()})


def alert_route_card(route: Any) -> Iterator[Part]:
    """All about an alert route."""
    yield card(
        {
            "route": route["name"],
            "id": route["id"],
            "type": route["channel"]["type"],
            "address": route["channel"]["url"],
            "for": route_match(route["match"]),
            "enabled": yes(route["enabled"]),
        }
    )


def user_channels(found: Any) -> Iterator[Part]:
    """The channels of a user, the preferred one first."""
    quiet = found["quiet_hours"]
    hours = "none" if quiet is None else f"{quiet['start']} to {quiet['end']}"
    yield card({"user": found["user_id"], "quiet hours": hours})
    if found["channels"]:
        yield table(found["channels"], USER_CHANNELS)
    else:
        yield text("No channels: messages wait for a socket of the user.")


def channel_test(found: Any) -> Iterator[Part]:
    """Whether a test message was accepted."""
    yield text("The test message was accepted." if found["accepted"] else f"Not sent: {found['problem']}")


def _unbroken(secret: str) -> Paragraph:
    return Paragraph(visible(secret))
