"""The overview, the board, a timeline, a preview, alerts and service levels as tables."""

from collections.abc import Iterator
from typing import Any

from cadenza.surfaces.cli.output.formatting import (
    UNTIL_RESUMED,
    Column,
    Item,
    Part,
    baseline,
    card,
    many,
    moment,
    span,
    table,
    text,
)

JUDGEMENTS = {"good": "OK", "fair": "OK", "bad": "at risk", "unjudged": "not enough samples"}
STATES = {"begun": "firing", "over": "resolved"}
MARKS = {"success": "·", "skipped": "-", "cancelled": "-"}
"""All other statuses are failures."""


def _results(row: Item) -> str:
    return "".join(MARKS.get(one["status"], "x") for one in row["results"])


def _foreseeable(runs: list[Item]) -> list[Item]:
    """The runs up to the first that comes only when somebody resumes the endpoint."""
    known = [run for run in runs if moment(run["at"]) != UNTIL_RESUMED]
    return known or runs[:1]


def _foreseen(run: Item | None) -> str | None:
    return None if run is None else f"{moment(run['at'])} ({run['source']})"


def _hint(row: Item) -> str | None:
    hints = [hint for hint in (row["interval_hint"], row["one_shot_hint"]) if hint]
    return "; ".join(hint["reason"] or "no reason given" for hint in hints) or None


BOARD = (
    Column("id", lambda row: row["id"]),
    Column("name", lambda row: row["name"]),
    Column("baseline", lambda row: baseline(row["baseline"])),
    Column("interval", lambda row: span(row["cadence_ms"])),
    Column("next run", lambda row: "running" if row["running"] else moment(row["next_run_at"])),
    Column("source", lambda row: row["next_source"]),
    Column("last runs", _results),
    Column("hint", _hint),
)
TIMELINE = (
    Column("at", lambda one: moment(one["at"])),
    Column("what", lambda one: one["what"]),
    Column("source", lambda one: one["source"]),
    Column("duration", lambda one: span(one["took"]), right=True),
    Column("error or reason", lambda one: one["why"]),
)
FORESEEN = (
    Column("current", lambda one: _foreseen(one["before"])),
    Column("after", lambda one: _foreseen(one["after"])),
)
QUOTAS = (
    Column("quota", lambda one: one["name"].replace("_", " ")),
    Column("used", lambda one: f"{one['used']:,}", right=True),
    Column("limit", lambda one: None if one["limit"] is None else f"{one['limit']:,}", right=True),
    Column("level", lambda one: one["level"], status=True),
)
PLANNERS = (
    Column("planner", lambda one: one["planner"]),
    Column("evaluations", lambda one: one["sittings"], right=True),
    Column("failed", lambda one: one["failed"], right=True),
    Column("tokens", lambda one: one["tokens"], right=True),
    Column("last evaluation", lambda one: moment(one["last_at"])),
)


def overview(view: Any) -> Iterator[Part]:
    """The overview."""
    pulse, forecast = view["pulse"], view["forecast"]
    rate = pulse["success_rate"]
    yield card(
        {
            "endpoints": view["endpoints"],
            "running": view["in_flight"],
            "upcoming": many(sum(forecast["due"]), "run"),
            "queue depth": forecast["overdue"],
            "completed": f"{many(pulse['runs'], 'run')} since {moment(pulse['since'])}",
            "success rate": None if rate is None else f"{rate:.1%}",
            "start delay": None
            if rate is None
            else f"median {span(pulse['late_p50_ms'])}, p99 {span(pulse['late_p99_ms'])}",
        }
    )
    yield table(view["quotas"], QUOTAS)
    if view["planners"]:
        yield table(view["planners"], PLANNERS)


def timeline(view: Any) -> Iterator[Part]:
    """Runs, hints and pauses in order of time."""
    lines = sorted(
        [*map(_run, view["runs"]), *map(_steering, view["spells"])], key=lambda one: str(one["at"])
    )
    if lines:
        yield table(lines, TIMELINE)
    else:
        yield text("No runs, hints or pauses in this range.")
    yield text(f"Next run: {moment(view['next_run_at']) or 'none'} ({view['next_source']})")


def _run(run: Item) -> dict[str, Any]:
    return {
        "at": run["started_at"] or run["slot"],
        "what": run["status"] or "running",
        "source": run["source"],
        "took": run["duration_ms"] if run["status"] else None,
        "why": run["error"] or run["reason"],
    }


def _steering(spell: Item) -> dict[str, Any]:
    what = f"every {span(spell['interval_ms'])}" if spell["interval_ms"] else spell["kind"]
    return {
        "at": spell["begin"],
        "what": f"{what} until {moment(spell['end'])}",
        "source": spell["by"],
        "took": None,
        "why": spell["reason"],
    }


def preview(view: Any) -> Iterator[Part]:
    """The plan that steering would lead to, and the runs before and after it."""
    yield text(view["after"]["plan"]["answer"])
    before, after = (_foreseeable(view[name]["runs"]) for name in ("before", "after"))
    longest = max(len(before), len(after))
    padded = [runs + [None] * (longest - len(runs)) for runs in (before, after)]
    yield table([{"before": one, "after": other} for one, other in zip(*padded, strict=True)], FORESEEN)


NEXT_RUNS = (
    Column("next run", lambda item: moment(item["at"]), whole=True),
    Column("source", lambda item: item["source"]),
)


def next_runs(view: Any) -> Iterator[Part]:
    """When a new endpoint would run."""
    yield table(view["runs"], NEXT_RUNS)
    yield text("Dry run, no changes made.")


SLOS = (
    Column("process", lambda item: item["process"]),
    Column("scheduler", lambda item: item["scheduler"]),
    Column("slo", lambda item: item["slo"], whole=True),
    Column("value", lambda item: _number(item["value"]), right=True),
    Column("threshold", lambda item: _number(item["threshold"]), right=True),
    Column("status", lambda item: JUDGEMENTS.get(item["judgement"], item["judgement"]), status=True),
    Column("breached since", lambda item: moment(item["since"]), whole=True),
)
ALERTS = (
    Column("raised", lambda item: moment(item["raised_at"]), whole=True),
    Column("about", lambda item: item["kind"], whole=True),
    Column("state", lambda item: STATES.get(item["state"], item["state"]), status=True),
    Column("alert", lambda item: item["text"]),
)


def alerts(found: Any) -> Iterator[Part]:
    """The newest alerts."""
    yield table(found["items"], ALERTS) if found["items"] else text("No alerts.")


def slo(found: Any) -> Iterator[Part]:
    """All service levels, after the number that is breached."""
    if not found["items"]:
        yield text("No results yet: no process has evaluated its SLOs recently.")
        return
    yield text("SLOs OK." if not found["breached"] else _breached(found["breached"]))
    yield table(found["items"], SLOS)


def _breached(count: int) -> str:
    return f"{many(count, 'SLO')} breached."


def _number(value: float | None) -> str | None:
    return None if value is None else f"{value:,.4g}" if abs(value) < 1 else f"{value:,.0f}"
