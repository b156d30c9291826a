"""Runs, trials, health, usage, limits and audit records as people see them."""

from collections.abc import Iterator
from typing import Any

from cadenza.domain.text_patterns import visible
from cadenza.surfaces.cli.output.formatting import (
    Column,
    Item,
    Part,
    as_json,
    card,
    many,
    moment,
    span,
    table,
    text,
    yes,
)

WINDOWS = (
    Column("hours", lambda window: window["hours"], right=True),
    Column("runs", lambda window: _about(window, window["runs"]), right=True),
    Column("successes", lambda window: window["successes"], right=True),
    Column("failures", lambda window: window["failures"], right=True),
    Column("skipped", lambda window: window["skipped"], right=True),
    Column("success rate", lambda window: _percent(window["success_rate"]), right=True),
    Column("mean duration", lambda window: span(window["mean_duration_ms"]), right=True),
    Column("p95 duration", lambda window: span(window["p95_duration_ms"]), right=True),
)
UPTIME = (
    Column("from", lambda bucket: moment(bucket["at"])),
    Column("runs", lambda bucket: bucket["runs"], right=True),
    Column("uptime", lambda bucket: _percent(bucket["uptime"]), right=True),
    Column("p50", lambda bucket: span(bucket["p50_ms"]), right=True),
    Column("p95", lambda bucket: span(bucket["p95_ms"]), right=True),
)
SPENT = (
    Column("", lambda line: line["what"]),
    Column("this month", lambda line: line["spent"], right=True),
    Column("limit", lambda line: line["limit"], right=True),
)
MONTHS = (
    Column("month", lambda month: month["month"], whole=True),
    Column("runs", lambda month: f"{month['runs']:,}", right=True),
    Column("planner tokens", lambda month: f"{month['planner_tokens']:,}", right=True),
)
CHANGES = (
    Column("field", lambda change: change["field"]),
    Column("before", lambda change: "" if change["before"] is None else as_json(change["before"])),
    Column("after", lambda change: "" if change["after"] is None else as_json(change["after"])),
)
WITHOUT = "none"


def audit_record(record: Any) -> Iterator[Part]:
    """All about an audit record: who did what to which thing, and what differed."""
    facts = {
        "record": record["id"],
        "at": moment(record["at"]),
        "by": record["by"],
        "name": record["name"],
        "surface": record["surface"],
        "operation": record["operation"],
        "subject": " ".join(filter(None, (record["subject_kind"], record["subject_id"]))),
        "outcome": record["outcome"],
        "reason": record["reason"],
    }
    yield card({name: fact for name, fact in facts.items() if fact is not None})
    if record["changes"]:
        yield table(record["changes"], CHANGES)
    if record["restorable"]:
        yield text(f"To restore the previous version: cadenza audit restore {record['id']}")


def restored(answer: Any) -> Iterator[Part]:
    """What was restored, and what could not be."""
    done = "Created again" if answer["created"] else "Restored"
    yield text(f"{done} the {answer['subject_kind']} {answer['subject_id']}.")
    if answer["note"]:
        yield text(answer["note"])


def run_card(run: Any) -> Iterator[Part]:
    """All about a run."""
    facts = {
        "run": run["id"],
        "endpoint": run["endpoint_id"],
        "job": run["job_id"],
        "status": run["status"] or "open",
        "error": run["error"],
        "reason": run["reason"],
        "slot": moment(run["slot"]),
        "due": moment(run["due_at"]),
        "source": run["source"],
        "attempt": run["attempt"],
        "verdict": yes(run["verdict"]),
        "coalesced": run["coalesced"] or None,
        "claimed": moment(run["claimed_at"]),
        "started": moment(run["started_at"]),
        "finished": moment(run["finished_at"]),
        "duration": span(run["duration_ms"]),
        "start delay": span(run["late_ms"]),
    }
    yield card({name: fact for name, fact in facts.items() if fact is not None})
    yield from _response(run["response"])
    if run.get("traceback"):  # A server of an older version does not answer with it.
        yield text("traceback", style="bold")
        yield text(run["traceback"])


