"""Why the next run is when it is, in words."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, assert_never

from cadenza.domain.agents.pacing import finish_of
from cadenza.domain.planning.planner_limits import why_kept_off, why_not_switched
from cadenza.domain.scheduling.abandon import TRIAL_WORDS, given_up, is_suspect, trial_of
from cadenza.domain.scheduling.baseline import interval_at
from cadenza.domain.scheduling.calendars.gate import is_closed
from cadenza.domain.scheduling.calendars.wording import baseline_in_words, guard_in_words, rules_in_words
from cadenza.domain.scheduling.due import FOREVER, JOB_NOT_ACTIVE, closed_gate, end_in_words, opens_at
from cadenza.domain.scheduling.endpoint import Endpoint, Job
from cadenza.domain.scheduling.governor import CronClock, baseline_interval_ms, plan_next_run
from cadenza.domain.scheduling.hint import HintKind, HintMode, InForce, origin_text, why_not_applied
from cadenza.domain.scheduling.plan import SOURCE_REASONS, Candidate, Plan, Source
from cadenza.domain.scheduling.steer import HintRecord
from cadenza.domain.scheduling.target import HeartbeatTarget
from cadenza.domain.validation import iso, milliseconds
from cadenza.domain.wording import interval_in_words, span_in_words

STORED_LATER = frozenset(
    {Source.AI_INTERVAL, Source.CLAMPED_MIN, Source.CLAMPED_MAX, Source.PAUSED, Source.RESUME}
)
"""What is stored later than a plan would have it."""

TOLD_FOR = timedelta(hours=1)
"""How long an explanation tells of a call that was not applied."""
UNDECLARED_AFTER = timedelta(minutes=3)
"""A program that runs declares its functions every minute."""


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
    """What the governor would choose now, and what it was chosen from, the stored moment among it."""
    sentences: tuple[str, ...]


def explain(
    endpoint: Endpoint,
    *,
    now: datetime,
    cron: CronClock,
    shadow_ms: int | None = None,
    history: Sequence[HintRecord] = (),
    job: Job | None = None,
    declared_at: datetime | None = None,
) -> Explanation:
    """Why this endpoint runs next when it does.

    1. The answer: when, and which rule set that moment.
    2. What keeps it from running, if anything does, and whether a program has its function.
    3. What was weighed: baseline, calendars, hints, guard, failures, and whether it is a suspect.
    4. Calls of the last hour that what is in force now, or its owner, keeps from acting.
    5. What the governor would choose now, where that differs.
    6. How often a planner in the shadow would let it run, if one has thought about it.
    """
    plan = _beside_stored(endpoint, plan_next_run(now, endpoint, cron))
    gate = closed_gate(endpoint, now)
    sentences = (
        _answer(endpoint, history, now),
        *_gate(endpoint, gate, job),
        *_undeclared(endpoint, declared_at, now),
        f"Baseline: {baseline_in_words(endpoint.baseline, now)}.",
        *_calendars(endpoint),
        *_hints(endpoint, now),
        *guard_in_words(endpoint.effective_guard),
        *_failures(endpoint, now),
        *_suspicion(endpoint),
        *_not_applied(endpoint, history, now=now, cron=cron, paused_job=job.in_force() if job else ()),
        *_now(endpoint, plan, now),
        *_shadow(shadow_ms),
    )
    return Explanation(
        now, endpoint.next_run_at, endpoint.next_source, opens_at(endpoint), gate, plan, sentences
    )


def _answer(endpoint: Endpoint, history: Iterable[HintRecord], now: datetime) -> str:
    name, moment = endpoint.name, endpoint.next_run_at
    if endpoint.lease is not None:
        return f"{name} is running now; its next run is planned when this run ends."
    if moment is None:
        return f"{name} has no next run: {SOURCE_REASONS[endpoint.next_source]}{_end(endpoint, history)}."
    if given_up(endpoint) or moment >= FOREVER:
        why = f": {endpoint.pause_reason}" if given_up(endpoint) else ""
        return f"{name} is paused until resumed{why}."
    because, is_skipped = _because(endpoint, history), endpoint.next_source is Source.CLOSED
    if isinstance(endpoint.target, HeartbeatTarget) and moment > now and not is_skipped:
        grace = interval_in_words(endpoint.target.grace_ms)
        return (
            f"{name} waits for a heartbeat. Without one it is missed at {iso(moment)}, in"
            f" {span_in_words(moment - now)} (grace period {grace}): {because}."
        )
    if moment <= now:
        late = f" ({span_in_words(now - moment)} ago)" if now - moment >= milliseconds(1) else ""
        return f"{name} has been due since {iso(moment)}{late}: {because}."
    what = "skips its slot" if is_skipped else "runs next"
    return f"{name} {what} at {iso(moment)}, in {span_in_words(moment - now)}: {because}."


def _calendars(endpoint: Endpoint) -> list[str]:
    """What its calendars are, and until when they hold back what is stored."""
    stored, opening = endpoint.next_run_at, opens_at(endpoint)
    sentences = rules_in_words(endpoint.calendar_rules)
    if sentences and stored and opening and opening > stored and is_closed(endpoint.calendar_rules, stored):
        sentences.append(f"It waits until {iso(opening)}, when they let it run.")
    return sentences


def _end(endpoint: Endpoint, history: Iterable[HintRecord]) -> str:
    ended = finish_of(endpoint, history)
    return "" if ended is None else f" ({origin_text(ended.origin)}){_why(ended.reason)}"


def _because(endpoint: Endpoint, history: Iterable[HintRecord]) -> str:
    """What set its next run; a hint that did is named with its origin."""
    because = SOURCE_REASONS[endpoint.next_source]
    kind, hint = {
        Source.AI_INTERVAL: (HintKind.INTERVAL, endpoint.interval_hint),
        Source.AI_ONESHOT: (HintKind.ONE_SHOT, endpoint.one_shot_hint),
    }.get(endpoint.next_source, (None, None))
    if hint is None:
        return because
    written = [one.written_at for one in history if one.kind is kind and not one.not_applied]
    if written and endpoint.next_run_at is not None and max(written) > endpoint.next_run_at:
        return because.replace("hint", "hint that was replaced since")
    return because.replace("hint", f"hint ({origin_text(hint.origin)})")


def _gate(endpoint: Endpoint, gate: str | None, job: Job | None) -> list[str]:
    if gate is None or (given_up(endpoint) and gate.startswith("paused")):
        return []
    if gate == JOB_NOT_ACTIVE and job is not None and job.pause_origin is not None:
        gate = f"{gate} ({origin_text(job.pause_origin)})"
    if not gate.startswith("paused"):
        return [f"No runs start: {gate}."]
    by = origin_text(endpoint.pause_origin)
    return [f"No runs start: {gate} ({by}){_why(endpoint.pause_reason)}."]


def _undeclared(endpoint: Endpoint, declared_at: datetime | None, now: datetime) -> list[str]:
    if endpoint.retired or declared_at is None or now - declared_at < UNDECLARED_AFTER:
        return []
    return [f"No running program declares its function; it was last declared at {iso(declared_at)}."]


def _hints(endpoint: Endpoint, now: datetime) -> list[str]:
    sentences = []
    interval, one_shot = endpoint.interval_hint, endpoint.one_shot_hint
    if interval is not None and interval.fresh(now):
        overrides = endpoint.hint_mode is HintMode.OVERRIDE
        mode = "instead of the baseline" if overrides else "if that is sooner than the baseline"
        pace, end = interval_in_words(interval.interval_ms), iso(interval.expires_at)
        by, why = origin_text(interval.origin), _why(interval.reason)
        sentences.append(f"An interval hint ({by}) sets every {pace} {mode} until {end}{why}.")
    if one_shot is not None and one_shot.fresh(now) and not one_shot.served(endpoint.last_run_at, now):
        by, why = origin_text(one_shot.origin), _why(one_shot.reason)
        sentences.append(f"A one-shot hint ({by}) sets a run at {iso(one_shot.at)}{why}.")
    return sentences or ["No active hints."]


def _why(reason: str | None) -> str:
    return f" ({reason})" if reason else ""


def _not_applied(
    endpoint: Endpoint,
    newest_first: Iterable[HintRecord],
    *,
    now: datetime,
    cron: CronClock,
    paused_job: Sequence[InForce],
) -> list[str]:
    """A sentence for each origin and kind, about its newest call, while it would not be applied."""
    newest: dict[tuple[str, HintKind], HintRecord] = {}
    for record in newest_first:
        newest.setdefault((record.origin, record.kind), record)
    return [
        f"{_call(record)}, requested at {iso(record.written_at)} ({origin_text(record.origin)}),"
        f" was not applied, because {record.not_applied}."
        for record in newest.values()
        if record.not_applied
        and now - record.written_at <= TOLD_FOR
        and (
            why_not_applied(paused_job, record.kind, record.origin)
            or why_kept_off(endpoint, record, now=now, cron=cron)
            or any(one in record.not_applied for one in why_not_switched(endpoint).values())
        )
    ]


def _call(record: HintRecord) -> str:
    match record.kind:
        case HintKind.INTERVAL:
            return f"A run every {interval_in_words(record.interval_ms or 0)}"
        case HintKind.ONE_SHOT:
            return f"A run at {iso(record.at) if record.at else 'once'}"
        case HintKind.PAUSE:
            return f"A pause until {end_in_words(record.expires_at or FOREVER)}"
        case HintKind.RESUME:
            return "A resume"
        case HintKind.CLEAR:
            return "A request to clear its hints"
        case HintKind.FINISH:
            return "Its end"
    assert_never(record.kind)


def _failures(endpoint: Endpoint, now: datetime) -> list[str]:
    if not endpoint.failure_count:
        return []
    count = endpoint.failure_count
    failures = f"{count} consecutive failure{'' if count == 1 else 's'}"
    interval = baseline_interval_ms(endpoint, now)
    if interval is not None and interval != interval_at(endpoint.baseline, now):
        stretched = span_in_words(milliseconds(interval))
        return [f"{failures}: backoff extends its baseline interval to {stretched}."]
    return [f"{failures}."]


def _beside_stored(endpoint: Endpoint, plan: Plan) -> Plan:
    """The plan, with the stored moment among its candidates, and in place of a moment that moves from it.

    1. What never ran is planned from now on, so that its plan moves with the clock.
    2. A hint or a guard counts from the call that wrote it, and in a plan from the last run.
    3. The end of a pause is spread, and so is a resume, which stored the plan of its own moment.
    """
    stored, source = endpoint.next_run_at, endpoint.next_source
    if stored is None or plan.next_run_at is None:
        return plan
    later = source in STORED_LATER and plan.next_run_at <= stored
    same_rule = source in (plan.source, Source.RESUME)
    is_same = same_rule and (later or not endpoint.has_history)
    candidates = plan.candidates
    if is_same:
        plan = plan._replace(next_run_at=stored)
        candidates = tuple(one for one in candidates if one.source is not source)
    winner = Candidate(stored, source)
    return plan._replace(candidates=candidates if winner in candidates else (*candidates, winner))


def _times(count: int) -> str:
    return f"{count} time{'' if count == 1 else 's'}"


def _suspicion(endpoint: Endpoint) -> list[str]:
    if not is_suspect(endpoint) or given_up(endpoint):
        return []
    alone = endpoint.abandoned_alone_count
    deaths = f"{_times(endpoint.abandoned_count)} during a run" + (
        f", {_times(alone)} alone" if alone else ""
    )
    how = TRIAL_WORDS[trial_of(endpoint)]
    return [f"Suspect: its worker process died {deaths}. Until a run completes, it runs {how}."]


def _now(endpoint: Endpoint, plan: Plan, now: datetime) -> list[str]:
    if endpoint.lease is not None or plan.next_run_at in (None, endpoint.next_run_at) or endpoint.retired:
        return []
    when = "now" if plan.next_run_at <= now else iso(plan.next_run_at)
    return [f"Calculated now, the next run would be {when} ({plan.source})."]


def _shadow(interval_ms: int | None) -> list[str]:
    if interval_ms is None:
        return []
    return [f"Learning planner (dry run): it would run every {interval_in_words(interval_ms)}."]
