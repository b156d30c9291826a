"""The columns of the command line's tables."""

from typing import Any

from cadenza.surfaces.cli.output.formatting import (
    Column,
    Item,
    baseline,
    calendar_words,
    moment,
    span,
    state,
    yes,
)

STEP_SPANS = {"intervalMs": "interval", "nextRunInMs": "in", "pauseMs": "pause"}


def rule_step(step: Item) -> str:
    """A step of a rule as `cadenza rules create` takes it."""
    words = [step["tool"]]
    words += [f"endpoint={step['endpoint']}"] if step["endpoint"] else []
    for name, word in STEP_SPANS.items():
        if name in step:
            words.append(f"{word}={'none' if step[name] is None else span(step[name])}")
    if step.get("ttlMinutes") is not None:
        words.append(f"ttl={span(round(step['ttlMinutes'] * 60_000))}")
    return " ".join(words)


def _baseline(endpoint: Any) -> str:
    return "; ".join(filter(None, (baseline(endpoint["baseline"]), calendar_words(endpoint["calendar"]))))


def route_match(match: Item) -> str:
    """Which conditions a route is for, in words."""
    words = [f"{name}={value}" for name, value in match["labels"].items()]
    words += [*match["job_ids"], *match["kinds"], *match["severities"]]
    return ", ".join(words) or "everything"


def open_state(run: Item) -> str:
    """Whether an open run goes on, waits or is being cancelled."""
    if run["cancelling"]:
        return "cancelling"
    return "waiting" if run["waiting"] else "running"


def _used(count: int, most: int | None) -> str:
    return f"{count:,}" if most is None else f"{count:,} of {most:,}"


def _started(limit: Item) -> str | None:
    """What began in the last minute; starts are counted only where they are limited."""
    most = limit["max_per_minute"]
    return None if most is None else _used(limit["started_in_minute"], most)


JOBS = (
    Column("id", lambda job: job["id"]),
    Column("name", lambda job: job["name"]),
    Column("active", lambda job: yes(job["active"])),
    Column("description", lambda job: job["description"]),
)
ENDPOINTS = (
    Column("id", lambda endpoint: endpoint["id"]),
    Column("name", lambda endpoint: endpoint["name"]),
    Column("job", lambda endpoint: endpoint["job_id"]),
    Column("baseline", _baseline),
    Column("state", state, status=True),
    Column("next run", lambda endpoint: moment(endpoint["next_run_at"])),
    Column("source", lambda endpoint: endpoint["next_source"]),
    Column("failures", lambda endpoint: endpoint["failure_count"], right=True),
)
RUNS = (
    Column("finished", lambda run: moment(run["finished_at"])),
    Column("endpoint", lambda run: run["endpoint_id"]),
    Column("status", lambda run: run["status"], status=True),
    Column("source", lambda run: run["source"]),
    Column("duration", lambda run: span(run["duration_ms"]), right=True),
    Column("start delay", lambda run: span(run["late_ms"]), right=True),
    Column("run", lambda run: run["id"]),
    Column("error or reason", lambda run: run["error"] or run["reason"]),
)
OPEN_RUNS = (
    Column("endpoint", lambda run: run["endpoint_id"]),
    Column("state", open_state, status=True),
    Column("kind", lambda run: run["kind"]),
    Column("slot", lambda run: moment(run["slot"])),
    Column("attempt", lambda run: run["attempt"], right=True),
    Column("started", lambda run: moment(run["started_at"])),
    Column("run", lambda run: run["id"]),
)
REDRIVEN = (
    Column("endpoint", lambda run: run["endpoint_id"]),
    Column("slot", lambda run: moment(run["slot"])),
    Column("failed run", lambda run: run["run_id"]),
)
BACKFILLED = (Column("slot", lambda one: moment(one["slot"])),)
HINTS = (
    Column("written", lambda hint: moment(hint["written_at"])),
    Column("kind", lambda hint: hint["kind"]),
    Column("sets", lambda hint: span(hint["interval_ms"]) or moment(hint["at"])),
    Column("expires", lambda hint: moment(hint["expires_at"])),
    Column("by", lambda hint: hint["by"]),
    Column("reason", lambda hint: hint["reason"]),
    Column("not applied", lambda hint: hint["not_applied"]),
)
LIMITS = (
    Column("kind", lambda limit: limit["kind"]),
    Column("name", lambda limit: limit["name"]),
    Column("in flight", lambda limit: _used(limit["in_flight"], limit["max_in_flight"]), right=True),
    Column("last minute", _started, right=True),
    Column("waiting", lambda limit: limit["waiting"], right=True),
    Column("holds back since", lambda limit: moment(limit["held_since"])),
    Column("goes on", lambda limit: moment(limit["goes_on_at"])),
)
RULES = (
    Column("id", lambda rule: rule["id"]),
    Column("name", lambda rule: rule["name"]),
    Column("job", lambda rule: rule["job_id"]),
    Column("endpoint", lambda rule: rule["endpoint_id"]),
    Column("when", lambda rule: rule["when"]),
    Column("then", lambda rule: rule_step(rule["then"])),
    Column("enabled", lambda rule: yes(rule["enabled"])),
)
ANALYSES = (
    Column("began", lambda one: moment(one["began_at"])),
    Column("planner", lambda one: one["planner"]),
    Column("trigger", lambda one: one["trigger"]),
    Column("duration", lambda one: span(one["duration_ms"]), right=True),
    Column("tokens", lambda one: one["tokens"]["input"] + one["tokens"]["output"], right=True),
    Column("calls", lambda one: ", ".join(call["tool"] for call in one["calls"] if call["error"] is None)),
    Column("error or reason", lambda one: one["error"] or one["reasoning"]),
)
COSTS = (
    Column("date (UTC)", lambda one: one["day"]),
    Column("planner", lambda one: one["planner"]),
    Column("evaluations", lambda one: one["sittings"], right=True),
    Column("input tokens", lambda one: one["tokens"]["input"], right=True),
    Column("output tokens", lambda one: one["tokens"]["output"], right=True),
)
ALL_ANALYSES = (ANALYSES[0], Column("endpoint", lambda one: one["endpoint_id"]), *ANALYSES[1:])
SPENDING = (Column("endpoint", lambda one: one["endpoint_id"]), *COSTS[1:])
LEARNED = (
    Column("endpoint", lambda one: one["endpoint_id"]),
    Column("learning", lambda one: one["learning"]),
    Column("every", lambda one: span(one["interval_ms"]), right=True),
    Column("changes", lambda one: one["changes"], right=True),
    Column("detected after, without learning", lambda one: span(one["plain_delay_ms"]), right=True),
    Column("with learning", lambda one: span(one["delay_ms"]), right=True),
    Column("share of runs", lambda one: f"{one['looks']:.0%}", right=True),
)
WAKES = (
    Column("schedule", lambda one: one["schedule_id"], whole=True),
    Column("name", lambda one: one["name"]),
    Column("woken", lambda one: one["woken"], right=True),
    Column("paid", lambda one: one["paid"], right=True),
    Column("tokens", lambda one: f"{one['tokens']:,}", right=True),
    Column("not worth it", lambda one: one["passed_over"], right=True),
    Column("tokens saved", lambda one: f"{one['saved_tokens']:,}", right=True),
    Column("answers lost", lambda one: one["lost"], right=True),
)
KEYS = (
    Column("id", lambda key: key["id"]),
    Column("name", lambda key: key["name"]),
    Column("scopes", lambda key: " ".join(key["scopes"])),
    Column("created", lambda key: moment(key["created_at"])),
    Column("expires", lambda key: moment(key["expires_at"])),
)