def run_line(run: Item) -> str:
    """A run on one line, for `runs list --follow`."""
    why = run["error"] or run["reason"]
    parts = [moment(run["finished_at"]), run["status"], run["endpoint_id"], span(run["duration_ms"])]
    return visible(" ".join([str(part) for part in parts] + ([f"({why})"] if why else []))).replace("\n", " ")


def trial_card(trial: Any) -> Iterator[Part]:
    """The result of `endpoints test`."""
    facts = {"status": trial["status"], "took": span(trial["duration_ms"]), "error": trial["error"]}
    yield card({name: fact for name, fact in facts.items() if fact is not None})
    yield from _response(trial["response"])


def _response(response: Any) -> Iterator[Part]:
    if response is not None:
        yield text("response", style="bold")
        yield text(as_json(response))


def health(view: Any) -> Iterator[Part]:
    """An endpoint's health over its time windows."""
    yield text(f"{view['endpoint_id']}: {many(view['failure_count'], 'consecutive failure')}{_last(view)}.")
    yield table(view["windows"], WINDOWS)


def row_counts(view: Any) -> Iterator[Part]:
    """How many endpoints are failing."""
    more = "" if view["complete"] else "more than "
    yield text(f"{more}{many(view['failing'], 'failing endpoint')}.")


def endpoint_statistics(view: Any) -> Iterator[Part]:
    """An endpoint's uptime and latency, in all and in spans of time without those that had no runs."""
    more = "" if view["complete"] else "; there are too many runs to count older ones"
    if view["runs"]:
        latency = f"p50 {span(view['p50_ms'])}, p95 {span(view['p95_ms'])}"
        yield text(
            f"uptime {_percent(view['uptime'])}, latency {latency}, {many(view['runs'], 'run')}{more}."
        )
    else:
        yield text("No results yet in this time.")
    yield table([bucket for bucket in view["buckets"] if bucket["runs"]], UPTIME)


def _last(view: Item) -> str:
    return f", last run at {moment(view['last_run_at'])}" if view["last_run_at"] else ", no runs yet"


def _about(window: Item, count: int) -> str:
    return f"{count:,}" if window["complete"] else f"more than {count:,}"


def _percent(rate: float | None) -> str | None:
    return None if rate is None else f"{rate:.1%}"


def usage(view: Any) -> Iterator[Part]:
    """A tenant's usage and limits."""
    most = view["limits"]
    counted = (
        f"{view['endpoints']:,}" if view["endpoints_counted_all"] else f"more than {view['endpoints']:,}"
    )
    lines = [
        {"what": "runs", "spent": f"{view['runs']:,}", "limit": _limit(most["runs_per_month"])},
        {
            "what": "planner tokens",
            "spent": f"{view['planner_tokens']:,}",
            "limit": _limit(most["planner_tokens_per_month"]),
        },
        {"what": "endpoints", "spent": counted, "limit": _limit(most["endpoints"])},
    ]
    shortest = f"; minimum interval {span(most['min_interval_ms'])}" if most["min_interval_ms"] else ""
    yield text(f"{view['tenant_id']} in {view['month']}, resets at {moment(view['resets_at'])}{shortest}")
    yield table(lines, SPENT)
    if len(view["history"]) > 1:
        yield table(view["history"], MONTHS)


def limits(view: Any) -> Iterator[Part]:
    """A tenant's limits."""
    yield card(
        {
            "endpoints": _limit(view["endpoints"]),
            "minimum interval": span(view["min_interval_ms"]) or WITHOUT,
            "runs per month": _limit(view["runs_per_month"]),
            "planner tokens per month": _limit(view["planner_tokens_per_month"]),
            "schedules per user": _limit(view["schedules_per_user"]),
            "minimum interval of schedules": span(view["schedule_min_interval_ms"]) or WITHOUT,
            "schedule runs per day": _limit(view["schedule_fires_per_day"]),
            "schedule tokens per day": _limit(view["schedule_tokens_per_day"]),
        }
    )


def _limit(count: int | None) -> str:
    return WITHOUT if count is None else f"{count:,}"
