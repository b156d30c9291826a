"""The tables on the pages about the scenarios, as the simulator has them."""

from collections.abc import Mapping
from typing import Any

from cadenza.sim.checks import Check, run_checks
from cadenza.sim.flash_sale.policies import (
    ACTIONS,
    CORRECTED,
    INVENTORY,
    ORDERS,
    SLOW_PAGES,
    SLOW_QUERIES,
    TRAFFIC,
    ActionRule,
    IntervalTable,
)
from cadenza.sim.recording import Recording
from cadenza.sim.scenario import Scenario
from cadenza.sim.system_resources import scenario as host
from cadenza.sim.system_resources.checks import SEED_ASSERTIONS
from cadenza.sim.world import MINUTE_S, MINUTES


def endpoint_rows(scenario: Scenario[Any], rules: Mapping[str, str]) -> list[str]:
    """One line for each endpoint: its number, tier, baseline, guard, how it starts, and its rule."""
    return [
        f"| {number} | `{one.name}` | {one.tier} | {one.baseline_s} s | {one.min_s} s |"
        f" {'none' if one.max_s is None else f'{one.max_s} s'} |"
        f" {'paused' if one.dormant else 'due at once'} | {rules[one.name]} |"
        for number, one in enumerate(scenario.endpoints, 1)
    ]


def minute_rows(recording: Recording) -> list[str]:
    """One line for each minute, and the instant after the last: at which seconds each endpoint ran."""
    times = [recording.times(one.name) for one in recording.scenario.endpoints]
    phases = {snapshot.minute: snapshot.phase for snapshot in recording.snapshots}
    return [
        f"| {minute} | {phases.get(minute, 'the end')} |"
        f" {' | '.join(_within(seconds, minute) for seconds in times)} |"
        for minute in range(MINUTES + 1)
    ]


def _within(seconds: list[int], minute: int) -> str:
    return " ".join(f":{second % MINUTE_S:02}" for second in seconds if second // MINUTE_S == minute)


def sale_rules() -> dict[str, str]:
    """How each endpoint of the flash sale is steered, with the thresholds of the policies."""
    return {
        "traffic_monitor": _thresholds("visitors", TRAFFIC),
        "order_processor_health": f"orders < {ORDERS.few} and visitors ≥ {CORRECTED.widen_from_traffic}:"
        f" {ORDERS.wide_s} s; else back to {ORDERS.usual_s} s",
        "inventory_sync_check": _thresholds("lag", INVENTORY),
        "slow_page_analyzer": f"mean page load of two samples > {SLOW_PAGES.begin} ms: wake;"
        f" < {SLOW_PAGES.end} ms: pause",
        "database_query_trace": f"query ≥ {SLOW_QUERIES.begin} ms: wake; < {SLOW_QUERIES.end} ms: pause",
        **{name: _action(rule) for name, rule in ACTIONS.items()},
    }


def _thresholds(what: str, table: IntervalTable) -> str:
    steps = [f"{what} ≥ {least}: {seconds} s" for least, seconds in table.thresholds]
    return "; ".join([*steps, f"< {table.calm_below}: {table.calm_s} s"])


def _action(rule: ActionRule) -> str:
    conditions = {
        f"page load > {rule.page_load_over} ms": rule.page_load_over,
        f"page load ≥ {rule.page_load_from} ms": rule.page_load_from,
        f"orders < {rule.orders_below}": rule.orders_below,
        f"visitors ≥ {rule.traffic_from}": rule.traffic_from,
    }
    met = " and ".join(text for text, value in conditions.items() if abs(value) != float("inf"))
    return f"{met}: act, once in {rule.cooldown_minutes} min"


def host_rules() -> dict[str, str]:
    """How the two endpoints of the busy host are steered, with the thresholds of the policies."""
    return {
        host.CPU: f"cpu ≥ {host.HIGH} %: {host.TIGHT_S} s, and after the first such sample one more look;"
        f" its own run clears the hint when it measures < {host.LOW} %",
        host.DISCORD: f"cpu ≥ {host.HIGH} %: wake, and a one-shot in {host.ALERT_IN_MS // 1_000} s,"
        f" once until < {host.LOW} %; its own run pauses it",
    }


def assertion_rows(published: Recording, corrected: Recording) -> list[str]:
    """One line for each of the scenario's own assertions: how it is met in both modes."""
    both = [run_checks(recording, SEED_ASSERTIONS) for recording in (published, corrected)]
    return [
        f"| `{before.name}` | {_verdict(before)} | {_verdict(after)} |"
        for before, after in zip(*both, strict=True)
    ]


def _verdict(check: Check) -> str:
    return f"{'passes' if check.passed else '**fails**'}: {check.detail}"