def _next_fire(schedule: Any) -> str:
    if schedule["paused"] and schedule["pause_reason"] != "snoozed":
        return "paused"
    return moment(schedule["next_run_at"]) or "none"


def _recurs(schedule: Any) -> str:
    every = schedule["interval_seconds"]
    cadence = schedule["cron_expression"] or (every and f"every {span(every * 1_000)}")
    return "; ".join(filter(None, (cadence, calendar_words(schedule["calendar"]))))


SCHEDULES = (
    Column("id", lambda one: one["id"], whole=True),
    Column("name", lambda one: one["name"]),
    Column("user", lambda one: one["user_id"]),
    Column("agent", lambda one: one["agent_id"]),
    Column("next run", _next_fire),
    Column("recurs", _recurs),
    Column("time zone", lambda one: one["timezone"]),
    Column("prompt", lambda one: one["prompt"]),
)
USER_CHANNELS = (
    Column("channel", lambda one: one["id"]),
    Column("type", lambda one: one["type"]),
    Column("address", lambda one: one["url"]),
    Column("enabled", lambda one: yes(one["enabled"])),
    Column("problem", lambda one: one["problem"]),
    Column("again", lambda one: moment(one["again_at"])),
)
SCHEDULE_RUNS = (
    Column("slot", lambda run: moment(run["slot"])),
    Column("finished", lambda run: moment(run["finished_at"])),
    Column("status", lambda run: run["status"], status=True),
    Column("messages", lambda run: run["messages"], right=True),
    Column("tokens", lambda run: run["tokens"], right=True),
    Column("reason", lambda run: run["reason"] or ("nothing to report" if run["nothing_to_report"] else "")),
)
USERS = (
    Column("id", lambda user: user["id"]),
    Column("time zone", lambda user: user["timezone"]),
    Column("created", lambda user: moment(user["created_at"])),
)
AGENTS = (
    Column("id", lambda agent: agent["id"]),
    Column("name", lambda agent: agent["name"]),
    Column("model", lambda agent: agent["model"]),
    Column("created", lambda agent: moment(agent["created_at"])),
)
AUDIT = (
    Column("at", lambda one: moment(one["at"])),
    Column("by", lambda one: one["name"] or one["by"]),
    Column("surface", lambda one: one["surface"]),
    Column("operation", lambda one: one["operation"], whole=True),
    Column("subject", lambda one: " ".join(filter(None, (one["subject_kind"], one["subject_id"])))),
    Column("fields", lambda one: ", ".join(change["field"] for change in one["changes"])),
    Column("outcome", lambda one: one["outcome"], status=True),
    Column("reason", lambda one: one["reason"]),
    Column("record", lambda one: one["id"]),
)
SECRETS = (
    Column("name", lambda secret: secret["name"]),
    Column("created", lambda secret: moment(secret["created_at"])),
    Column("updated", lambda secret: moment(secret["updated_at"])),
)
CONDITIONS = (
    Column("id", lambda one: one["id"], whole=True),
    Column("state", lambda one: one["state"], status=True),
    Column("severity", lambda one: one["severity"]),
    Column("since", lambda one: moment(one["since"])),
    Column("alert", lambda one: one["text"]),
)
ALERT_ROUTES = (
    Column("id", lambda route: route["id"], whole=True),
    Column("name", lambda route: route["name"]),
    Column("type", lambda route: route["channel"]["type"]),
    Column("address", lambda route: route["channel"]["url"]),
    Column("for", lambda route: route_match(route["match"])),
    Column("enabled", lambda route: yes(route["enabled"])),
)
CANDIDATES = (
    Column("candidate", lambda candidate: moment(candidate["at"])),
    Column("source", lambda candidate: candidate["source"]),
    Column("", lambda candidate: candidate["mark"]),
)
