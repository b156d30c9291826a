"""What must be true of the flash sale under the product's own rules: eighteen checks."""

from itertools import pairwise

from cadenza.domain.scheduling.hint import HintKind
from cadenza.domain.scheduling.plan import Source
from cadenza.sim.checks import (
    CheckResult,
    CheckRule,
    CheckRules,
    all_of,
    all_of_length,
    beginning_within,
    between,
    every_minute_seen,
    minimum_interval_kept,
    one_verdict_per_slot,
    runs_on_time,
)
from cadenza.sim.flash_sale.policies import ACTIONS
from cadenza.sim.flash_sale.scenario import INVESTIGATION, WORLD
from cadenza.sim.recording import Gap, Recording
from cadenza.sim.world import END_S, MINUTE_S, elapsed_s

TRAFFIC, ORDERS, INVENTORY = "traffic_monitor", "order_processor_health", "inventory_sync_check"
INVESTIGATORS = tuple(endpoint.name for endpoint in INVESTIGATION)
ESCALATION = ("slack_operations", "slack_customer_support", "emergency_oncall_page")
OLDEST_SAMPLE_S = 60


def traffic_follows(seconds: int, first: str, last: str) -> CheckRule:
    """Within a minute of a phase the monitor has found its pace, and keeps it."""

    def check(recording: Recording) -> CheckResult:
        since, until = WORLD.span_s(first, last)
        return all_of_length(between(recording.gaps(TRAFFIC), since + MINUTE_S, until), seconds)

    return check


def next_run_after(name: str, seconds: int, phase: str) -> CheckRule:
    """Whatever run falls into a phase, the next follows at this pace."""

    def check(recording: Recording) -> CheckResult:
        return all_of_length(beginning_within(recording.gaps(name), *WORLD.span_s(phase)), seconds)

    return check


def orders_keep_baseline(recording: Recording) -> CheckResult:
    """Few orders in a quiet shop are no reason to look away."""
    until, _ = WORLD.span_s("critical")
    return all_of_length(between(recording.gaps(ORDERS), 0, until), 120)


def health_returns(recording: Recording) -> CheckResult:
    """Once recovery was seen, orders and inventory are back at their baselines."""
    return all_of(
        next_run_after(ORDERS, 120, "recovery")(recording),
        next_run_after(INVENTORY, 180, "recovery")(recording),
    )


def investigators_wake(recording: Recording) -> CheckResult:
    """Both look into it within two minutes of the strain."""
    since, _ = WORLD.span_s("strain")
    first = {name: min(recording.times(name), default=END_S) for name in INVESTIGATORS}
    detail = ", ".join(f"{name} first at {second} s" for name, second in first.items())
    return CheckResult(all(since <= second <= since + 2 * MINUTE_S for second in first.values()), detail)


def investigators_silent(recording: Recording) -> CheckResult:
    """Neither runs outside strain and critical."""
    since, until = WORLD.span_s("strain", "critical")
    times = [(second, name) for name in INVESTIGATORS for second in recording.times(name)]
    stray = sorted(time for time in times if not since <= time[0] < until)
    if stray:
        second, name = stray[0]
        detail = f"{len(stray)} runs outside {since} s to {until} s, first {name} at {second} s"
        return CheckResult(passed=False, detail=detail)
    return CheckResult(bool(times), f"{len(times)} runs, all between {since} s and {until} s")


def actions_act(recording: Recording) -> CheckResult:
    """Each action is taken, and while there is something to be done about."""
    since, until = WORLD.span_s("strain", "critical")
    times = {name: recording.times(name) for name in ACTIONS}
    detail = ", ".join(f"{name} {len(seconds)}" for name, seconds in times.items())
    acted = all(times.values())
    needed = all(since <= second < until for seconds in times.values() for second in seconds)
    return CheckResult(acted and needed, f"{detail}; {'all' if needed else 'not all'} in strain or critical")


def cooldowns_kept(recording: Recording) -> CheckResult:
    """No action is woken within its cooldown, and it runs once each time."""
    woken = {name: _woken(recording, name) for name in ACTIONS}
    for name, rule in ACTIONS.items():
        gaps = [Gap(before, after) for before, after in pairwise(woken[name])]
        early = [gap for gap in gaps if gap.length < rule.cooldown_minutes * MINUTE_S]
        if early:
            detail = f"{name} was woken at {early[0].start} s and {early[0].end} s, within its cooldown"
            return CheckResult(passed=False, detail=detail)
        if recording.count(name) > len(woken[name]):
            detail = f"{name} ran {recording.count(name)} times, but was woken {len(woken[name])} times"
            return CheckResult(passed=False, detail=detail)
    total = sum(map(len, woken.values()))
    return CheckResult(
        total > 0, f"{total} times woken, {recording.count(*ACTIONS)} runs, none in a cooldown"
    )


def alerts_escalate(recording: Recording) -> CheckResult:
    """Operations hear of it before customer support does, and those before the person on call."""
    order = recording.order()
    missing = [name for name in ESCALATION if name not in order]
    if missing:
        return CheckResult(passed=False, detail=f"{', '.join(missing)} never ran")
    first = [(order.index(name), name) for name in ESCALATION]
    detail = ", ".join(f"{name} was run {position + 1}" for position, name in first)
    return CheckResult(all(before < after for before, after in pairwise(first)), detail)


def actions_rest(recording: Recording) -> CheckResult:
    """After each of its runs an action is paused again."""
    runs = [run for run in recording.runs if run.endpoint in ACTIONS]
    resting = sum(run.source is Source.PAUSED for run in runs)
    detail = f"{resting} of {len(runs)} runs of actions ended in a pause"
    return CheckResult(bool(runs) and resting == len(runs), detail)


def _woken(recording: Recording, name: str) -> list[int]:
    """When its policy opened its gate, oldest first."""
    hints = recording.history.hints.get(name, ())
    return sorted(elapsed_s(hint.written_at) for hint in hints if hint.kind is HintKind.RESUME)


CHECKS: CheckRules = {
    "traffic-tightens-in-surge": traffic_follows(30, "surge", "strain"),
    "traffic-tightens-in-critical": traffic_follows(20, "critical", "critical"),
    "traffic-returns-in-recovery": traffic_follows(60, "recovery", "recovery"),
    "orders-keep-baseline-before-critical": orders_keep_baseline,
    "orders-relax-in-critical": next_run_after(ORDERS, 300, "critical"),
    "inventory-tightens-in-strain": next_run_after(INVENTORY, 60, "strain"),
    "inventory-tightens-in-critical": next_run_after(INVENTORY, 30, "critical"),
    "health-returns-in-recovery": health_returns,
    "investigators-wake-in-strain": investigators_wake,
    "investigators-silent-otherwise": investigators_silent,
    "actions-act-when-needed": actions_act,
    "actions-keep-their-cooldown": cooldowns_kept,
    "actions-rest-after-each-run": actions_rest,
    "alerts-escalate-in-order": alerts_escalate,
    "minimum-interval-kept": minimum_interval_kept,
    "one-verdict-per-slot": one_verdict_per_slot,
    "runs-on-time": runs_on_time,
    "every-minute-seen": every_minute_seen(OLDEST_SAMPLE_S),
}
