"""Why the next run is when it is, in words."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple, assert_never

from cadenza.domain.scheduling.baseline import Baseline, Cron, Every, Once
from cadenza.domain.scheduling.due import closed_gate, opens_at
from cadenza.domain.scheduling.endpoint import Endpoint
from cadenza.domain.scheduling.governor import CronClock, baseline_interval_ms, plan_next_run
from cadenza.domain.scheduling.hint import HintKind, HintMode, origin_text, why_not_applied
from cadenza.domain.scheduling.plan import Plan, Source
from cadenza.domain.scheduling.policy import Guard
from cadenza.domain.scheduling.steer import HintRecord
from cadenza.domain.validation import iso, milliseconds

UNITS = ((86_400_000, "day"), (3_600_000, "hour"), (60_000, "minute"), (1_000, "second"))
SOURCE_REASONS = {
    Source.BASELINE_CRON: "its cron line says so",
    Source.BASELINE_INTERVAL: "that is one baseline interval after its last run",
    Source.BASELINE_ONCE: "that is the moment it was made for",
    Source.AI_INTERVAL: "an interval hint sets its pace",
    Source.AI_ONESHOT: "a one-shot hint asks for this moment",
    Source.CLAMPED_MIN: "its guard allows no sooner run",
    Source.CLAMPED_MAX: "its guard allows no later run",
    Source.PAUSED: "it is paused until then",
    Source.FINISHED: "it has done what it was made for",
    Source.FIRST: "it was created to start at once",
    Source.MANUAL: "a run was asked for",
    Source.RESUME: "it was resumed, and planned anew",
    Source.RETRY: "its last attempt failed, and is tried again",
    Source.QUOTA: "its tenant's quota opens then",
    Source.RETIRED: "no program declares its function; it comes back with the first one that does",
}


class Explanation(NamedTuple):
    """The stored next run, what the governor would choose now, and the sentences that tell why."""

    now: datetime
    next_run_at: datetime | None
    source: Source
    """What set the stored next run."""
    opens_at: datetime | None
    """When it may really run: not before a pause or a quota lets it; None if something must change first."""
    gate: str | None
    """What keeps it from running at all."""
    plan: Plan
    """What the governor would choose now."""
    sentences: tuple[str, ...]


def explain(
    endpoint: Endpoint,
    *,
    now: datetime,
    cron: CronClock,
    shadow_ms: int | None = None,
    history: Iterable[HintRecord] = (),
) -> Explanation:
    """Why this endpoint runs next when it does.

    1. The answer: when, and which rule set that moment.
    2. What keeps it from running, if anything does.
    3. What was weighed: baseline, hints, guard, failures.
    4. Calls of lower ranks that what is in force now keeps from acting, from the newest of its history.
    5. What the governor would choose now, where that differs.
    6. How often a planner in the shadow would let it run, if one has thought about it.
    """
    plan = plan_next_run(now, endpoint, cron)
    gate = closed_gate(endpoint, now)
    sentences = (
        _answer(endpoint, now),
        *_gate(endpoint, gate),
        f"Its baseline is {_baseline(endpoint.baseline)}.",
        *_hints(endpoint, now),
        *_guard(endpoint.effective_guard),
        *_failures(endpoint),
        *_not_applied(endpoint, history, now),
        *_now(endpoint, plan, now),
        *_shadow(shadow_ms),
    )
    return Explanation(
        now, endpoint.next_run_at, endpoint.next_source, opens_at(endpoint), gate, plan, sentences
    )


def span(length: timedelta) -> str:
    """A span as people say it: 90 seconds are 1 minute 30 seconds."""
    left = round(length / milliseconds(1))
    parts = []
    for size, unit in UNITS:
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count} {unit}{'' if count == 1 else 's'}")
    if (left and len(parts) < 2) or not parts:  # noqa: PLR2004 - two parts are exact enough
        parts.append(f"{left} ms")
    return " ".join(parts[:2])


def _every(interval_ms: int) -> str:
    """An interval behind the word "every": a minute is "minute"."""
    said = span(milliseconds(interval_ms))
    return said.removeprefix("1 ") if said.count(" ") == 1 else said


def _answer(endpoint: Endpoint, now: datetime) -> str:
    name, moment = endpoint.name, endpoint.next_run_at
    if endpoint.lease is not None:
        return f"{name} is running now; its next run is planned when this one has ended."
    if moment is None:
        return f"{name} runs no more: {SOURCE_REASONS[endpoint.next_source]}."
    because = _because(endpoint)
    if moment <= now:
        late = f", for {span(now - moment)}" if moment < now else ""
        return f"{name} is due since {iso(moment)}{late}: {because}."
    return f"{name} runs next at {iso(moment)}, in {span(moment - now)}: {because}."


def _because(endpoint: Endpoint) -> str:
    """What set its next run; a hint that did is named with its origin."""
    hint = {Source.AI_INTERVAL: endpoint.interval_hint, Source.AI_ONESHOT: endpoint.one_shot_hint}.get(
        endpoint.next_source
    )
    because = SOURCE_REASONS[endpoint.next_source]
    return because if hint is None else because.replace("hint", f"hint ({origin_text(hint.origin)})")


def _gate(endpoint: Endpoint, gate: str | None) -> list[str]:
    if gate is None:
        return []
    if not gate.startswith("paused"):
        return [f"Nothing runs while it stays so: {gate}."]
    by = origin_text(endpoint.pause_origin)
    return [f"Nothing runs while it stays so: {gate} ({by}){_why(endpoint.pause_reason)}."]


def _baseline(baseline: Baseline) -> str:
    match baseline:
        case Every():
            return f"every {_every(baseline.interval_ms)}"
        case Cron():
            return f"the cron line {baseline.expression} in {baseline.timezone}"
        case Once():
            return f"once, at {iso(baseline.at)}"
    assert_never(baseline)


def _hints(endpoint: Endpoint, now: datetime) -> list[str]:
    sentences = []
    interval, one_shot = endpoint.interval_hint, endpoint.one_shot_hint
    if interval is not None and interval.fresh(now):
        mode = "in place of the baseline" if endpoint.hint_mode is HintMode.OVERRIDE else "if that is sooner"
        pace, end = _every(interval.interval_ms), iso(interval.expires_at)
        by, why = origin_text(interval.origin), _why(interval.reason)
        sentences.append(f"An interval hint ({by}) asks for every {pace} {mode}, until {end}{why}.")
    if one_shot is not None and one_shot.fresh(now) and not one_shot.served(endpoint.last_run_at):
        by, why = origin_text(one_shot.origin), _why(one_shot.reason)
        sentences.append(f"A one-shot hint ({by}) asks for a run at {iso(one_shot.at)}{why}.")
    return sentences or ["No hint is active."]


def _why(reason: str | None) -> str:
    return f" ({reason})" if reason else ""


def _not_applied(endpoint: Endpoint, newest_first: Iterable[HintRecord], now: datetime) -> list[str]:
    """A sentence for each origin and kind, about its newest call, while something outranks it."""
    newest: dict[tuple[str, HintKind], HintRecord] = {}
    for record in newest_first:
        newest.setdefault((record.origin, record.kind), record)
    return [
        f"{_call(record)}, asked for at {iso(record.written_at)} ({origin_text(record.origin)}),"
        f" was not applied, because {record.not_applied}."
        for record in newest.values()
        if record.not_applied
        and why_not_applied(endpoint.in_force(now), record.kind, record.origin) is not None
    ]


def _call(record: HintRecord) -> str:
    match record.kind:
        case HintKind.INTERVAL:
            return f"A run every {_every(record.interval_ms or 0)}"
        case HintKind.ONE_SHOT:
            return f"A run at {iso(record.at) if record.at else 'once'}"
        case HintKind.PAUSE:
            return f"A pause until {iso(record.expires_at) if record.expires_at else 'later'}"
        case HintKind.RESUME:
            return "Resuming it"
        case HintKind.CLEAR:
            return "Clearing its hints"
    assert_never(record.kind)


def _guard(guard: Guard) -> list[str]:
    least = guard.min_interval_ms and span(milliseconds(guard.min_interval_ms))
    most = guard.max_interval_ms and span(milliseconds(guard.max_interval_ms))
    if least and most:
        return [f"Its guard keeps runs between {least} and {most} apart."]
    if least:
        return [f"Its guard keeps runs at least {least} apart."]
    return [f"Its guard keeps runs at most {most} apart."] if most else []


def _failures(endpoint: Endpoint) -> list[str]:
    if not endpoint.failure_count:
        return []
    count = f"{endpoint.failure_count} time{'' if endpoint.failure_count == 1 else 's'} in a row"
    interval = baseline_interval_ms(endpoint)
    if isinstance(endpoint.baseline, Every) and interval not in (None, endpoint.baseline.interval_ms):
        return [f"It failed {count}, which stretches its baseline to {span(milliseconds(interval or 0))}."]
    return [f"It failed {count}."]


def _now(endpoint: Endpoint, plan: Plan, now: datetime) -> list[str]:
    if endpoint.lease is not None or plan.next_run_at is None or endpoint.retired:
        return []
    same_rule = plan.source is endpoint.next_source
    if same_rule and (plan.next_run_at == endpoint.next_run_at or not endpoint.has_history):
        return []  # What never ran is planned from now on, so that its plan moves with the clock.
    when = "now" if plan.next_run_at <= now else iso(plan.next_run_at)
    return [f"Planned anew at this moment, it would be {when} ({plan.source})."]


def _shadow(interval_ms: int | None) -> list[str]:
    if interval_ms is None:
        return []
    return [f"The learning planner, in the shadow, would let it run every {_every(interval_ms)}."]
